"""Beats of the data link as words of fewer than eight blocks, and words as beats."""

import itertools
import random

import pytest
from amaranth.sim import Simulator

from ualink.config import ConfigError, PhyConfig
from ualink.phy.beat_joiner import BeatJoiner
from ualink.phy.beat_splitter import BeatSplitter
from ualink.phy.interface import SlotStatus, TxKind
from ualink.phy.reconciliation import Reconciliation

SIZES = pytest.mark.parametrize("size", [1, 2, 4])


def run(dut, *testbenches):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.run()


@SIZES
@pytest.mark.parametrize("patience, diligence", [(1.0, 1.0), (0.6, 1.0), (1.0, 0.5), (0.7, 0.7)])
def test_a_beat_is_its_words_one_after_the_other(size, patience, diligence):
    """With a data link that always has a beat and a PCS that always has room, without a pause."""
    rng, parts = random.Random(size), 8 // size
    dut = BeatSplitter(size)
    beats = [(rng.getrandbits(512), n % 10 == 0, n % 10 == 9, rng.choice(list(TxKind))) for n in range(60)]
    expected = [
        (data >> 64 * size * k & (1 << 64 * size) - 1, first and k == 0, last and k == parts - 1, kind)
        for data, first, last, kind in beats
        for k in range(parts)
    ]
    got, taken, came = [], [], []

    async def testbench(ctx):
        waiting, cycle, offered = list(beats), 0, False
        while len(got) < len(expected):
            offered = offered or (bool(waiting) and rng.random() < diligence)
            ctx.set(dut.beat.valid, offered)
            if offered:
                for name, value in zip(("data", "first", "last", "kind"), waiting[0]):
                    ctx.set(getattr(dut.beat.p, name), value)
            ready = rng.random() < patience
            ctx.set(dut.word.ready, ready)
            word = dut.word.p
            if ctx.get(dut.word.valid) and ready:
                got.append((ctx.get(word.data), ctx.get(word.first), ctx.get(word.last), ctx.get(word.kind)))
                came.append(cycle)
            if offered and ctx.get(dut.beat.ready):
                waiting.pop(0)
                taken.append(cycle)
                offered = False
            await ctx.tick()
            cycle += 1

    run(dut, testbench)
    assert got == expected
    assert min(after - before for before, after in itertools.pairwise(taken)) >= parts
    if patience == diligence == 1:
        assert came == list(range(1, len(expected) + 1))


@SIZES
@pytest.mark.parametrize("gaps", [0, 0.3])
def test_words_are_beats_from_each_first_on(size, gaps):
    """Slots that are whole, slots in whose place another begins after any word, and words that are a slot alone."""
    rng, parts = random.Random(size), 8 // size
    dut = BeatJoiner(size)
    words, expected = [], []
    for number in range(60):
        if number % 5 == 4:
            words.append((0, 1, 1, SlotStatus.CONTROL))
            expected.append((None, 1, 1, SlotStatus.CONTROL))
            continue
        status = rng.choice((SlotStatus.GOOD, SlotStatus.BAD))
        count = 10 * parts if number % 5 in (1, 3) else 1 + number % (10 * parts)
        slot = [rng.getrandbits(64 * size) for _ in range(count)]
        words += [(word, n == 0, n == 10 * parts - 1, status) for n, word in enumerate(slot)]
        for beat in range(count // parts):
            data = sum(word << 64 * size * k for k, word in enumerate(slot[parts * beat : parts * (beat + 1)]))
            expected.append((data, beat == 0, beat == 9, status))
    got, came = [], []

    async def testbench(ctx):
        waiting, cycle = list(words), 0
        while waiting or cycle < len(words):
            valid = bool(waiting) and rng.random() >= gaps
            ctx.set(dut.word.valid, valid)
            if valid:
                for name, value in zip(("data", "first", "last", "status"), waiting.pop(0)):
                    ctx.set(getattr(dut.word.p, name), value)
            await ctx.tick()
            cycle += 1
            if ctx.get(dut.beat.valid):
                beat = dut.beat.p
                alone = ctx.get(beat.first) and ctx.get(beat.last)
                got.append((None if alone else ctx.get(beat.data), ctx.get(beat.first), ctx.get(beat.last)))
                got[-1] += (SlotStatus(ctx.get(beat.status)),)
                came.append((cycle, alone))

    run(dut, testbench)
    assert got == expected
    distances = [after - before for (before, _), (after, alone) in itertools.pairwise(came) if not alone]
    assert min(distances) == parts


def test_refuses():
    with pytest.raises(ConfigError, match=r"phy\.blocks_per_word is 3; it must be one of 1, 2, 4, 8"):
        PhyConfig(blocks_per_word=3)
    with pytest.raises(ConfigError, match=r"phy\.blocks_per_word is 2 for 2 ports; one alone may have fewer than 8"):
        Reconciliation(PhyConfig(blocks_per_word=2), 2)
