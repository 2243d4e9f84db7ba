"""The windows of a design on one bus, the description before them."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.design import DESCRIPTION, RegisterDesign
from ualink.csr.table import BusSignature
from ualink.csr.windows import RegisterWindows

__all__ = ["DescribedWindows"]


class DescribedWindows(wiring.Component):
    """``RegisterWindows`` of ``design``, of which the first is here.

    An access behind the end of a window's own map is answered with an error.

    Parameters
    ----------
    design : the windows.

    Members
    -------
    bus : to the master, ``BusSignature``.
    dropped : 16 bit, what ``serial_line`` of the description shows.
    windows : ``windows.<name>`` is the bus to the registers of each window but the first, ``BusSignature`` of the width
        of its own map.
    """

    def __init__(self, design: RegisterDesign):
        self.design = design
        self._windows = RegisterWindows(design.address_bits, len(design.windows) + 1)
        buses = {name: Out(BusSignature(table.address_bits)) for name, table in design.windows}
        members = {"bus": self._windows.signature.members["bus"], "dropped": In(16)}
        super().__init__(members | {"windows": Out(wiring.Signature(buses))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.windows = windows = self._windows
        m.submodules[DESCRIPTION] = description = RegisterBlock(self.design.description)
        connect(m, flipped(self.bus), windows.bus)
        m.d.comb += [description.serial_line.dropped.eq(self.dropped), description.here.eq(1)]
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
