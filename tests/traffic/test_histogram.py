"""Latencies are counted by class, also when the same class comes in every cycle."""

import random
from collections import Counter

from amaranth.sim import Simulator

from ualink.traffic.histogram import Histogram
from ualink_sim.model.traffic import BINS, bin_of


def test_counts_are_exact_at_one_event_a_cycle():
    dut, rng = Histogram(), random.Random(4)
    events = []
    while len(events) < 400:
        events += [(rng.randrange(2), rng.getrandbits(rng.randint(1, 24)))] * rng.choice((1, 1, 2, 3))
        events += [None] * rng.choice((0, 0, 0, 1, 2))

    async def story(ctx):
        for event in [*events, None, None, None]:
            ctx.set(dut.event, event is not None)
            if event:
                ctx.set(dut.write, event[0])
                ctx.set(dut.latency, event[1])
            await ctx.tick()
        expected = Counter(128 * event[0] + bin_of(event[1]) for event in events if event)
        for index in (*range(BINS), *range(128, 128 + BINS)):
            ctx.set(dut.index, index)
            await ctx.tick()
            assert ctx.get(dut.count) == expected[index], index
        ctx.set(dut.sweep, 1)
        for index in range(256):
            ctx.set(dut.swept, index)
            await ctx.tick()
        ctx.set(dut.sweep, 0)
        for index in expected:
            ctx.set(dut.index, index)
            await ctx.tick()
            assert ctx.get(dut.count) == 0

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(story)
    simulator.run()
