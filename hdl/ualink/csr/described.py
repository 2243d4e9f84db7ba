"""The windows of a design on one bus, the description before them."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.design import DESCRIPTION, RegisterDesign
from ualink.csr.table import BusSignature
from ualink.csr.window_end import join_windows
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
        join_windows(m, windows, inner)
        return m
