"""The deskew alone: lanes that come late, stop, have holes and lose markers, never give two intervals mixed."""

import random
from collections import deque

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from ualink.phy.pcs.deskew import Deskew
from ualink.phy.pcs.lane_receive import receive_depth, receive_patience

MAX_SKEW, SLOTS = 32, 4
BEATS = SLOTS * 10
"""Shares from marker to marker."""
BUSY = 0.7
"""Shares a cycle that come in on a lane."""

PLACES = {2: range(BEATS), 4: range(0, BEATS, 6)}
"""Places in an interval at which something happens: each for two lanes."""


def tag(lane: int, share: int, block: int) -> int:
    """A block that names its lane, its share and its place in it."""
    return 0b10 | lane << 8 | share << 16 | block << 4


class Lane:
    """A lane's FIFO as ``LaneReceive`` fills it: with the shares up to now, none in a hole, none that find no room."""

    def __init__(self, number: int, delay: float, depth: int):
        self.number, self.delay, self.depth = number, delay, depth
        self.fifo: deque[int] = deque()
        self.next = 0
        self.holes: set[int] = set()
        self.unmarked: set[int] = set()
        self.false: set[int] = set()
        self.stopped = self.drops = False
        self.overflows = 0

    def come_in(self, now: float) -> None:
        while self.next <= now - self.delay:
            share, self.next = self.next, self.next + 1
            if self.stopped or share in self.holes:
                self.drops = True
            elif share % BEATS == 0:
                self.drops = False
            if not self.drops and len(self.fifo) > self.depth:
                self.drops = True
                self.overflows += 1
            if not self.drops:
                self.fifo.append(share)

    def marker(self) -> bool:
        share = self.fifo[0]
        return (share % BEATS == 0 and share not in self.unmarked) or share in self.false


