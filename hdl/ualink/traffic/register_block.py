"""The registers of a traffic engine on firmware's bus."""

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.table import WORD_BYTES, BusSignature
from ualink.traffic.config import TrafficConfig
from ualink.traffic.histogram import BIN_BITS, COUNT_BITS
from ualink.traffic.interface import SettingsSignature
from ualink.traffic.register_map import AGENT_EVENTS, LINE_COUNTERS, traffic_registers
from ualink.traffic.statistics import COUNTERS, ERRORS, EXTREMES, SUMS, StatisticsSignature

__all__ = ["TrafficRegisterBlock"]


class TrafficRegisterBlock(wiring.Component):
    """What firmware sets and sees of a traffic engine, at the addresses of ``traffic_registers(config)``.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    settings : ``SettingsSignature``.
    start, done, clear, cleared, busy, outstanding, lost, statistics, index, count : as of ``Requester``.
    originator_connected, completer_connected : 1 bit each, of the agents.
    ``AGENT_EVENTS`` : 1 bit each, an agent saw an error in the cycle before.
    """

    def __init__(self, config: TrafficConfig):
        self._block = RegisterBlock(traffic_registers(config))
        levels = range(config.tags + 1)
        super().__init__(
            {
                "bus": In(BusSignature(self._block.registers.address_bits)),
                "settings": Out(SettingsSignature()),
                **{name: Out(1) for name in ("start", "clear")},
                **{name: In(1) for name in ("done", "cleared", "busy")},
                **{name: In(levels) for name in ("outstanding", "lost")},
                "statistics": In(StatisticsSignature()),
                "index": Out(BIN_BITS + 1),
                "count": In(COUNT_BITS),
                "originator_connected": In(1),
                "completer_connected": In(1),
                **{name: In(1) for name in AGENT_EVENTS},
            }
        )

    @property
    def registers(self):
        """The register map."""
        return self._block.registers

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self._block
        connect(m, flipped(self.bus), block.bus)
        elsewhere = {
            "base": Cat(block.base_low.address, block.base_high.address),
            "seed": Cat(block.seed_low.seed, block.seed_high.seed),
        }
        fields = {f.name: r.name for r in block.registers for f in r.fields if f.access == "rw"}
        for name in self.settings.signature.members:
            value = elsewhere.get(name)
            if value is None:
                value = getattr(getattr(block, fields[name]), name)
            m.d.comb += getattr(self.settings, name).eq(value)
        indexed = self.bus.write & (self.bus.address == self.registers["histogram_index"].offset // WORD_BYTES)
        m.d.comb += [
            block.here.eq(1),
            self.start.eq(block.run.start),
            block.run.start_done.eq(self.done),
            self.clear.eq(block.clear.start),
            block.clear.start_done.eq(self.cleared),
            # The count is there when the access after the write of its index may read it.
            self.index.eq(Mux(indexed, self.bus.write_data, block.histogram_index.index)),
            block.histogram_count.count.eq(self.count),
            block.events.config_error.eq(block.refused),
            *(getattr(block.events, name).eq(getattr(self, name)) for name in AGENT_EVENTS),
            *(
                getattr(block.status, name).eq(getattr(self, name))
                for name in ("busy", "originator_connected", "completer_connected", "outstanding", "lost")
            ),
        ]
        statistics = self.statistics
        first = statistics.first_error
        m.d.comb += [
            *(
                getattr(block.first_error, name).eq(Value.cast(getattr(first, name)))
                for name in ("kind", "offset", "word", "status", "tag")
            ),
            Cat(*(getattr(block, f"first_error_line_{half}").line for half in ("low", "high"))).eq(first.line),
            *(
                Cat(*(getattr(block, f"first_error_{name}_{half}").data for half in ("low", "high"))).eq(first[name])
                for name in ("expected", "found")
            ),
            *(getattr(block, name).cycles.eq(getattr(statistics, name)) for name in EXTREMES),
            *(getattr(block, name).count.eq(statistics.counts[name]) for name in ERRORS),
        ]
        for name in (*COUNTERS, *SUMS):
            count = statistics.counts[name]
            shown = LINE_COUNTERS.get(name, name)
            if shown != name:
                count = Cat(Const(0, 6), count)
            halves = Cat(*(getattr(block, f"{shown}_{half}").count for half in ("low", "high")))
            m.d.comb += halves.eq(count)
        return m
