"""The register side of a board: serial line, description, and a bus to each window."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.design import DESCRIPTION, RegisterDesign
from ualink.csr.serial import SerialRegisters
from ualink.csr.table import BusSignature
from ualink.csr.windows import RegisterWindows

__all__ = ["ConsoleRegisters"]


class ConsoleRegisters(wiring.Component):
    """``SerialRegisters`` before the windows of ``design``, of which the first is here.

    An access behind the end of a window's own map is answered with an error.

    Parameters
    ----------
    design : the windows; its ``clock_hz`` is that of the ``sync`` domain.
    baud : of the line.
    time_out : cycles that an access may take.

    Members
    -------
    rx, tx : the serial line.
    windows : ``windows.<name>`` is the bus to the registers of each window but the first, ``BusSignature`` of the width
        of its own map.
    """

    def __init__(self, design: RegisterDesign, baud: int, *, time_out: int = 4096):
        self.design = design
        self._windows = RegisterWindows(design.address_bits, len(design.windows) + 1)
        self._serial = SerialRegisters(len(self._windows.bus.address), design.clock_hz, baud, time_out=time_out)
        buses = {name: Out(BusSignature(table.address_bits)) for name, table in design.windows}
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "windows": Out(wiring.Signature(buses))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.serial = serial = self._serial
        m.submodules.windows = windows = self._windows
        m.submodules[DESCRIPTION] = description = RegisterBlock(self.design.description)
        m.d.comb += [serial.rx.eq(self.rx), self.tx.eq(serial.tx)]
        connect(m, serial.bus, windows.bus)
        dropped = Signal(16)
        with m.If(serial.dropped):
            m.d.sync += dropped.eq(dropped + 1)
        m.d.comb += [description.serial_line.dropped.eq(dropped), description.here.eq(1)]
        inner = [description.bus, *(flipped(getattr(self.windows, name)) for name, _ in self.design.windows)]
        for number, bus in enumerate(inner):
            m.submodules[f"end_{number}"] = end = _WindowEnd(self.design.address_bits, len(bus.address))
            connect(m, windows.windows[number], end.bus)
            connect(m, end.block, bus)
        return m


class _WindowEnd(wiring.Component):
    """Answers accesses behind the end of a block with an error, and hands the others to ``block``."""

    def __init__(self, window_bits: int, block_bits: int):
        self._block_bits = block_bits
        super().__init__({"bus": In(BusSignature(window_bits)), "block": Out(BusSignature(block_bits))})

    def elaborate(self, platform):
        m = Module()
        bus, block = self.bus, self.block
        behind = bus.address[self._block_bits :].any()
        nowhere = Signal()
        m.d.sync += nowhere.eq((bus.read | bus.write) & behind)
        m.d.comb += [
            block.address.eq(bus.address),
            block.write_data.eq(bus.write_data),
            block.read.eq(bus.read & ~behind),
            block.write.eq(bus.write & ~behind),
            bus.done.eq(block.done | nowhere),
            bus.error.eq(block.error | nowhere),
            bus.read_data.eq(block.read_data),
        ]
        return m
