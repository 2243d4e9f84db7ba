"""The shared buffer against queues of its own for each egress port."""

import os
import random
from collections import deque

import pytest
from amaranth.hdl import Value

from support.shared_simulator import SharedSimulator
from support.switch.bench import run
from support.upsets import Memory, collect, name_of
from switch.test_shares import SharesModel
from ualink.lib.parity import WithoutDataParity
from ualink.switch.shared_buffer import SharedBuffer

WIDTH = 16


def offer(ctx, dut, valid, toward=None):
    """A beat to the queues ``valid``; what does not go yet may be on its way ``toward`` any of them."""
    ctx.set(dut.input.valid, valid)
    ctx.set(dut.input.toward, valid if toward is None else toward)


class Model(SharesModel):
    """A queue for each way, with room as ``SharesModel`` says."""

    def __init__(self, ways, depth, shared):
        super().__init__(ways, depth, shared)
        self.queues = [deque() for _ in range(ways)]

    def push(self, n, beat):
        assert self.room(n)
        self.queues[n].append(beat)
        self.levels[n] += 1

    def pop(self, n):
        self.levels[n] -= 1
        return self.queues[n].popleft()


SIZES = [(3, 6, 3), (4, 32, 32), (2, 4, 5), (3, 1, 8), (2, 5, 0), (1, 9, 99)]


@pytest.mark.req("SW-026", "SW-028", "SW-043")
@pytest.mark.parametrize(("ways", "depth", "shared"), SIZES)
@pytest.mark.parametrize("seed", range(2))
def test_random_traffic(ways, depth, shared, seed):
    """Phases that fill, empty or balance it, with some queues standing still; a beat may be read in the next cycle."""
    dut, model = SharedBuffer(WIDTH, ways, depth, shared), Model(ways, depth, shared)
    rng = random.Random(f"{ways} {depth} {shared} {seed}")
    levels = set()

    async def bench(ctx):
        awaited = None
        for cycle in range(2000):
            if cycle % 80 == 0:
                standing = rng.sample(range(ways), rng.randrange(ways))
                push, pop = rng.choice([(1, 1), (1, 0), (0, 1), (1, 0.3), (0.3, 1)])
                same = rng.random() < 0.5
            assert awaited is None or (ctx.get(dut.beat) == awaited and not ctx.get(dut.astray))
            assert ctx.get(dut.input.ready) == sum(model.room(n) << n for n in range(ways))
            assert [ctx.get(level) for level in dut.levels] == model.levels
            levels.add(sum(model.levels))
            # What is offered need not have room.
            into = rng.randrange(ways) if rng.random() < push else None
            there = [n for n in range(ways) if model.levels[n] and n not in standing]
            out = (there[0] if same else rng.choice(there)) if there and rng.random() < pop else None
            beat = rng.getrandbits(WIDTH)
            ctx.set(dut.input.payload, beat)
            # What is not offered may be on its way already.
            on_its_way = rng.choice([0, 1 << rng.randrange(ways)])
            offer(ctx, dut, 0 if into is None else 1 << into, on_its_way if into is None else None)
            ctx.set(dut.input.meant, 0 if into is None else 1 << into)
            ctx.set(dut.read, 0 if out is None else 1 << out)
            has_room = into is not None and model.room(into)
            await ctx.tick()
            awaited = None if out is None else model.pop(out)
            if has_room:
                model.push(into, beat)

    run(dut, bench)
    assert {0, dut.beats} <= levels


@pytest.mark.req("SW-029", "SW-035", "SW-037")
def test_a_queue_that_stands_still_leaves_the_others_their_share():
    """One takes all it may, up to its cap; each of the others still takes a maximal transfer, in and out for ever."""
    ways, depth, shared = 3, 10, 6
    dut = SharedBuffer(WIDTH, ways, depth, shared)

    async def push(ctx, n, count):
        """So many of ``count`` beats that find room in successive cycles."""
        fit = 0
        for beat in range(count):
            ctx.set(dut.input.payload, 100 * n + beat)
            offer(ctx, dut, 1 << n)
            fit += ctx.get(dut.input.ready) >> n & 1
            await ctx.tick()
        offer(ctx, dut, 0)
        return fit

    async def bench(ctx):
        assert await push(ctx, 0, 20) == depth
        for turn in range(20):
            for n in (1, 2):
                assert await push(ctx, n, 5) == 4, turn
            for n in (1, 2):
                for beat in range(4):
                    ctx.set(dut.read, 1 << n)
                    await ctx.tick()
                    assert ctx.get(dut.beat) == 100 * n + beat
            ctx.set(dut.read, 0)
        for beat in range(depth):
            ctx.set(dut.read, 1)
            await ctx.tick()
            assert ctx.get(dut.beat) == beat

    run(dut, bench)


def test_every_row_is_used_again_and_none_twice():
    """One beat in and one out in each cycle, of all queues in turn, many times around the memory."""
    ways = 4
    dut = SharedBuffer(WIDTH, ways, 4, 0)

    async def bench(ctx):
        for cycle in range(40 * dut.beats):
            offer(ctx, dut, 1 << cycle % ways)
            ctx.set(dut.input.payload, cycle % 65536)
            if cycle >= ways * 3:
                ctx.set(dut.read, 1 << cycle % ways)
            await ctx.tick()
            if cycle >= ways * 3:
                assert ctx.get(dut.beat) == (cycle - ways * 3) % 65536
                assert ctx.get(dut.input.ready).bit_count() == ways

    run(dut, bench)


