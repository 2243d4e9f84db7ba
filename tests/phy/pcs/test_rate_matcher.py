"""Rate matching between two clocks, judged by the executable model."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.phy.blocks import (
    ALIGNMENT_BLOCK,
    ERROR_BLOCK,
    IDLE_BLOCK,
    LOCAL_FAULT_BLOCK,
    REMOTE_FAULT_BLOCK,
    START_BLOCK,
)
from ualink.phy.pcs.rate_matcher import RateMatcher
from ualink_sim.model.phy.rate_matching import changes

FLIT = 80


def data_flit(rng):
    return [0b10 | rng.getrandbits(64) << 2 for _ in range(FLIT)]


def traffic(rng, slots):
    """Flits in slots, with AM, Idle and fault flits between them."""
    blocks = []
    for slot in range(slots):
        choice = rng.random()
        if slot % 12 == 0:
            blocks += [ALIGNMENT_BLOCK] * 16 + [rng.choice((IDLE_BLOCK, REMOTE_FAULT_BLOCK))] * 64
        elif choice < 0.15:
            blocks += [IDLE_BLOCK] * FLIT
        elif choice < 0.25:
            blocks += [rng.choice((LOCAL_FAULT_BLOCK, REMOTE_FAULT_BLOCK))] * FLIT
        else:
            blocks += data_flit(rng)
    return blocks


def matched(blocks, given, *, faster=0, depth=64, gaps=0.0, rng=None):
    """What the matcher makes of a list of words, and its two errors; the writer is ``faster`` by so many ppm."""
    width = 66 * blocks
    dut = RateMatcher(blocks=blocks, depth=depth)
    taken = []

    def number(word):
        return sum(block << 66 * n for n, block in enumerate(word))

    async def write(ctx):
        for word in given:
            while rng and rng.random() < gaps:
                ctx.set(dut.input_valid, 0)
                await ctx.tick("write")
            ctx.set(dut.input, number(word))
            ctx.set(dut.input_valid, 1)
            await ctx.tick("write")
        ctx.set(dut.input_valid, 0)

    async def read(ctx):
        for _ in range(int(len(given) / (1 + faster / 1e6) / (1 - gaps))):
            await ctx.tick("read")
            word = ctx.get(dut.output)
            taken.append(tuple(word >> at & (1 << 66) - 1 for at in range(0, width, 66)))
        taken.append((ctx.get(dut.full), ctx.get(dut.empty)))

    m = Module()
    m.submodules.dut = dut
    simulator = Simulator(m)
    simulator.add_clock(1e-6 / (1 + faster / 1e6), domain="write")
    simulator.add_clock(1e-6, domain="read", phase=0.37e-6)
    simulator.add_testbench(write)
    simulator.add_testbench(read)
    simulator.run()
    return taken[:-1], taken[-1]


def in_words(stream, blocks):
    return [tuple(stream[at : at + blocks]) for at in range(0, len(stream), blocks)]


def in_blocks(words):
    return [(block,) for word in words for block in word]


@pytest.mark.req("PHY-061", "PHY-062", "PHY-063", "PHY-064", "PHY-065", "PHY-109", "PHY-111")
@pytest.mark.parametrize("faster", [-4000, 4000, -200, 200])
@pytest.mark.parametrize("blocks, offset", [(1, 0), (4, 0), (8, 0), (8, 3)])
def test_only_what_may_go_goes_and_only_idle_comes(blocks, offset, faster):
    """Flits begin at any block of eight, as behind a retimer that has left out idles."""
    rng = random.Random(blocks * faster)
    stream = [IDLE_BLOCK] * offset + traffic(rng, 40 if abs(faster) > 200 else 14)
    given = in_words(stream + [IDLE_BLOCK] * (-len(stream) % 8), blocks)
    taken, errors = matched(blocks, given, faster=faster)
    made = changes(in_blocks(given), in_blocks(taken)) if blocks == 8 else changes(given, taken)
    unit = blocks if blocks == 8 else 1
    assert errors == (0, 0)
    begun = next(n for n, word in enumerate(taken) if word != (IDLE_BLOCK,) * blocks)
    drift = len(given) * faster / 1e6
    gone = (made["idle deleted"] + made["ordered set deleted"]) // unit
    come = made["idle inserted"] // unit
    # What stays within the band of the buffer is not made good. An Idle amid ordered sets may be told in two ways.
    assert abs(gone - (come - begun) - drift) <= 8
    if abs(drift) > 8:
        assert (gone if drift > 0 else come - begun) > 0
    # Nothing was left over but what the buffer holds.
    assert len(taken) - come + gone > len(given) - 64


@pytest.mark.parametrize("faster", [-20_000, 20_000])
@pytest.mark.parametrize("blocks, depth", [(1, 64), (8, 16)])
def test_the_drift_between_two_idle_flits_fits(blocks, depth, faster):
    """200 ppm of 1,024 slots are 17 blocks, here within so many less, from where the buffer was left by the last."""
    slots = 1024 * 200 // abs(faster)
    whole = [ALIGNMENT_BLOCK] * FLIT * slots
    settled = [IDLE_BLOCK] * FLIT * 10
    taken, errors = matched(blocks, in_words(settled + whole + settled, blocks), faster=faster, depth=depth)
    assert errors == (0, 0)
    blocks_taken = [block for word in taken for block in word]
    at = blocks_taken.index(ALIGNMENT_BLOCK)
    assert blocks_taken[at : at + len(whole)] == whole


@pytest.mark.parametrize("blocks, depth", [(1, 64), (4, 64), (8, 16)])
def test_latency(blocks, depth):
    """A word stays for half the depth and a cycle."""
    given = [(IDLE_BLOCK,) * blocks] * 2 * depth + [(START_BLOCK,) * blocks] * depth
    taken, errors = matched(blocks, given, depth=depth)
    assert errors == (0, 0)
    assert taken.index((START_BLOCK,) * blocks) - 2 * depth == depth // 2 + 1


@pytest.mark.req("PHY-063", "PHY-064")
@pytest.mark.parametrize("blocks", [1, 8])
def test_idles_come_between_flits_without_any(blocks):
    given = in_words([IDLE_BLOCK] * 40 * blocks + data_flit(random.Random(6)) * 8 * blocks, blocks)
    taken, errors = matched(blocks, given, faster=-30_000, depth=64 if blocks == 1 else 16)
    assert errors == (0, 0)
    begun = next(n for n, word in enumerate(taken) if word != (IDLE_BLOCK,) * blocks)
    flits = in_blocks(taken[begun:])
    assert changes(in_blocks(given), in_blocks(taken)) and flits.count((IDLE_BLOCK,)) > 4 * blocks


@pytest.mark.req("PHY-061", "PHY-065")
@pytest.mark.parametrize("blocks", [1, 8])
def test_of_a_slot_with_a_bad_header_nothing_goes(blocks):
    """Its eighty blocks are counted from there on, whatever they look like (rulings P-04, R7-04)."""
    rng = random.Random(5)
    damaged = data_flit(rng)
    damaged[17] |= 3
    damaged[24:64] = [IDLE_BLOCK] * 16 + [REMOTE_FAULT_BLOCK] * 24
    settled, slots = [IDLE_BLOCK] * 120 * blocks, (damaged + data_flit(rng)) * 4
    # The buffer is filled from the first slot on.
    taken, errors = matched(blocks, in_words(settled + slots + settled, blocks), faster=30_000, depth=128 // blocks)
    assert errors == (0, 0)
    assert (IDLE_BLOCK,) * blocks in in_words(damaged, blocks)
    at = taken.index(tuple(slots[:blocks]))
    assert taken[at : at + len(slots) // blocks] == in_words(slots, blocks)


@pytest.mark.req("PHY-062", "PHY-111")
def test_of_equal_ordered_sets_every_other_one_goes_at_most():
    """The writer gives two and a half times what is read, so all that may go goes; a single ordered set may not."""
    start = [START_BLOCK] * 8
    given = in_words(start + [LOCAL_FAULT_BLOCK] * 200 + start + [IDLE_BLOCK] * 240, 1)
    taken, errors = matched(1, given, faster=1_500_000)
    assert errors == (0, 0)
    assert 80 < changes(given, taken)["ordered set deleted"] <= 100
    assert 100 <= taken.count((LOCAL_FAULT_BLOCK,)) < 120
    given = in_words(start + [IDLE_BLOCK, REMOTE_FAULT_BLOCK, LOCAL_FAULT_BLOCK] * 200, 1)
    taken, errors = matched(1, given, faster=250_000)
    assert errors == (0, 0)
    made = changes(given, taken)
    assert made["ordered set deleted"] == 0 and made["idle deleted"] > 40


@pytest.mark.req("PHY-064")
def test_a_stream_that_stops_inside_of_a_flit_is_told():
    """Far too slow a writer: /E/ takes the place of a block, and says so; nothing wrong looks like Idle."""
    rng = random.Random(3)
    given = in_words([IDLE_BLOCK] * 40 + data_flit(rng) * 8, 1)
    taken, errors = matched(1, given, gaps=0.6, rng=rng)
    assert errors == (0, 1)
    assert (ERROR_BLOCK,) in taken
    first_error = taken.index((ERROR_BLOCK,))
    changes(given, taken[:first_error])


@pytest.mark.req("PHY-065")
def test_a_stream_without_a_place_to_delete_is_told():
    given = in_words([IDLE_BLOCK] * 40 + data_flit(random.Random(4)) * 20, 1)
    _, errors = matched(1, given, faster=100_000)
    assert errors == (1, 0)


@pytest.mark.req("PHY-111")
def test_start_and_alignment_blocks_stay_whole():
    given = in_words(([START_BLOCK] * 8 + [ALIGNMENT_BLOCK] * 16 + [IDLE_BLOCK] * 8) * 40, 1)
    for faster in (-100_000, 100_000):
        taken, errors = matched(1, given, faster=faster)
        changes(given, taken)
        runs = [word for word in taken if word != (IDLE_BLOCK,)]
        assert runs == [word for word in given if word != (IDLE_BLOCK,)][: len(runs)]
        assert errors == (0, 0)
        text = "".join("S" if word == (START_BLOCK,) else "A" if word == (ALIGNMENT_BLOCK,) else "i" for word in taken)
        assert "S" * 8 + "A" * 16 in text and "SiA" not in text and "AiA" not in text


def test_refuses():
    with pytest.raises(ConfigError, match="blocks is 2; it must be 1, 4 or 8"):
        RateMatcher(blocks=2)
    with pytest.raises(ConfigError, match="depth is 48"):
        RateMatcher(depth=48)
