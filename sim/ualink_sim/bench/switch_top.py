"""The switch core alone, with traffic, checks and counters in hardware."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from ualink.config import SwitchConfig
from ualink.switch.core import SwitchCore
from ualink.switch.route_table import route_entry_layout
from ualink.switch.stand_in import StandIn, itself

from .switch_sink import LONGEST, ItemSink
from .switch_source import Destinations, ItemSource

__all__ = ["SwitchTop", "core_config"]


def core_config(ports: int) -> SwitchConfig:
    """A switch of ``ports`` stations of one port, with route tables no longer than it needs."""
    default = SwitchConfig()
    return default.replace(stations=ports, station=default.station.replace(ports=1))


class SwitchTop(wiring.Component):
    """A core of ``ports`` ports; ID n is at port n. ``stand_in`` as of ``SwitchCore``.

    Members
    -------
    beats_less_one, destinations, rate, enable : of all ``ItemSource``.
    measuring, latency_class : of all ``ItemSink``.
    ready : the route tables are written.
    beats, items, latency_sum, in_class, mismatches : sums of all sinks.
    sent : 32 bit each, items that left a source while ``measuring``.
    refused : items that found no place in their source while ``measuring``.
    idle : nothing waits in a source.
    """

    def __init__(self, ports: int, stand_in: StandIn = itself):
        self._ports, self._stand_in = ports, stand_in
        super().__init__(
            {
                "beats_less_one": In(2),
                "destinations": In(Destinations),
                "rate": In(32),
                "enable": In(1),
                "measuring": In(1),
                "latency_class": In(range(LONGEST + 1)),
                "ready": Out(1),
                "beats": Out(32),
                "items": Out(32),
                "latency_sum": Out(64),
                "in_class": Out(32),
                "mismatches": Out(32),
                "sent": Out(32).array(ports),
                "refused": Out(32),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = core = SwitchCore(core_config(self._ports), stand_in=self._stand_in)
        self._write_routes(m, core)
        now = Signal(32)
        m.d.sync += now.eq(now + 1)
        sources = [ItemSource(n, self._ports) for n in range(self._ports)]
        sinks = [ItemSink(n, self._ports) for n in range(self._ports)]
        for n, (source, sink) in enumerate(zip(sources, sinks)):
            m.submodules[f"source_{n}"] = source
            m.submodules[f"sink_{n}"] = sink
            connect(m, source.output, core.in_rd_rsp[n])
            connect(m, core.out_rd_rsp[n], sink.input)
            leaves = source.output.valid & source.output.ready & source.output.p.last
            m.d.comb += [
                source.beats_less_one.eq(self.beats_less_one),
                source.destinations.eq(self.destinations),
                source.rate.eq(self.rate),
                source.enable.eq(self.enable),
                source.now.eq(now),
                sink.now.eq(now),
                sink.measuring.eq(self.measuring),
                sink.latency_class.eq(self.latency_class),
            ]
            m.d.sync += self.sent[n].eq(self.sent[n] + (leaves & self.measuring))
        for name in ("beats", "items", "latency_sum", "in_class", "mismatches"):
            m.d.comb += getattr(self, name).eq(sum(getattr(sink, name) for sink in sinks))
        m.d.sync += self.refused.eq(self.refused + sum(source.refused & self.measuring for source in sources))
        m.d.comb += self.idle.eq(~sum(~source.idle for source in sources).any())
        return m

    def _write_routes(self, m, core):
        """One entry of one table in each cycle, once the tables can be written."""
        station = Signal(range(self._ports))
        index = Signal(range(self._ports))
        entry = Signal(route_entry_layout(self._ports))
        m.d.comb += [
            entry.egress_station.eq(index),
            core.route_station.eq(station),
            core.route.index.eq(index),
            core.route.write_data.eq(entry),
            core.route.write.eq(core.route.ready & ~self.ready),
        ]
        with m.If(core.route.write):
            m.d.sync += index.eq(index + 1)
            with m.If(index == self._ports - 1):
                m.d.sync += [index.eq(0), station.eq(station + 1)]
                with m.If(station == self._ports - 1):
                    m.d.sync += self.ready.eq(1)
