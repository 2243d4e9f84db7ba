"""Event counters: no event is lost or counted twice, however close the events are."""

import random

import pytest
from amaranth.sim import Simulator

from ualink.dl.registers.firmware import COUNTERS, EventCounters


@pytest.mark.req("DL-178")
def test_every_event_counts_once():
    """In neighbouring cycles, alone, of all kinds at once; the count follows two cycles later."""
    dut = EventCounters()
    rng = random.Random(1)

    async def bench(ctx):
        history = [dict.fromkeys(COUNTERS, 0)] * 2
        counts = dict.fromkeys(COUNTERS, 0)
        for cycle in range(150):
            chance = (0, 0.5, 1)[cycle % 50 // 17]
            for name in COUNTERS:
                happens = rng.random() < chance
                ctx.set(dut.events[name], happens)
                counts[name] += happens
            history.append(dict(counts))
            await ctx.tick()
            shown = {name: ctx.get(dut.counts[name]) for name in COUNTERS}
            assert shown == history[-2]

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
