"""The hardware of a simulated pod: accelerators' stations and a switch, all RTL; wires between them are the bench's."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ualink.config import SwitchConfig
from ualink.lib.forward import forward
from ualink.station import Station
from ualink.switch.switch import Switch

__all__ = ["PodTop"]


class PodTop(wiring.Component):
    """``accelerators`` stations (``acc[i]``) and one switch (``sw``), side by side in one clock domain.

    ``make_station`` makes all stations, those of the switch included.
    """

    def __init__(self, accelerators: int, config: SwitchConfig, make_station=Station):
        self._stations = [make_station(config.station) for _ in range(accelerators)]
        self._switch = Switch(config, make_station)
        super().__init__(
            {
                "acc": Out(self._stations[0].signature).array(accelerators),
                "sw": Out(self._switch.signature),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for number, station in enumerate(self._stations):
            m.submodules[f"acc{number}"] = station
            forward(m, station, self.acc[number])
        m.submodules.sw = self._switch
        forward(m, self._switch, self.sw)
        return m
