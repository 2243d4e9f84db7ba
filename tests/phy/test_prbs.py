"""PRBS generator and checker against the sequences of O.150."""

import itertools
import random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.phy.prbs import LOCK_WORDS, LOSS_WINDOW, LOSS_WORDS, PRBS_TAPS, PRBSChecker, PRBSGenerator
from ualink_sim.model.phy.prbs import Follower, sequence


def run(component, testbench):
    m = Module()
    m.submodules.dut = component
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def words(order, width, count):
    bits = list(itertools.islice(sequence(order), width * count))
    return [sum(bit << n for n, bit in enumerate(bits[at : at + width])) for at in range(0, len(bits), width)]


@pytest.mark.parametrize("order, period", [(7, 127), (9, 511), (15, 32767)])
def test_the_model_has_the_period_of_its_order(order, period):
    bits = list(itertools.islice(sequence(order), 2 * period))
    assert bits[:period] == bits[period:]
    assert sum(bits[:period]) == (period + 1) // 2
    # Each pattern of ``order`` bits but zero comes once.
    assert len({tuple(bits[n : n + order]) for n in range(period)}) == period


@pytest.mark.parametrize("order", sorted(PRBS_TAPS))
@pytest.mark.parametrize("width", [10, 20, 64])
def test_generator(order, width):
    expected = words(order, width, 40)

    async def testbench(ctx):
        sent = []
        for n in range(40):
            ctx.set(dut.enable, 0)
            for _ in range(n % 3):
                await ctx.tick()
            ctx.set(dut.enable, 1)
            ctx.set(dut.inject, n == 7)
            await ctx.tick()
            sent.append(ctx.get(dut.data))
        assert [a ^ b for a, b in zip(sent, expected)] == [int(n == 7) for n in range(40)]

    dut = PRBSGenerator(order, width)
    run(dut, testbench)


async def feed(ctx, dut, data):
    for word in data:
        ctx.set(dut.data, word)
        await ctx.tick()


