"""Windows of registers by name on one bus."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from ualink.csr.table import BusSignature, RegisterMap
from ualink.csr.window_end import join_windows
from ualink.csr.windows import RegisterWindows

__all__ = ["NamedWindows"]


class NamedWindows(wiring.Component):
    """``RegisterWindows`` whose windows have names.

    An access behind the end of a window's own map is answered with an error. Adds no cycle to an access.

    Parameters
    ----------
    address_bits : those of each window.
    maps : name and map of each window, in their order.

    Members
    -------
    bus : to the master.
    windows : ``windows.<name>`` is the bus to the registers of each window, ``BusSignature`` of the width of its map.
    """

    def __init__(self, address_bits: int, maps: tuple[tuple[str, RegisterMap], ...]):
        self._names = [name for name, _ in maps]
        self._windows = RegisterWindows(address_bits, len(maps))
        buses = {name: Out(BusSignature(table.address_bits)) for name, table in maps}
        members = {"bus": self._windows.signature.members["bus"]}
        super().__init__(members | {"windows": Out(wiring.Signature(buses))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.windows = windows = self._windows
        connect(m, flipped(self.bus), windows.bus)
        join_windows(m, windows, (flipped(getattr(self.windows, name)) for name in self._names))
        return m
