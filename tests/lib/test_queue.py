"""The queues against a Python list, and their order and occupancy proved."""

import random
from functools import partial

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import BITWUZLA, prove
from ualink.config import ConfigError
from ualink.lib.headed_queue import HeadedQueue
from ualink.lib.queue import LaterQueue, Queue, UnhurriedQueue
from ualink.lib.shift_queue import ShiftQueue

SLOW = partial(Queue, prompt=False)
KINDS = pytest.mark.parametrize("kind", [Queue, UnhurriedQueue, HeadedQueue, ShiftQueue, LaterQueue])


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@KINDS
@pytest.mark.parametrize("depth", [0, -1, True, 2.0, None])
def test_refuses_depth(kind, depth):
    with pytest.raises(ConfigError, match=f"queue.depth is {depth!r}"):
        kind(8, depth)


@pytest.mark.parametrize(
    ("kind", "cycles"),
    [
        (Queue, 1),
        (UnhurriedQueue, 1),
        (HeadedQueue, 1),
        (ShiftQueue, 1),
        (LaterQueue, 2),
        (SLOW, 3),
        (partial(SLOW, lean=True), 3),
    ],
    ids=["Queue", "UnhurriedQueue", "HeadedQueue", "ShiftQueue", "LaterQueue", "SLOW", "LEAN"],
)
@pytest.mark.parametrize("depth", [1, 2, 3, 5, 8, 17])
@pytest.mark.parametrize(("push", "pop"), [(1.0, 1.0), (0.9, 0.3), (0.3, 0.9), (0.5, 0.5)])
def test_random(kind, cycles, depth, push, pop):
    """A payload is offered so many cycles after it was taken; payloads are the cycles in which they were."""
    dut = kind(16, depth)
    rng = random.Random(f"{depth} {push} {pop}")

    async def bench(ctx):
        inside = []
        for cycle in range(150):
            assert ctx.get(dut.level) == len(inside)
            assert ctx.get(dut.input.ready) == (len(inside) < depth)
            offered = bool(inside) and cycle - inside[0] >= cycles
            assert ctx.get(dut.output.valid) == offered
            if offered:
                assert ctx.get(dut.output.payload) == inside[0]
            pushes, pops = rng.random() < push, rng.random() < pop
            ctx.set(dut.input.valid, pushes)
            ctx.set(dut.input.payload, cycle)
            ctx.set(dut.output.ready, pops)
            room = len(inside) < depth
            if offered and pops:
                inside.pop(0)
            if pushes and room:
                inside.append(cycle)
            await ctx.tick()

    _run(dut, bench)


@pytest.mark.parametrize("push", [1.0, 0.5, 0.2])
def test_who_looks_later_needs_no_way_round(push):
    """What leaves in the second cycle after it was written, or later, is what was written; sooner nothing may leave."""
    dut = Queue(16, 17, settles=True)
    rng = random.Random(push)
    late = 0

    async def bench(ctx):
        nonlocal late
        inside = []
        for cycle in range(150):
            ctx.set(dut.input.valid, rng.random() < push and len(inside) < dut.depth)
            ctx.set(dut.input.payload, cycle)
            pops = bool(inside) and cycle - inside[0] >= 2
            ctx.set(dut.output.ready, pops)
            if pops:
                assert ctx.get(dut.output.payload) == inside[0]
                late += cycle - inside.pop(0) == 2
            if ctx.get(dut.input.valid):
                inside.append(cycle)
            await ctx.tick()
        assert late
        while ctx.get(dut.level):
            ctx.set(dut.input.valid, 0)
            ctx.set(dut.output.ready, 1)
            await ctx.tick()
        ctx.set(dut.input.valid, 1)
        for _ in range(3):
            await ctx.tick()

    with pytest.raises(AssertionError, match="no payload leaves in the cycle after it was written"):
        _run(dut, bench)


@KINDS
def test_reset_empties(kind):
    clear = Signal()
    queue = kind(8, 3)
    dut = ResetInserter(clear)(queue)

    async def bench(ctx):
        ctx.set(queue.input.valid, 1)
        await ctx.tick().repeat(3)
        assert ctx.get(queue.level) == 3
        ctx.set(clear, 1)
        await ctx.tick()
        ctx.set(clear, 0)
        ctx.set(queue.input.payload, 0x5A)
        assert ctx.get(queue.level) == 0
        await ctx.tick().repeat(2 if kind is LaterQueue else 1)
        assert (ctx.get(queue.output.valid), ctx.get(queue.output.payload)) == (1, 0x5A)

    _run(dut, bench)