class Bench:
    """A ``Deskew`` whose output is judged beat by beat; ``given`` has the number of each beat, None where it was not
    aligned."""

    def __init__(self, lanes: int, delays: list[float]):
        self.lanes, self.share = lanes, 8 // lanes
        skew = {"lanes": lanes, "max_skew": MAX_SKEW, "marker_interval": SLOTS}
        depth, self.patience = receive_depth(**skew), receive_patience(**skew)
        self.dut = Deskew(lanes=lanes, depth=depth + 1, patience=self.patience)
        # Lanes are crossed.
        numbers = random.Random(lanes).sample(range(lanes), lanes)
        self.lane = [Lane(number, delay / self.share, depth) for number, delay in zip(numbers, delays)]
        self.locks = (1 << lanes) - 1
        self.cycle = 0
        self.given: list[int | None] = []

    async def cycles(self, ctx, count: int):
        for _ in range(count):
            for n, lane in enumerate(self.lane):
                lane.come_in(self.cycle * BUSY)
                ports = self.dut.lane[n]
                ctx.set(ports.valid, bool(lane.fifo))
                ctx.set(self.dut.level[n], len(lane.fifo))
                if lane.fifo:
                    blocks = sum(tag(lane.number, lane.fifo[0], k) << 66 * k for k in range(self.share))
                    word = blocks | (lane.marker() | lane.number << 1) << 66 * self.share
                    ctx.set(ports.p.as_value(), word)
            ctx.set(self.dut.marker_lock, self.locks)
            taken = [lane for n, lane in enumerate(self.lane) if lane.fifo and ctx.get(self.dut.lane[n].ready)]
            await ctx.tick()
            self.cycle += 1
            for lane in taken:
                lane.fifo.popleft()
            self.judge(ctx)

    def judge(self, ctx) -> None:
        output = self.dut.output
        if ctx.get(output.valid):
            word = ctx.get(output.p.blocks.as_value())
            blocks = [word >> 66 * k & (1 << 66) - 1 for k in range(8)]
            share = blocks[0] >> 16
            assert blocks == [tag(k % self.lanes, share, k // self.lanes) for k in range(8)], self.cycle
            before = self.given[-1] if self.given else None
            assert share % BEATS == 0 if before is None else share == before + 1, self.cycle
            assert ctx.get(output.p.marker) == (share % BEATS == 0)
            assert ctx.get(output.p.codeword) == (share % 10 == 0)
            self.given.append(share)
        elif not ctx.get(self.dut.aligned) and self.given and self.given[-1] is not None:
            self.given.append(None)

    async def until_aligned(self, ctx, intervals: int):
        for _ in range(int(intervals * BEATS / BUSY)):
            await self.cycles(ctx, 1)
            if ctx.get(self.dut.aligned):
                return
        raise AssertionError(f"not aligned in cycle {self.cycle}")

    async def forget(self, ctx):
        """Without a lock all that has come goes."""
        self.locks = 0
        await self.cycles(ctx, BEATS)
        assert not ctx.get(self.dut.aligned)

    def run(self, testbench):
        m = Module()
        m.submodules.dut = self.dut
        simulator = Simulator(m)
        simulator.add_clock(1e-6)
        simulator.add_testbench(testbench)
        simulator.run()


def spread(lanes: int, skew: float) -> list[float]:
    """The first lane is early, the last one late by so many blocks."""
    return [skew * n / (lanes - 1) for n in range(lanes)]


@pytest.mark.req("PHY-051")
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("skew", [0, MAX_SKEW, MAX_SKEW + 1])
@pytest.mark.parametrize("lanes", [2, 4])
def test_lanes_up_to_the_bound_and_a_block_beyond_come_into_step(lanes, skew, backwards):
    delays = spread(lanes, skew)
    bench = Bench(lanes, delays[::-1] if backwards else delays)

    async def testbench(ctx):
        await bench.until_aligned(ctx, 3)
        await bench.cycles(ctx, 3 * BEATS)
        assert ctx.get(bench.dut.aligned) and None not in bench.given and len(bench.given) > 2 * BEATS
        waited = [ctx.get(bench.dut.skew[n]) for n in range(lanes)]
        early, late = (-1, 0) if backwards else (0, -1)
        assert abs(waited[early] - waited[late] - skew) <= 2 * bench.share
        assert [ctx.get(bench.dut.number[n]) for n in range(lanes)] == [lane.number for lane in bench.lane]
        assert not any(lane.overflows for lane in bench.lane)

    bench.run(testbench)


@pytest.mark.req("PHY-055")
@pytest.mark.parametrize("lanes", [2, 4])
def test_half_an_interval_apart_is_never_aligned(lanes):
    """Markers in a row cannot be told apart then: nothing is given, and no FIFO runs over."""
    bench = Bench(lanes, spread(lanes, BEATS // 2 * 8 // lanes))

    async def testbench(ctx):
        await bench.cycles(ctx, 8 * BEATS)
        assert bench.given == [] and not any(lane.overflows for lane in bench.lane)

    bench.run(testbench)


@pytest.mark.req("PHY-051", "PHY-055")
@pytest.mark.parametrize("lanes", [2, 4])
def test_a_lock_that_comes_in_any_cycle(lanes):
    bench = Bench(lanes, spread(lanes, MAX_SKEW))

    async def testbench(ctx):
        for place in PLACES[lanes]:
            await bench.forget(ctx)
            while (bench.lane[0].next + place) % BEATS:
                await bench.cycles(ctx, 1)
            bench.locks = (1 << lanes) - 1
            await bench.until_aligned(ctx, 4)
            await bench.cycles(ctx, 4)
        assert bench.given.count(None) == len(PLACES[lanes]) - 1 and bench.given[-1] is not None

    bench.run(testbench)


@pytest.mark.req("PHY-055")
@pytest.mark.parametrize("kind", ["unmarked", "false"])
@pytest.mark.parametrize("lanes", [2, 4])
def test_markers_that_do_not_agree_lose_alignment_and_are_not_given(lanes, kind):
    """Each lane in turn misses a marker, or has one where no other lane has one."""
    bench = Bench(lanes, spread(lanes, MAX_SKEW))

    async def testbench(ctx):
        for lane in bench.lane:
            await bench.until_aligned(ctx, 6)
            wrong = (lane.next // BEATS + 2) * BEATS + (13 if kind == "false" else 0)
            getattr(lane, kind).add(wrong)
            await bench.cycles(ctx, 4 * BEATS)
            assert wrong - 1 in bench.given and wrong not in bench.given
        await bench.until_aligned(ctx, 6)
        assert bench.given.count(None) >= lanes

    bench.run(testbench)


@pytest.mark.req("PHY-051", "PHY-055")
@pytest.mark.parametrize("lanes, late", [(2, False), (4, True)])
def test_after_a_hole_in_a_lane_nothing_is_mixed(lanes, late):
    """A lane loses its shares up to a marker, from each place in an interval on, the marker itself among them."""
    bench = Bench(lanes, spread(lanes, MAX_SKEW))

    async def testbench(ctx):
        await bench.until_aligned(ctx, 3)
        for place in PLACES[lanes]:
            lane = bench.lane[-1 if late else 0]
            hole = (lane.next // BEATS + 1) * BEATS + place
            lane.holes.add(hole)
            while ctx.get(bench.dut.aligned):
                await bench.cycles(ctx, 1)
                assert lane.next < hole + 3 * BEATS
            assert hole - 1 in bench.given and hole not in bench.given
            await bench.until_aligned(ctx, 8)
            await bench.cycles(ctx, 4)

    bench.run(testbench)


@pytest.mark.req("PHY-055")
@pytest.mark.parametrize("lanes", [2, 4])
def test_a_lane_that_stops_is_not_waited_for_longer_than_the_limit(lanes):
    """Its clock is gone and its lock says nothing: alignment is lost, and comes again with it."""
    bench = Bench(lanes, spread(lanes, MAX_SKEW))

    async def testbench(ctx):
        for place in range(0, BEATS, 8):
            await bench.until_aligned(ctx, 8)
            await bench.cycles(ctx, 4 + place)
            lane = bench.lane[-1]
            lane.stopped = True
            await bench.cycles(ctx, int((2 * bench.patience + 6) / BUSY))
            assert not ctx.get(bench.dut.aligned)
            await bench.cycles(ctx, BEATS)
            assert not ctx.get(bench.dut.aligned)
            lane.stopped = False

    bench.run(testbench)
