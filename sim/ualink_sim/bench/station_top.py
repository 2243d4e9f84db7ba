"""Two stations of chosen ports that talk to each other, with a device before each."""

from collections.abc import Callable

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import StationConfig
from ualink.station import Station

from .link_wire import Wire
from .station_device import PORTS, StationDevice
from .tl_pair_requests import PatternSignature
from .tl_pair_source import MOST_OUTSTANDING

__all__ = ["STATION_WIRE", "StationTop", "station_config"]

STATION_WIRE = 4
"""Cycles of each direction: what is sent in the cycles of a port comes in those of the same port, of 1, 2 or 4."""

FOUR_X1 = 2
"""As of ``BifurcationMode``."""


def station_config() -> StationConfig:
    """A station as it is by default, whose number of ports is chosen."""
    return StationConfig(ports=PORTS, choosable_ports=True)


class StationTop(wiring.Component):
    """An accelerator and a switch, as far as their stations, whose links are ``Wire`` of
    ``STATION_WIRE`` cycles.

    Parameters
    ----------
    make_station : makes each station, or what stands for it.

    Members
    -------
    wanted : ``BifurcationMode`` of both stations.
    enable : their links may come up.
    pattern, limits : as of ``StationDevice``; limits of the ports of device 0, then of device 1.
    in_force : both stations are of ``wanted``.
    credits_ready : 4 bit each, of the ports of both stations.
    beats, mismatches, errors : of both devices.
    latency : cycles from a Request on UPLI before station 0 to the one behind station 1, of the last one; 0 while it is
        on its way, and before there was one.
    """

    def __init__(self, make_station: Callable[[StationConfig], wiring.Component] = Station):
        self._make = make_station
        super().__init__(
            {
                "wanted": In(2, init=FOUR_X1),
                "enable": In(1),
                "pattern": In(PatternSignature()),
                "limits": In(range(MOST_OUTSTANDING + 1)).array(2 * PORTS),
                "in_force": Out(1),
                "credits_ready": Out(PORTS).array(2),
                "beats": Out(32).array(2),
                "mismatches": Out(16).array(2),
                "errors": Out(1).array(2),
                "latency": Out(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        stations = [self._make(station_config()) for _ in range(2)]
        wires = [Wire(number + 1) for number in range(2)]
        devices = [self._end(m, number, station, wires) for number, station in enumerate(stations)]
        in_force = [Value.cast(station.bifurcation.in_force) == self.wanted for station in stations]
        m.d.comb += self.in_force.eq(Cat(in_force).all())
        self._time(m, devices[0].originator.req.vld, devices[1].completer.req.vld)
        return m

    def _end(self, m, number, station, wires):
        """Station ``number`` with the device before it and what it sends."""
        m.submodules[f"station_{number}"] = station
        m.submodules[f"wire_{number}"] = wires[number]
        m.submodules[f"device_{number}"] = device = StationDevice(number)
        connect(m, device.originator, station.upli_completer)
        connect(m, station.upli_originator, device.completer)
        connect(m, flipped(self.pattern), device.pattern)
        connect(m, station.rs.tx, wires[number].tx)
        comes = wires[1 - number]
        m.d.comb += [
            wires[number].latency.eq(STATION_WIRE),
            station.rs.rx.valid.eq(comes.rx.valid),
            station.rs.rx.p.eq(comes.rx.p),
            station.rs.remote_fault.eq(comes.remote_fault),
            station.bifurcation.wanted.eq(self.wanted),
            station.upli_moves.eq(device.moves),
            *(getattr(device, name).eq(getattr(station, name)) for name in ("slot", "used", "restart")),
            *(limit.eq(of_all) for limit, of_all in zip(device.limits, self.limits[number * PORTS :])),
            *(getattr(self, name)[number].eq(getattr(device, name)) for name in ("beats", "mismatches", "errors")),
        ]
        for port in range(PORTS):
            m.d.comb += [
                station.dl_config[port].enable.eq(self.enable),
                station.dl_uart_rx[port].ready.eq(1),
                station.tl_control[port].is_switch.eq(number),
                self.credits_ready[number][port].eq(station.tl_status[port].credits_ready),
            ]
        return device

    def _time(self, m, enters, leaves):
        """From a Request that ``enters`` to the one that ``leaves``, of one at a time."""
        waited = Signal.like(self.latency)
        m.d.sync += waited.eq(waited + 1)
        with m.If(enters):
            m.d.sync += [waited.eq(1), self.latency.eq(0)]
        with m.If(leaves):
            m.d.sync += self.latency.eq(waited)
