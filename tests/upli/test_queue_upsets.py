"""Each bit that a queue of received beats remembers, flipped in each cycle of a run: what leaves as a good beat is one
that came, once and in its order, with its data and its credit, unless the queue has said that it was upset; and after a
while beats leave right again.

CI strikes each bit in few cycles; ``make soak`` (UALINK_SOAK=1) the bits of state in all, and queues of more kinds.
"""

import os
import random
import re
from functools import partial

import pytest
from amaranth.hdl import Module
from amaranth.lib import data
from amaranth.sim import Simulator

from support.upli.queue_upsets import QueueUpsets
from support.upsets import collect, name_of
from ualink.config import UPLIConfig
from ualink.lib.parity import WithoutDataParity
from ualink.lib.queue import LaterQueue, Queue
from ualink.upli.beat_queue import BeatQueue
from ualink.upli.channels import CODED_LAYOUTS
from ualink.upli.completer import Completer
from ualink.upli.numbered_queue import NumberedQueue
from ualink.upli.originator import Originator

SOAK = bool(os.environ.get("UALINK_SOAK"))

KINDS = {
    "prompt": (BeatQueue, 0),
    "lean": (partial(Queue, lean=True), 0),
    "later": (LaterQueue, 1),
    "slow": (partial(Queue, prompt=False), 2),
    "lean_slow": (partial(Queue, prompt=False, lean=True), 2),
}
"""What makes the queue, and how many cycles later than a prompt one it offers a beat."""

RUNS = [("rd_rsp", "prompt", 6), ("rd_rsp", "slow", 6), ("rd_rsp", "later", 6), ("req", "prompt", 5)]
if SOAK:
    RUNS += [("rd_rsp", "prompt", 18), ("orig_data", "prompt", 5), ("orig_data", "lean", 6), ("wr_rsp", "prompt", 3)]
    RUNS += [("wr_rsp", "later", 5), ("orig_data", "later", 17), ("rd_rsp", "lean_slow", 6)]

WIDE = 16
"""Bits of what is a beat, or a part of one, at least: it has a code."""


@pytest.mark.soak
@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize(("channel", "kind", "depth"), RUNS, ids=[f"{c}_{k}_{d}" for c, k, d in RUNS])
def test_each_bit_in_each_cycle(channel, kind, depth):
    queue, delay = KINDS[kind]
    bench = QueueUpsets(channel, lambda shape, depth: NumberedQueue(queue, shape, depth, delay=delay), depth, kind)
    rng = random.Random(channel)

    def cycles(count):
        return range(2, count) if SOAK else rng.sample(range(2, count), 2)

    def bits(place):
        return rng.sample(range(place.bits), 2) if place.bits > WIDE else range(place.bits)

    async def story(ctx):
        failed, silent, seen = await bench.strikes(ctx, cycles, bits)
        assert not failed
        assert not silent
        assert {"coming", "due", "level"} <= seen

    bench.run(story)


@pytest.mark.req("RAS-014", "RAS-108")
def test_where_the_next_beat_goes_and_how_many_wait_in_each_cycle():
    """Numbers alone do not tell what is left of a beat in a memory that few go through, nor two beats at once."""
    bench = QueueUpsets("req", lambda shape, depth: NumberedQueue(BeatQueue, shape, depth), 5, "prompt")

    async def story(ctx):
        failed, silent, seen = await bench.strikes(
            ctx,
            lambda count: range(2, count),
            lambda place: range(place.bits) if place.path[-1] in ("newest", "waiting") else (),
        )
        assert not failed
        assert not silent
        assert seen == {"newest", "waiting"}

    bench.run(story)


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("ports", [1, 2, 4])
@pytest.mark.parametrize("kind", [Originator, Completer])
def test_an_agent_tells_it_as_a_control_error(kind, ports):
    """Of each queue that it has, and of whose turn it is where there are several; without an upset it tells none."""
    dut = kind(UPLIConfig(), ports, coded=True)
    design, registers, _ = collect(dut)
    struck = [place for place in registers if re.fullmatch(r"queue_\d\.(coming|due)|turn_\d", ".".join(place.path[1:]))]
    assert len(struck) == len(dut.receives) * (2 * ports + (ports if ports > 1 else 0))

    async def bench(ctx):
        await ctx.tick().repeat(20)
        assert ctx.get(dut.errors.as_value()) == 0
        for place in struck:
            ctx.set(place.signal, ctx.get(place.signal) ^ 1)
            await ctx.tick().repeat(4)
            assert ctx.get(dut.errors.control[place.path[0]]), name_of(place)
            assert ctx.get(dut.errors.as_value()).bit_count() == 1
            ctx.set(dut.clear_errors, 1)
            await ctx.tick()
            ctx.set(dut.clear_errors, 0)
            await ctx.tick().repeat(2)
            assert ctx.get(dut.errors.as_value()) == 0, name_of(place)

    simulator = Simulator(design)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


def test_without_data_parity_it_is_the_plain_queue():
    """Nothing is stored beside the beats, and nothing is told."""
    shape = data.StructLayout({"beat": CODED_LAYOUTS["rd_rsp"], "pool": 1, "void": 1, "credit": 1})
    kept, plain = NumberedQueue(BeatQueue, shape, 4), BeatQueue(shape, 4)
    m = Module()
    m.submodules.kept, m.submodules.plain = WithoutDataParity(kept), WithoutDataParity(plain)
    rng = random.Random(1)

    async def bench(ctx):
        for _ in range(200):
            push, pop, content = rng.random() < 0.6, rng.random() < 0.5, rng.getrandbits(shape.size)
            push = push and ctx.get(plain.input.ready)
            for queue in (kept, plain):
                ctx.set(queue.input.valid, push)
                ctx.set(queue.input.payload.as_value(), content)
                ctx.set(queue.output.ready, pop)
            assert ctx.get(kept.output.valid) == ctx.get(plain.output.valid)
            if ctx.get(kept.output.valid):
                assert ctx.get(kept.output.payload.as_value()) == ctx.get(plain.output.payload.as_value())
            assert not ctx.get(kept.upset)
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
