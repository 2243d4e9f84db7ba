"""One pool of data buffers for both classes: order, bursts without a gap, every buffer used, several contexts."""

import random
from itertools import product

import pytest
from amaranth.hdl import EnableInserter, Module, Signal
from amaranth.sim import Simulator

from ualink.config import Credits, TLConfig
from ualink.lib.interleave import Interleaver
from ualink.tl.credit.shared_data_buffer import SharedDataBuffer

KINDS = ("request", "response")
HALVES = ("low", "high")
CONFIG = TLConfig(req_data=Credits(pool=4), rsp_data=Credits(pool=5, vc=(0, 0, 2, 0)), shared_data_buffer=True)
DEPTH = 11


def half_flits(rng, transfers):
    """Half-flits of random transfers in the order of the link, and the beats of each kind."""
    stream, beats = [], {kind: [] for kind in KINDS}
    for _ in range(transfers):
        kind = rng.choice(KINDS)
        length = rng.randint(1, 4)
        for n in range(length):
            halves = [(rng.getrandbits(256), rng.random() < 0.1) for _ in HALVES]
            stream.append((kind, "low", halves[0], n == 0 and length, False))
            stream.append((kind, "high", halves[1], 0, n == length - 1))
            beats[kind].append(halves)
    return stream, beats


class Driver:
    """Sends the half-flits and takes the beats of one buffer; ``limits`` bounds the buffers of each kind."""

    def __init__(self, dut, seed, *, transfers=60, density=0.8, ready=(0.7, 0.7), limits=(DEPTH, DEPTH)):
        self.rng = random.Random(seed)
        self.dut, self.density, self.ready, self.limits = dut, density, dict(zip(KINDS, ready)), limits
        self.waiting, self.beats = half_flits(self.rng, transfers)
        self.held = dict.fromkeys(KINDS, 0)  # credits that the partner has spent
        self.written = {kind: [] for kind in KINDS}  # cycle of the last half of each beat
        self.taken = dict.fromkeys(KINDS, 0)
        self.complete = {}
        self.most = 0

    def may_send(self):
        """The partner needs credits for all of a transfer with its first half-flit."""
        kind, _, _, length, _ = self.waiting[0]
        free = self.held[kind] + length <= self.limits[KINDS.index(kind)]
        return free and sum(self.held.values()) + length <= DEPTH

    def drive(self, ctx, cycle):
        """Set the inputs of one cycle, check the outputs."""
        dut, rng = self.dut, self.rng
        for kind in KINDS:
            for half in HALVES:
                ctx.set(getattr(getattr(dut.halves, kind), half).valid, 0)
            ctx.set(getattr(dut.halves, kind).done, 0)
            assert ctx.get(getattr(dut.beats, kind).complete) == self.complete.get((kind, cycle), 0)
        for _ in range(2):
            if not self.waiting or rng.random() >= self.density or not self.may_send():
                break
            kind, half, (value, poison), length, last = self.waiting.pop(0)
            self.held[kind] += length
            self.most = max(self.most, sum(self.held.values()))
            stream = getattr(getattr(dut.halves, kind), half)
            assert ctx.get(stream.ready)
            ctx.set(stream.payload, {"data": value, "poison": poison})
            ctx.set(stream.valid, 1)
            if half == "high":
                self.written[kind].append(cycle)
            if last:
                ctx.set(getattr(dut.halves, kind).done, 1)
                self.complete[kind, cycle + 1] = 1
        for kind in KINDS:
            self.take(ctx, kind, cycle)

    def take(self, ctx, kind, cycle):
        beats = getattr(self.dut.beats, kind)
        beat = beats.beat
        n = self.taken[kind]
        # Offered from the second cycle after the last half on, without a gap after the beat before.
        due = n < len(self.written[kind]) and self.written[kind][n] <= cycle - 2
        assert ctx.get(beat.valid) == due
        ready = self.rng.random() < self.ready[kind]
        ctx.set(beat.ready, ready)
        if due:
            (low, low_bad), (high, high_bad) = self.beats[kind][n]
            bad = low_bad or high_bad
            assert ctx.get(beat.payload.error) == bad
            assert ctx.get(beat.payload.data) == (0 if bad else low | high << 256)
            assert ctx.get(beats.half_poisoned) == (low_bad != high_bad)
            if ready:
                self.taken[kind] += 1
                self.held[kind] -= 1


