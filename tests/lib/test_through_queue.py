"""A queue through which a payload goes in the cycle in which it comes."""

import random
from collections import deque

import pytest
from amaranth.sim import Simulator

from ualink.lib.through_queue import ThroughQueue


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize(("comes", "leaves"), [(0.5, 0.5), (0.9, 0.3), (0.3, 0.9), (1.0, 1.0)])
def test_payloads_leave_in_order_at_once_where_none_waits(depth, comes, leaves):
    dut = ThroughQueue(8, depth)
    rng = random.Random(f"{depth} {comes} {leaves}")

    async def bench(ctx):
        inside = deque()
        for _ in range(400):
            offered, ready, value = rng.random() < comes, rng.random() < leaves, rng.getrandbits(8)
            ctx.set(dut.input.valid, offered)
            ctx.set(dut.input.p, value)
            ctx.set(dut.output.ready, ready)
            room = len(inside) < depth
            assert ctx.get(dut.input.ready) == room and ctx.get(dut.level) == len(inside)
            if offered and room:
                inside.append(value)
            there = bool(inside) or offered
            assert ctx.get(dut.output.valid) == there
            if there:
                assert ctx.get(dut.output.p) == inside[0]
            if there and ready:
                inside.popleft()
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