def _run(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


class OrderBench(wiring.Component):
    """Follows one payload, any of those written, through the queue, and its contents come out in its turn."""

    push: In(1)
    pop: In(1)
    follow: In(1)
    data: In(2)

    def __init__(self, kind, depth):
        self.kind, self.depth = kind, depth
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = self.kind(2, self.depth)
        following, seen = Signal(), Signal()
        ahead = Signal(range(self.depth + 1))
        value = Signal(2)
        was_held, held = Signal(), Signal(2)
        pushed = queue.input.valid & queue.input.ready
        popped = queue.output.valid & queue.output.ready
        m.d.comb += [
            queue.input.valid.eq(self.push),
            queue.input.payload.eq(self.data),
            queue.output.ready.eq(self.pop),
        ]
        with m.If(pushed & self.follow & ~seen):
            m.d.sync += [following.eq(1), seen.eq(1), value.eq(self.data), ahead.eq(queue.level - popped)]
        with m.If(following & popped):
            m.d.sync += ahead.eq(ahead - 1)
            with m.If(ahead == 0):
                m.d.comb += Assert(queue.output.payload == value)
                m.d.sync += following.eq(0)
        m.d.sync += [was_held.eq(queue.output.valid & ~queue.output.ready), held.eq(queue.output.payload)]
        with m.If(was_held):
            m.d.comb += [Assert(queue.output.valid), Assert(queue.output.payload == held)]
        m.d.comb += [
            Assert(queue.level <= self.depth),
            Assert(~following | (queue.level > ahead)),
            Assert(queue.input.ready == (queue.level < self.depth)),
        ]
        if self.kind not in (SLOW, LaterQueue):
            m.d.comb += Assert(queue.output.valid == (queue.level > 0))
        return m


@pytest.mark.parametrize(
    ("kind", "depth"),
    [
        (Queue, 1),
        (Queue, 2),
        (Queue, 3),
        (LaterQueue, 1),
        (LaterQueue, 3),
        (SLOW, 1),
        (SLOW, 3),
        (HeadedQueue, 1),
        (HeadedQueue, 2),
        (HeadedQueue, 3),
        (HeadedQueue, 4),
        (HeadedQueue, 5),
        (HeadedQueue, 6),
        (ShiftQueue, 1),
        (ShiftQueue, 4),
    ],
)
def test_order_from_reset(kind, depth):
    prove(OrderBench(kind, depth), mode="bmc", depth=10, engine=BITWUZLA)


def test_order_round_the_memory(monkeypatch):
    """A memory that is no LUT RAM needs a way round it."""
    monkeypatch.setattr("ualink.lib.queue._LUT_RAM_ROWS", 0)
    for depth in (1, 2, 3):
        prove(OrderBench(Queue, depth), mode="bmc", depth=10, engine=BITWUZLA)


class OccupancyBench(wiring.Component):
    """The occupancy stays in 0 to depth and changes by what went in and out."""

    push: In(1)
    pop: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(1, 5)
        before, pushed, popped, started = Signal(3), Signal(), Signal(), Signal()
        m.d.comb += [
            queue.input.valid.eq(self.push),
            queue.output.ready.eq(self.pop),
            Assert(queue.level <= 5),
            Assert(queue.input.ready == (queue.level < 5)),
            Assert(queue.output.valid == (queue.level > 0)),
        ]
        m.d.sync += [
            started.eq(1),
            before.eq(queue.level),
            pushed.eq(queue.input.valid & queue.input.ready),
            popped.eq(queue.output.valid & queue.output.ready),
        ]
        with m.If(started):
            m.d.comb += Assert(queue.level == before + pushed - popped)
            m.d.comb += Assume(before <= 5)
        return m


def test_occupancy_always():
    prove(OccupancyBench(), mode="prove", depth=3)


@pytest.mark.parametrize(("width", "depth", "block"), [(513, 32, True), (513, 16, False), (32, 32, False)])
def test_only_a_deep_and_wide_queue_asks_for_block_rams(width, depth, block):
    assert ('ram_style "block"' in rtlil.convert(Queue(width, depth), name="queue")) == block
