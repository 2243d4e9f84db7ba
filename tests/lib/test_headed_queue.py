"""Queues of which what comes and goes may be late, beside a plain queue: the same in every cycle."""

import random
from functools import partial
from itertools import product

import pytest
from amaranth.hdl import Module, ResetInserter
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from support.upsets import collect
from ualink.lib.banked_queue import BankedQueue
from ualink.lib.headed_queue import HeadedQueue
from ualink.lib.queue import Queue

SHAPE = data.StructLayout({"plain": 8, "beat": data.StructLayout({"plain": 8, "decisive": 8}), "decisive": 8})
"""Each member is the number of the cycle."""

KINDS = {
    "headed": HeadedQueue,
    "headed, decisive": partial(HeadedQueue, decisive=("decisive",)),
    "headed, decisive, watched": partial(HeadedQueue, decisive=("decisive",), watched=True),
    "banked": BankedQueue,
}


class Beside(wiring.Component):
    """Both with the same inputs; ``differs``: in what they offer, in their room or in their level."""

    push: In(1)
    pop: In(1)
    clear: In(1)
    number: In(8)
    level: Out(8)
    differs: Out(1)

    def __init__(self, kind, depth):
        self.pair = (Queue(SHAPE, depth), KINDS[kind](SHAPE, depth))
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        for queue in self.pair:
            m.submodules += ResetInserter(self.clear)(queue)
            m.d.comb += [
                queue.input.valid.eq(self.push),
                queue.output.ready.eq(self.pop),
                queue.input.p.eq(self.number.replicate(4)),
            ]
        plain, other = self.pair
        m.d.comb += [
            self.level.eq(plain.level),
            self.differs.eq(
                (other.level != plain.level)
                | (other.input.ready != plain.input.ready)
                | (other.output.valid != plain.output.valid)
                | (plain.output.valid & (other.output.p.as_value() != plain.output.p.as_value()))
            ),
        ]
        return m


def _run(kind, depth, steps):
    """``steps`` yields what goes into the next cycle, push, pop and clear, and is sent the level there is in it."""
    dut = Beside(kind, depth)

    async def bench(ctx):
        cycle, given, steering = 0, [], steps()
        step = next(steering)
        while step is not None:
            given = [*given[-30:], step]
            push, pop, clear = step
            ctx.set(dut.push, push)
            ctx.set(dut.pop, pop)
            ctx.set(dut.clear, clear)
            ctx.set(dut.number, cycle % 251)
            assert not ctx.get(dut.differs), (cycle, given)
            await ctx.tick()
            cycle += 1
            try:
                step = steering.send(ctx.get(dut.level))
            except StopIteration:
                step = None

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 32])
def test_the_same_at_any_rates(depth, kind):
    """Rates change every few cycles, so that what fills, what drains and what goes through follow on each other."""
    rng = random.Random(depth)

    def steps():
        for _ in range(250):
            push, pop = (rng.choice((0, 0.2, 0.5, 0.8, 1, 1)) for _ in "io")
            for _ in range(rng.randint(1, max(6, depth // 2))):
                yield rng.random() < push, rng.random() < pop, rng.random() < 0.01

    _run(kind, depth, steps)


@pytest.mark.parametrize("depth", [4, 5, 6, 7])
def test_the_same_when_pushed_while_the_memory_runs_empty(depth):
    """Any number inside, with a gap before the last or none; then all leave, with a wait in one of the first cycles,
    and one or two come from any cycle on: before the memory runs empty, in the very cycle, and after."""

    def steps():
        for fill, gap, wait, come, many in product(range(1, depth + 1), (0, 1, 2), range(4), range(depth + 2), (1, 2)):
            for n in range(fill):
                if n == fill - 1:
                    for _ in range(gap):
                        yield 0, 0, 0
                yield 1, 0, 0
            level, cycle = fill, 0
            while level or cycle <= come:
                level = yield come <= cycle < come + many, cycle != wait, 0
                cycle += 1

    _run("headed, decisive", depth, steps)


@pytest.mark.req("RAS-014")
@pytest.mark.parametrize("watched", [False, True], ids=["alone", "watched"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 8])
def test_an_upset_of_what_chooses_the_payload_is_outvoted(depth, watched):
    """It is there three times; in every second cycle, at any rates, a bit of one of them is struck, and in the next
    they agree again. A queue that is watched may show zeros for that cycle, but for what is decisive."""
    dut, rng = Beside("headed, decisive, watched" if watched else "headed, decisive", depth), random.Random(depth)
    plain, other = dut.pair
    design, registers, _ = collect(dut)
    chosen = [register.signal for register in registers if register.path[-1] in ("oldest", "others", "third")]
    assert len(chosen) == 3
    simulator, zeros = Simulator(design), 0
    simulator.add_clock(1e-6)

    @simulator.add_testbench
    async def bench(ctx):
        nonlocal zeros
        for cycle in range(3000):
            if cycle % 50 == 0:
                push, pop = (rng.choice((0.2, 0.5, 0.8, 1)) for _ in "io")
            ctx.set(dut.push, rng.random() < push)
            ctx.set(dut.pop, rng.random() < pop)
            ctx.set(dut.number, 1 + cycle % 251)
            struck = rng.random() < 0.5
            if struck:
                signal = rng.choice(chosen)
                ctx.set(signal, ctx.get(signal) ^ 1 << rng.randrange(len(signal)))
            for show in (lambda queue: queue.input.ready, lambda queue: queue.output.valid, lambda queue: queue.level):
                assert ctx.get(show(plain)) == ctx.get(show(other)), cycle
            if ctx.get(plain.output.valid):
                right, shown = (ctx.get(queue.output.p) for queue in dut.pair)
                assert (shown.decisive, shown.beat.decisive) == (right.decisive, right.beat.decisive), cycle
                if watched and struck and (shown.plain, shown.beat.plain) == (0, 0):
                    zeros += 1
                else:
                    assert shown == right, cycle
            await ctx.tick()

    simulator.run()
    assert (zeros > 0) == watched
