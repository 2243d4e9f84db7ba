"""What one egress port gives: is it right, how much is it, how long did it take."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import beat_stream

from .switch_source import STAMP_LAYOUT

__all__ = ["LONGEST", "ItemSink"]

LONGEST = 1023
"""Cycles of the last class of latencies, which takes all that are longer."""


class ItemSink(wiring.Component):
    """Takes a beat in every cycle; checks port, order and beats of each item, none lost or doubled.

    Members
    -------
    input : from the core.
    now : 32 bit, the cycle.
    measuring : the beats and items of this cycle count.
    beats, items, latency_sum : counted; latency from the cycle in which an item could first be offered to that of its
        first beat here.
    mismatches : counted always.
    latency_class, in_class : items of that latency, in the next cycle.
    """

    def __init__(self, number: int, ports: int):
        self._number = number
        self._ports = ports
        super().__init__(
            {
                "input": In(beat_stream("rd_rsp")),
                "now": In(32),
                "measuring": In(1),
                "beats": Out(32),
                "items": Out(32),
                "latency_sum": Out(48),
                "mismatches": Out(32),
                "latency_class": In(range(LONGEST + 1)),
                "in_class": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat = self.input.p
        stamp = data.View(STAMP_LAYOUT, beat.data[: STAMP_LAYOUT.size])
        expected = Signal(2)
        source = Signal(range(self._ports))
        numbers = Array(Signal(16, name=f"number_{n}") for n in range(self._ports))
        first = expected == 0
        end = expected == beat.num_beats
        wrong = (
            (beat.dst_phys_acc_id != self._number)
            | (stamp.number != numbers[source])
            | (stamp.beat != expected)
            | (beat.offset != expected)
            | (beat.last != end)
        )
        m.d.comb += self.input.ready.eq(1)
        # Beats of another item within this one differ in source, number or beat.
        kept_source = Signal.like(source)
        m.d.comb += source.eq(Mux(first, beat.src_phys_acc_id, kept_source))
        latency = Signal(32)
        m.d.comb += latency.eq(self.now - stamp.time)
        with m.If(self.input.valid):
            m.d.sync += [
                expected.eq(Mux(end, 0, expected + 1)),
                kept_source.eq(source),
                self.mismatches.eq(self.mismatches + (wrong | (source != beat.src_phys_acc_id))),
            ]
            with m.If(end):
                m.d.sync += numbers[source].eq(stamp.number + 1)
            with m.If(self.measuring):
                m.d.sync += self.beats.eq(self.beats + 1)

        m.submodules.classes = classes = memory.Memory(shape=32, depth=LONGEST + 1, init=[])
        write, mine, read = classes.write_port(), classes.read_port(domain="comb"), classes.read_port()
        counts = self.input.valid & first & self.measuring
        m.d.comb += [
            mine.addr.eq(Mux(latency > LONGEST, LONGEST, latency)),
            write.addr.eq(mine.addr),
            write.data.eq(mine.data + 1),
            write.en.eq(counts),
            read.addr.eq(self.latency_class),
            self.in_class.eq(read.data),
        ]
        with m.If(counts):
            m.d.sync += [self.items.eq(self.items + 1), self.latency_sum.eq(self.latency_sum + latency)]
        return m
