"""The behavioural SERDES: bits keep their order at any phase, clock, skew and polarity; errors, cuts and loopbacks."""

import pytest
from amaranth.hdl import ClockDomain, DomainRenamer, Module, Signal
from amaranth.sim import Simulator

from ualink.phy.prbs import PRBSChecker, PRBSGenerator
from ualink.phy.serdes.interface import Loopback
from ualink_sim.serdes_cable import LOCK_WORDS, LOSS_WORDS, SerdesCable

WIDTH = 10
PERIOD = 1e-6


ORDERS = {"a": 15, "b": 23}


class Pair:
    """A generator at both ends of a cable with one lane, and checkers for the sequences of both at each end."""

    def __init__(self):
        self.cable = SerdesCable(1, WIDTH)
        self.module = m = Module()
        m.submodules.cable = self.cable
        m.domains += [ClockDomain("a_rx0"), ClockDomain("b_rx0")]
        self.checkers = {}
        for end in ("a", "b"):
            lane = getattr(self.cable, end)[0]
            generator = DomainRenamer(f"{end}_tx0")(PRBSGenerator(ORDERS[end], WIDTH))
            m.submodules[f"{end}_generator"] = generator
            m.d.comb += lane.tx_data.eq(generator.data)
            for heard in ("a", "b"):
                checker = DomainRenamer(f"{end}_rx0")(PRBSChecker(ORDERS[heard], WIDTH))
                m.submodules[f"{end}_hears_{heard}"] = self.checkers[end, heard] = checker
                m.d.comb += checker.data.eq(lane.rx_data)

    def run(self, bench, *, ppm: float = 0):
        simulator = Simulator(self.module)
        simulator.add_clock(PERIOD, domain="a_tx0")
        simulator.add_clock(PERIOD * (1 + ppm * 1e-6), domain="b_tx0", phase=0.3 * PERIOD)
        simulator.add_clock(1.7 * PERIOD, domain="a_sync")
        simulator.add_clock(1.9 * PERIOD, domain="b_sync")

        simulator.add_testbench(bench)
        simulator.run()

    async def words(self, ctx, count: int):
        await ctx.tick("a_tx0").repeat(count)

    def state(self, ctx, end: str, heard: str = ""):
        """Is the sequence of the partner, or of ``heard``, followed, and with how many errors."""
        checker = self.checkers[end, heard or {"a": "b", "b": "a"}[end]]
        return ctx.get(checker.locked), ctx.get(checker.errors)


@pytest.mark.parametrize(("ppm", "skew"), ((-100, 13), (0, 0), (100, 4 * WIDTH)))
def test_sequences_arrive_without_error(ppm, skew):
    pair = Pair()

    async def bench(ctx):
        ctx.set(pair.cable.to_b[0].skew, skew)
        await pair.words(ctx, LOCK_WORDS + 100)
        assert [pair.state(ctx, end) for end in ("a", "b")] == [(1, 0), (1, 0)]
        await pair.words(ctx, 300)
        assert [pair.state(ctx, end) for end in ("a", "b")] == [(1, 0), (1, 0)]

    pair.run(bench, ppm=ppm)


def test_receivers_clock_is_that_of_the_transmitter_it_hears():
    pair = Pair()
    words = Signal(32)
    pair.module.d["a_rx0"] += words.eq(words + 1)

    async def bench(ctx):
        await pair.words(ctx, 2 * LOCK_WORDS)
        before = ctx.get(words)
        await pair.words(ctx, 1000)
        # 5 % faster than its own.
        assert 1045 <= ctx.get(words) - before <= 1060

    pair.run(bench, ppm=-50_000)


def test_each_flipped_bit_is_one_error():
    pair = Pair()

    async def bench(ctx):
        await pair.words(ctx, LOCK_WORDS + 100)
        ctx.set(pair.cable.to_b[0].flip, 0b1001)
        await pair.words(ctx, 1)
        ctx.set(pair.cable.to_b[0].flip, 0)
        await pair.words(ctx, 20)
        assert [pair.state(ctx, end) for end in ("a", "b")] == [(1, 0), (1, 2)]

    pair.run(bench)


def test_error_rate():
    pair = Pair()

    async def bench(ctx):
        await pair.words(ctx, LOCK_WORDS + 100)
        ctx.set(pair.cable.to_a[0].errors, (1 << 32) // 50)
        await pair.words(ctx, 1500)
        locked, errors = pair.state(ctx, "a")
        assert locked and 12 <= errors <= 60
        assert pair.state(ctx, "b") == (1, 0)

    pair.run(bench)


def test_cut_and_plugged_in_again():
    pair = Pair()
    lane = pair.cable.b[0]

    async def bench(ctx):
        await pair.words(ctx, LOCK_WORDS + 100)
        ctx.set(pair.cable.to_b[0].cut, 1)
        await pair.words(ctx, LOSS_WORDS + 10)
        assert not ctx.get(lane.rx_ready) and ctx.get(pair.cable.a[0].rx_ready)
        assert not ctx.get(pair.cable.b_status[0].signal)
        ctx.set(pair.cable.to_b[0].cut, 0)
        await pair.words(ctx, LOCK_WORDS + 100)
        assert ctx.get(lane.rx_ready) and pair.state(ctx, "b") == (1, 0)

    pair.run(bench)


def test_inverted_pair_needs_the_setting():
    pair = Pair()
    lane = pair.cable.b[0]

    async def bench(ctx):
        ctx.set(pair.cable.a[0].tx_invert, 1)
        await pair.words(ctx, LOCK_WORDS + 200)
        assert not pair.state(ctx, "b")[0]
        ctx.set(lane.rx_invert, 1)
        await pair.words(ctx, 100)
        assert pair.state(ctx, "b")[0]

    pair.run(bench)


@pytest.mark.parametrize(("who", "loopback"), (("a", Loopback.NEAR_END), ("b", Loopback.FAR_END)))
def test_loopback_lets_a_hear_itself(who, loopback):
    pair = Pair()

    async def bench(ctx):
        ctx.set(getattr(pair.cable, who)[0].loopback, loopback)
        # Only a loopback at the near end does without the cable.
        ctx.set(pair.cable.to_a[0].cut, who == "a")
        await pair.words(ctx, LOCK_WORDS + 100)
        assert pair.state(ctx, "a", heard="a") == (1, 0)
        assert not pair.state(ctx, "a")[0]

    pair.run(bench, ppm=100)


def test_a_loopback_plug_lets_a_hear_itself():
    pair = Pair()

    async def bench(ctx):
        ctx.set(pair.cable.to_a[0].plug, 1)
        await pair.words(ctx, LOCK_WORDS + 100)
        assert pair.state(ctx, "a", heard="a") == (1, 0)
        assert not pair.state(ctx, "a")[0] and pair.state(ctx, "b") == (1, 0)

    pair.run(bench, ppm=100)


def test_words_on_the_wires_are_shown_before_and_behind_the_cable():
    pair = Pair()
    cable, flips = pair.cable, 0b1000000001

    async def bench(ctx):
        ctx.set(cable.a[0].tx_invert, 1)
        ctx.set(cable.to_b[0].flip, flips)
        for _ in range(40):
            await pair.words(ctx, 1)
            before = ctx.get(cable.a[0].tx_data)
            await ctx.delay(0.6 * PERIOD)
            # On the falling edge of the clock the word is on the wires.
            assert ctx.get(cable.sent_a[0]) == before ^ (1 << WIDTH) - 1
            assert ctx.get(cable.heard_b[0]) == ctx.get(cable.sent_a[0]) ^ flips

    pair.run(bench)
