"""The register side of a board: serial line, description, and a bus to each window."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.described import DescribedWindows
from ualink.csr.design import RegisterDesign
from ualink.csr.serial import SerialRegisters

__all__ = ["ConsoleRegisters"]


class ConsoleRegisters(wiring.Component):
    """``SerialRegisters`` before the ``DescribedWindows`` of ``design``.

    Parameters
    ----------
    design : the windows; its ``clock_hz`` is that of the ``sync`` domain.
    baud : of the line.
    time_out : cycles that an access may take.

    Members
    -------
    rx, tx : the serial line.
    windows : as of ``DescribedWindows``.
    """

    def __init__(self, design: RegisterDesign, baud: int, *, time_out: int = 4096):
        self.design = design
        self._described = DescribedWindows(design)
        self._serial = SerialRegisters(len(self._described.bus.address), design.clock_hz, baud, time_out=time_out)
        windows = self._described.signature.members["windows"]
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "windows": windows})

    def elaborate(self, platform):
        m = Module()
        m.submodules.serial = serial = self._serial
        m.submodules.described = described = self._described
        m.d.comb += [serial.rx.eq(self.rx), self.tx.eq(serial.tx)]
        connect(m, serial.bus, described.bus)
        dropped = Signal(16)
        with m.If(serial.dropped):
            m.d.sync += dropped.eq(dropped + 1)
        m.d.comb += described.dropped.eq(dropped)
        for name, _ in self.design.windows:
            connect(m, getattr(described.windows, name), flipped(getattr(self.windows, name)))
        return m