def lock_words(order, width):
    return max(LOCK_WORDS, -(-2 * order // width)) + -(-order // width) + 1


@pytest.mark.parametrize("order", sorted(PRBS_TAPS))
@pytest.mark.parametrize("width", [10, 20, 64])
def test_checker_locks_and_counts_each_wrong_bit_once(order, width):
    rng = random.Random(order * width)

    async def testbench(ctx):
        data = words(order, width, 300)[rng.randrange(50) :]
        before = lock_words(order, width)
        await feed(ctx, dut, data[: LOCK_WORDS - 1])
        assert ctx.get(dut.locked) == 0
        await feed(ctx, dut, data[LOCK_WORDS - 1 : before + 1])
        assert ctx.get(dut.locked) == 1
        flips = 0
        for n in range(before + 1, len(data)):
            if rng.random() < 0.2:
                error = rng.getrandbits(width) | 1
                data[n] ^= error
                flips += error.bit_count()
        await feed(ctx, dut, data[before + 1 :])
        ctx.set(dut.enable, 0)
        await ctx.tick().repeat(2)
        assert (ctx.get(dut.locked), ctx.get(dut.lost), ctx.get(dut.zeros)) == (1, 0, 0)
        assert ctx.get(dut.errors) == flips > 0
        assert LOCK_WORDS <= len(data) - ctx.get(dut.words) <= before + 1
        ctx.set(dut.clear, 1)
        await ctx.tick()
        assert ctx.get(dut.errors) == ctx.get(dut.words) == 0

    dut = PRBSChecker(order, width)
    run(dut, testbench)


@pytest.mark.parametrize("order", sorted(PRBS_TAPS))
def test_a_slip_loses_the_lock_and_finds_it_again(order):
    width = 20

    async def testbench(ctx):
        bits = list(itertools.islice(sequence(order), width * 300))
        del bits[width * 60 + 3]
        data = [
            sum(bit << n for n, bit in enumerate(bits[at : at + width])) for at in range(0, len(bits) - width, width)
        ]
        await feed(ctx, dut, data[:60])
        assert ctx.get(dut.locked) == 1
        await feed(ctx, dut, data[60 : 60 + LOSS_WORDS - 1])
        assert (ctx.get(dut.locked), ctx.get(dut.lost)) == (1, 0)
        lost_at = 60 + LOSS_WINDOW + LOSS_WORDS
        await feed(ctx, dut, data[60 + LOSS_WORDS - 1 : lost_at])
        assert ctx.get(dut.lost) == 1
        errors = ctx.get(dut.errors)
        assert errors > LOSS_WORDS
        await feed(ctx, dut, data[lost_at:])
        assert ctx.get(dut.locked) == 1 and ctx.get(dut.errors) == errors

    dut = PRBSChecker(order, width)
    run(dut, testbench)


@pytest.mark.parametrize("line", [0, (1 << 20) - 1, 0x55555])
def test_a_dead_line_never_locks(line):
    async def testbench(ctx):
        for dead in (False, True):
            if dead:
                # A line that dies while the checker is locked.
                await feed(ctx, dut, words(31, 20, 60))
                assert ctx.get(dut.locked) == 1
                assert ctx.get(dut.zeros) == 0
            await feed(ctx, dut, [line] * 150)
            assert ctx.get(dut.locked) == 0
            assert ctx.get(dut.lost) == dead
            assert ctx.get(dut.zeros) == (line == 0)

    dut = PRBSChecker(31, 20)
    run(dut, testbench)


def harmed(rng, order, width, count):
    """Words of a sequence with what happens on a line: wrong bits, slips, silence."""
    line = sequence(order)
    while count > 0:
        kind = rng.choice(("good", "good", "errors", "noise", "zeros", "slip"))
        length = min(rng.randrange(20, 120), count)
        count -= length
        if kind == "slip":
            for _ in range(rng.randrange(1, width)):
                next(line)
        for _ in range(length):
            word = sum(next(line) << n for n in range(width))
            if kind == "errors" and rng.random() < 0.4:
                word ^= rng.getrandbits(width)
            elif kind == "noise":
                word = rng.getrandbits(width)
            elif kind == "zeros":
                word = 0
            yield word


@pytest.mark.parametrize("order, width", [(7, 10), (15, 20), (31, 40)])
def test_checker_is_the_model_one_cycle_later_and_its_counters_three(order, width):
    rng = random.Random(order)

    async def testbench(ctx):
        model = Follower(order, width)
        under_way = [(0, 0), (0, 0)]
        losses = 0
        for word in harmed(rng, order, width, 3000):
            enable, clear = rng.random() < 0.9, rng.random() < 0.01
            ctx.set(dut.data, word)
            ctx.set(dut.enable, enable)
            ctx.set(dut.clear, clear)
            await ctx.tick()
            was_locked = model.locked
            if enable:
                model.take(word)
            losses += was_locked and not model.locked
            if clear:
                model.clear()
                under_way = [(0, 0), (0, 0)]
            under_way.append((model.errors, model.words))
            assert (ctx.get(dut.locked), ctx.get(dut.lost)) == (model.locked, model.lost)
            assert (ctx.get(dut.errors), ctx.get(dut.words)) == under_way.pop(0)
        assert losses > 3

    dut = PRBSChecker(order, width)
    run(dut, testbench)


def test_no_word_after_the_one_that_loses_the_lock_is_counted():
    order, width = 31, 40

    async def testbench(ctx):
        data = words(order, width, 200)
        before = lock_words(order, width) + 1
        await feed(ctx, dut, data[:before])
        assert ctx.get(dut.locked) == 1
        # The lock is lost with the last of these; all that follows is wrong too.
        await feed(ctx, dut, [word ^ 7 for word in data[before : before + LOSS_WORDS]])
        assert (ctx.get(dut.locked), ctx.get(dut.lost)) == (0, 1)
        counted = []
        for word in data[before + LOSS_WORDS : before + LOSS_WORDS + 8]:
            await feed(ctx, dut, [word ^ 0xFF])
            counted.append(ctx.get(dut.errors))
        assert counted == [3 * LOSS_WORDS - 3, *[3 * LOSS_WORDS] * 7]

    dut = PRBSChecker(order, width)
    run(dut, testbench)


def test_the_counter_stays_at_its_end():
    async def testbench(ctx):
        data = words(7, 20, 200)
        await feed(ctx, dut, data[:40])
        await feed(ctx, dut, [word ^ (n % 4 == 0) * 0xFFFFF for n, word in enumerate(data[40:])])
        assert (ctx.get(dut.errors), ctx.get(dut.locked)) == (255, 1)

    dut = PRBSChecker(7, 20, counter_bits=8)
    run(dut, testbench)


@pytest.mark.parametrize(
    "order, width, message", [(8, 20, "order is 8"), (7, 0, "width is 0"), (7, True, "width is True")]
)
@pytest.mark.parametrize("component", [PRBSGenerator, PRBSChecker])
def test_refuses(component, order, width, message):
    with pytest.raises(ConfigError, match=message):
        component(order, width)