def run(module, driver_of, cycles):
    simulator = Simulator(module)
    simulator.add_clock(1e-9)

    async def bench(ctx):
        for cycle in range(cycles):
            driver_of(ctx, cycle)
            await ctx.tick()

    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.req("TL-148", "TL-165", "TL-166")
@pytest.mark.parametrize(
    "ready, limits",
    [
        ((1.0, 1.0), (DEPTH, DEPTH)),
        ((0.4, 0.3), (DEPTH, DEPTH)),
        ((0.05, 0.9), (7, DEPTH)),  # Requests hardly move; Responses go on in what they leave
        ((0.9, 0.05), (DEPTH, 7)),
    ],
)
def test_beats_of_both_kinds_in_any_mix(ready, limits):
    """Any kind may fill any buffer, all of them; order, contents and poison are kept, bursts have no gap."""
    dut = SharedDataBuffer(CONFIG)
    assert dut.depth == DEPTH
    driver = Driver(dut, str((ready, limits)), density=1.0 if ready == (1.0, 1.0) else 0.8, ready=ready, limits=limits)
    run(dut, driver.drive, 1200 if min(ready) > 0.1 else 2500)
    assert not driver.waiting and driver.taken == {kind: len(driver.beats[kind]) for kind in KINDS}
    if min(ready) < 1.0:
        assert driver.most == DEPTH


@pytest.mark.req("TL-165", "TL-166")
@pytest.mark.parametrize("only", KINDS)
def test_one_kind_may_have_all_buffers(only):
    dut = SharedDataBuffer(CONFIG)

    async def bench(ctx):
        low, high = getattr(dut.halves, only).low, getattr(dut.halves, only).high
        beat = getattr(dut.beats, only).beat
        for first in (1, 100):
            for n in range(DEPTH):
                assert ctx.get(low.ready) and ctx.get(high.ready)
                for half in (low, high):
                    ctx.set(half.valid, 1)
                    ctx.set(half.payload.data, first + n)
                await ctx.tick()
            ctx.set(low.valid, 0)
            ctx.set(high.valid, 0)
            for kind, half in product(KINDS, HALVES):
                assert not ctx.get(getattr(getattr(dut.halves, kind), half).ready)  # not one more for either kind
            await ctx.tick()
            ctx.set(beat.ready, 1)
            for n in range(DEPTH):
                assert ctx.get(beat.valid) and ctx.get(beat.payload.data) == (first + n) * ((1 << 256) + 1)
                await ctx.tick()
            ctx.set(beat.ready, 0)
            assert not ctx.get(beat.valid)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("contexts", [2, 4])
def test_contexts_share_the_logic(contexts):
    """Run by the Interleaver, each context has a buffer of its own, with the timing of one that stands alone."""
    m = Module()
    turn = Signal(range(contexts))
    m.d.sync += turn.eq(turn + 1)
    shared = SharedDataBuffer(CONFIG)
    m.submodules.shared = Interleaver(contexts, turn)(shared)
    drivers = [Driver(shared, n, transfers=25) for n in range(contexts)]

    def step(ctx, cycle):
        drivers[cycle % contexts].drive(ctx, cycle // contexts)

    run(m, step, 400 * contexts)
    for driver in drivers:
        assert not driver.waiting and driver.taken == {kind: len(driver.beats[kind]) for kind in KINDS}


def test_it_stands_still_without_its_clock_enable():
    m = Module()
    enable = Signal()
    dut = SharedDataBuffer(CONFIG)
    m.submodules.dut = EnableInserter(enable)(dut)
    driver = Driver(dut, 5, transfers=20)
    steps = 0

    def step(ctx, cycle):
        nonlocal steps
        ctx.set(enable, cycle % 3 == 1)
        if cycle % 3 == 1:
            driver.drive(ctx, steps)
            steps += 1

    run(m, step, 900)
    assert not driver.waiting and driver.taken == {kind: len(driver.beats[kind]) for kind in KINDS}
