"""The queue of received beats does in every cycle what a plain queue does.

CI begins in the deepest one from few levels; ``make soak`` (UALINK_SOAK=1) from each.
"""

import itertools
import os
import random
from collections import deque

import pytest
from amaranth.hdl import Module
from amaranth.lib import data

from support.tl.address import simulate
from ualink.lib.banked_data import BankedData
from ualink.lib.queue import Queue
from ualink.upli.beat_queue import BeatQueue
from ualink.upli.channels import CHANNEL_LAYOUTS


@pytest.mark.parametrize("depth", [5, 17, 18])
@pytest.mark.parametrize("channel", ["req", "orig_data", "rd_rsp", "wr_rsp"])
def test_it_is_a_queue(channel, depth):
    """Every field comes out with its beat, whether of a memory, of two or of registers."""
    shape = data.StructLayout({"beat": CHANNEL_LAYOUTS[channel], "pool": 1, "void": 1})
    queues = [Queue(shape, depth), BeatQueue(shape, depth)]
    m = Module()
    m.submodules += queues
    rng = random.Random(channel)

    async def bench(ctx):
        offered = 0
        for cycle in range(400):
            push, pop = ((0.9, 0.4), (0.4, 0.9), (1, 1))[cycle // 50 % 3]
            pushes, pops, content = rng.random() < push, rng.random() < pop, rng.getrandbits(shape.size)
            for queue in queues:
                ctx.set(queue.input.valid, pushes)
                ctx.set(queue.input.payload.as_value(), content)
                ctx.set(queue.output.ready, pops)
            plain, beats = (
                (ctx.get(queue.level), ctx.get(queue.input.ready), ctx.get(queue.output.valid)) for queue in queues
            )
            assert plain == beats, f"cycle {cycle}"
            if plain[2]:
                offered += 1
                first, second = (ctx.get(queue.output.payload.as_value()) for queue in queues)
                assert first == second, f"cycle {cycle}"
            await ctx.tick()
        assert offered > 200

    simulate(m, bench)


WHOLE = bool(os.environ.get("UALINK_SOAK"))


def levels(depth):
    """All, or of many the lowest, those in the middle and the highest."""
    every = range(depth + 1)
    return every if WHOLE or depth < 8 else [*every[:2], depth // 2, depth // 2 + 1, *every[-3:]]


@pytest.mark.soak
@pytest.mark.parametrize("depth", [*range(1, 7), 17])
def test_data_keep_up_whatever_comes_and_goes(depth):
    """From a level on, and for either memory to begin with, all that may come and go within four cycles."""
    dut = BankedData(8, depth)

    async def bench(ctx):
        inside, number = deque(), 0

        async def step(comes, goes):
            nonlocal number
            number += 1
            ctx.set(dut.room, len(inside) < depth)
            pushes, pops = comes and len(inside) < depth, goes and bool(inside)
            # What stands there while nothing comes must not matter.
            ctx.set(dut.coming, number % 251)
            ctx.set(dut.pushed, pushes)
            ctx.set(dut.popped, pops)
            if inside:
                assert ctx.get(dut.oldest) == inside[0], (number, len(inside))
            await ctx.tick()
            if pops:
                inside.popleft()
            if pushes:
                inside.append(number % 251)

        for level in levels(depth):
            for odd in range(2):
                for events in itertools.product(range(4), repeat=4):
                    while inside:
                        await step(0, 1)
                    for _ in range(odd):
                        await step(1, 0)
                        await step(0, 1)
                    while len(inside) < level:
                        await step(1, 0)
                    for event in events:
                        await step(event & 1, event >> 1)

    simulate(dut, bench)
