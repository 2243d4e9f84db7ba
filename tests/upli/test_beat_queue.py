"""The queue of received beats does in every cycle what a plain queue does."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import data

from support.tl.address import simulate
from ualink.lib.queue import Queue
from ualink.upli.beat_queue import BeatQueue
from ualink.upli.channels import CHANNEL_LAYOUTS


@pytest.mark.parametrize("channel", ["req", "orig_data", "rd_rsp", "wr_rsp"])
def test_it_is_a_queue(channel):
    """Every field comes out with its beat, whether of a memory or of registers."""
    shape = data.StructLayout({"beat": CHANNEL_LAYOUTS[channel], "pool": 1, "void": 1})
    queues = [Queue(shape, 5), BeatQueue(shape, 5)]
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