class Upset:
    """Random traffic through a buffer of which one bit flips; each beat that leaves is asked for ``astray``."""

    def __init__(self, ways, depth, shared):
        self.dut = SharedBuffer(WIDTH, ways, depth, shared)
        self.sizes = ways, depth, shared
        self.rng = random.Random(f"{ways} {depth} {shared}")
        design, registers, memories = collect(self.dut)
        self.places = [*registers, *memories]
        self._simulator = SharedSimulator(design)
        self.sent_astray = False

    def strike(self, place, bit):
        """Flip a bit of ``place``, of any row of a memory, in the middle of new traffic."""
        self.place, self.bit, self.when = place, bit, self.rng.randrange(20, 120)
        self.sent_astray = False
        self._simulator.run_all(self._traffic)

    async def _traffic(self, ctx):
        dut, rng, ways = self.dut, self.rng, self.sizes[0]
        model, asked = Model(*self.sizes), None
        # Of each queue: beats written that none read as good is behind.
        to_come = [deque() for _ in range(ways)]
        for cycle in range(self.when + 60):
            if cycle == self.when:
                rows = isinstance(self.place, Memory)
                target = Value.cast(self.place.rows[rng.randrange(self.place.depth)] if rows else self.place.signal)
                ctx.set(target, ctx.get(target) ^ 1 << self.bit)
            if asked is not None and ctx.get(dut.astray):
                assert cycle >= self.when
                self.sent_astray = True
            elif asked is not None:
                queue, due = asked
                beat = ctx.get(dut.beat)
                assert beat == due or cycle >= self.when
                assert beat in to_come[queue], f"{name_of(self.place)} bit {self.bit}"
                while to_come[queue].popleft() != beat:
                    pass
            into = rng.randrange(ways) if rng.random() < (0.9 if cycle % 50 < 25 else 0.5) else None
            there = [n for n in range(ways) if model.levels[n]]
            out = rng.choice(there) if there and rng.random() < 0.7 else None
            # Levels that were upset may refuse what there is room for.
            goes = into is not None and model.room(into) and ctx.get(dut.input.ready) >> into & 1
            ctx.set(dut.input.payload, cycle)
            offer(ctx, dut, 1 << into if goes else 0, None if into is None else 1 << into)
            ctx.set(dut.input.meant, 1 << into if goes else 0)
            ctx.set(dut.read, 0 if out is None else 1 << out)
            await ctx.tick()
            asked = None if out is None else (out, model.pop(out))
            if goes:
                model.push(into, cycle)
                to_come[into].append(cycle)


TRIES = 4 if os.environ.get("UALINK_SOAK") else 2
"""Of each bit; ``make soak`` has twice as many."""

FINDS = ("following", "storage", "oldest_0", "empty_0", "due_0", "next_number__0", "came", "free_rows.storage")


@pytest.mark.soak
@pytest.mark.req("RAS-009", "RAS-014", "RAS-030")
@pytest.mark.parametrize(("ways", "depth", "shared"), [(3, 6, 3), (2, 9, 7)])
def test_no_upset_of_what_finds_beats_gives_another_one(ways, depth, shared):
    """Each bit of each register and memory but the beats, of which their own code tells: what is read is astray, or a
    beat of that queue, in order and not for the second time."""
    upset = Upset(ways, depth, shared)
    found = set()
    for place in upset.places:
        for bit in range(WIDTH if name_of(place) == "storage" else 0, place.bits):
            for _ in range(TRIES):
                upset.strike(place, bit)
                found |= {name_of(place)} if upset.sent_astray else set()
    assert set(FINDS) <= found


@pytest.mark.req("RAS-009", "RAS-014", "RAS-030")
def test_a_beat_that_goes_where_it_was_not_meant_for_is_astray():
    """Into another queue, or into two at once, of which one may be the right one."""
    dut = SharedBuffer(WIDTH, 3, 6, 3)

    async def bench(ctx):
        for valid, meant in ((1, 1), (2, 1), (4, 2), (4, 4), (1, 0), (6, 2)):
            offer(ctx, dut, valid)
            ctx.set(dut.input.meant, meant)
            await ctx.tick()
            offer(ctx, dut, 0)
            for n in (n for n in range(3) if valid >> n & 1):
                ctx.set(dut.read, 1 << n)
                await ctx.tick()
                assert ctx.get(dut.astray) or meant == 1 << n
                assert not ctx.get(dut.astray) or meant != valid
            ctx.set(dut.read, 0)
            await ctx.tick()

    run(collect(dut)[0], bench)


def test_without_parity_over_data_rows_say_nothing():
    dut = SharedBuffer(WIDTH, 2, 9, 7)
    _, _, memories = collect(WithoutDataParity(dut))
    assert [place.bits for place in memories if name_of(place) == "storage"] == [WIDTH]
