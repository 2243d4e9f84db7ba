"""What the benchmarks of a switch core are made of: sources, sinks that see what is wrong, references."""

from itertools import pairwise

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from ualink_sim.bench.switch import hot_spot_limit
from ualink_sim.bench.switch_core import percentile
from ualink_sim.bench.switch_reference import fifo_throughput, matching_latency
from ualink_sim.bench.switch_sink import ItemSink
from ualink_sim.bench.switch_source import HOT_SHARE, Destinations, ItemSource
from ualink_sim.bench.switch_top import SwitchTop

PORTS = 4
ALWAYS = 2**32 - 1


class Wire(wiring.Component):
    """A source to port 0 and a sink there, with a register between them that can change, lose or repeat a beat."""

    flip: In(1)
    lose: In(1)
    repeat: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.source = self.source = source = ItemSource(1, PORTS)
        m.submodules.sink = self.sink = sink = ItemSink(0, PORTS)
        now = Signal(32)
        kept = Signal.like(source.output.p)
        valid = Signal()
        m.d.sync += now.eq(now + 1)
        m.d.comb += [
            source.now.eq(now),
            sink.now.eq(now),
            sink.input.valid.eq(valid),
            sink.input.p.eq(kept),
            source.output.ready.eq(~self.repeat),
        ]
        with m.If(~self.repeat):
            m.d.sync += [valid.eq(source.output.valid & ~self.lose), kept.eq(source.output.p)]
        with m.If(self.flip):
            m.d.sync += kept.tag.eq(1), kept.offset.eq(~source.output.p.offset)
        return m


def run(top, bench):
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("fault", [None, "flip", "lose", "repeat"])
@pytest.mark.parametrize("beats", [1, 4])
def test_a_sink_sees_what_is_wrong(fault, beats):
    wire = Wire()

    async def bench(ctx):
        ctx.set(wire.source.beats_less_one, beats - 1)
        ctx.set(wire.source.destinations, Destinations.INCAST)
        ctx.set(wire.source.rate, ALWAYS)
        ctx.set(wire.source.enable, 1)
        ctx.set(wire.sink.measuring, 1)
        await ctx.tick().repeat(30)
        assert ctx.get(wire.sink.mismatches) == 0
        if fault:
            ctx.set(getattr(wire, fault), 1)
        await ctx.tick()
        if fault:
            ctx.set(getattr(wire, fault), 0)
        await ctx.tick().repeat(30)
        assert (ctx.get(wire.sink.mismatches) > 0) == (fault is not None)
        assert ctx.get(wire.sink.beats) >= 58
        # In at once where nothing waits before it, out of the register one cycle later.
        assert ctx.get(wire.sink.latency_sum) >= ctx.get(wire.sink.items)

    wiring_of = Module()
    wiring_of.submodules.wire = wire
    run(wiring_of, bench)


@pytest.mark.parametrize(
    ("destinations", "expected"),
    [
        (Destinations.UNIFORM, [1 / 4] * 4),
        (Destinations.PERMUTATION, [0, 0, 1, 0]),
        (Destinations.HOT_SPOT, [1 / HOT_SHARE + 7 / 32, 7 / 32, 7 / 32, 7 / 32]),
        (Destinations.INCAST, [1, 0, 0, 0]),
        (Destinations.BURSTY, [1 / 4] * 4),
        (Destinations.ALL_TO_ALL, [1 / 4] * 4),
    ],
)
def test_a_source_sends_where_it_says(destinations, expected):
    source = ItemSource(1, PORTS)
    found = []

    async def bench(ctx):
        ctx.set(source.destinations, destinations)
        ctx.set(source.rate, 2**31)
        ctx.set(source.output.ready, 1)
        ctx.set(source.enable, 1)
        for _ in range(6000):
            if ctx.get(source.output.valid):
                found.append(ctx.get(source.output.p.dst_phys_acc_id))
            await ctx.tick()

    run(source, bench)
    assert len(found) == pytest.approx(3000, rel=0.05)
    shares = [found.count(n) / len(found) for n in range(PORTS)]
    assert shares == pytest.approx(expected, abs=0.06 if destinations is Destinations.BURSTY else 0.035)
    if destinations is Destinations.BURSTY:
        changes = sum(a != b for a, b in pairwise(found))
        assert len(found) / changes == pytest.approx(16 * 4 / 3, rel=0.25)


def test_a_core_between_sources_and_sinks():
    top = SwitchTop(2)

    async def bench(ctx):
        ctx.set(top.rate, 2**31)
        ctx.set(top.beats_less_one, 1)
        while not ctx.get(top.ready):
            await ctx.tick()
        ctx.set(top.enable, 1)
        ctx.set(top.measuring, 1)
        await ctx.tick().repeat(300)
        ctx.set(top.enable, 0)
        await ctx.tick().until(top.idle)
        await ctx.tick().repeat(100)
        sent = [ctx.get(count) for count in top.sent]
        assert (ctx.get(top.mismatches), ctx.get(top.refused)) == (0, 0)
        assert ctx.get(top.items) == sum(sent) == ctx.get(top.beats) // 2
        assert min(sent) > 100

    run(top, bench)


def test_references_are_what_theory_says():
    assert fifo_throughput(2) == pytest.approx(3 / 4, rel=0.01)
    assert fifo_throughput(32) == pytest.approx(2 - 2**0.5, rel=0.03)
    pytest.importorskip("scipy")
    assert matching_latency(4, 0.1, cycles=4000) == pytest.approx(0.04, abs=0.02)
    assert matching_latency(4, 0.9, cycles=4000) > matching_latency(4, 0.5, cycles=4000)


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_of_an_incast_no_matching_makes_more_than_one_queue_does(load):
    """All wait for one port, which is a queue with up to one arrival from each source in a cycle: its mean is known."""
    pytest.importorskip("scipy")
    waiting = matching_latency(PORTS, load / PORTS, Destinations.INCAST)
    assert waiting == pytest.approx((PORTS - 1) / PORTS * load / (2 * (1 - load)), rel=0.1)


def test_whose_ways_are_apart_waits_for_nobody():
    pytest.importorskip("scipy")
    assert matching_latency(PORTS, 0.95, Destinations.PERMUTATION, cycles=2000) == 0
    # In turn to all: some meet, as their sources are not in step.
    waits = {kind: matching_latency(PORTS, 0.6, kind, cycles=6000) for kind in Destinations}
    assert waits[Destinations.BURSTY] > waits[Destinations.UNIFORM] > 0 < waits[Destinations.ALL_TO_ALL]
    assert waits[Destinations.HOT_SPOT] > waits[Destinations.UNIFORM]


def test_limits_and_percentiles():
    assert hot_spot_limit(4) == pytest.approx(1 / (4 * (1 / HOT_SHARE + 7 / 32)))
    assert percentile([0, 98, 1, 1], 0.99) == 2
    assert percentile([0, 0, 5], 0.5) == 2
