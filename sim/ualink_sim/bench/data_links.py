"""The data link of a station, as a component of its own."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from ualink.config import StationConfig
from ualink.dl.layer import DataLink
from ualink.lib.interleave import Interleaver

__all__ = ["DataLinks"]


class DataLinks(wiring.Component):
    """One data link that ``ports`` ports use in turn; its members are those of the port of the cycle."""

    def __init__(self, ports: int):
        self._ports = ports
        self._link = DataLink(StationConfig(ports=ports).port_dl)
        super().__init__(self._link.signature)

    def elaborate(self, platform):
        m = Module()
        slot = Signal(2)
        if self._ports > 1:
            m.d.sync += slot.eq(Mux(slot == self._ports - 1, 0, slot + 1))
        m.submodules.link = Interleaver(self._ports, slot)(self._link)
        connect(m, flipped(self), self._link)
        return m
