"""Flit times since a restart, with both inputs in any order."""

import random

from amaranth.sim import Simulator

from ualink.dl.message.flit_timer import FlitTimer


def test_counts_from_the_cycle_after_a_restart_and_stops_at_the_end():
    dut = FlitTimer(4)

    async def bench(ctx):
        rng = random.Random(1)
        count, highest = 0, 0
        for cycle in range(600):
            # First long counts, then a restart in any cycle, next to another one too.
            slot_end, restart = rng.random() < 0.7, rng.random() < (0.03 if cycle < 300 else 0.4)
            ctx.set(dut.slot_end, slot_end)
            ctx.set(dut.restart, restart)
            await ctx.tick()
            count = 0 if restart else min(count + slot_end, 15)
            highest = max(highest, count)
            assert ctx.get(dut.count) == count and ctx.get(dut.restarted) == restart
        assert highest == 15

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
