"""Start detector, scrambler, markers, descrambler and error rate monitor in the core's clock, against the model."""

import itertools
import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from ualink.config import ConfigError, PhyConfig
from ualink.phy.pcs.alignment_overwrite import AlignmentOverwrite
from ualink.phy.pcs.ber_monitor import BER_LIMIT, BitErrorRateMonitor
from ualink.phy.pcs.config import PCSConfig
from ualink.phy.pcs.descrambler import Descrambler
from ualink.phy.pcs.lane_receive import LaneReceive
from ualink.phy.pcs.marker_overwrite import MarkerOverwrite
from ualink.phy.pcs.pcs import PCS
from ualink.phy.pcs.scrambler import Scrambler
from ualink.phy.pcs.start_detector import StartDetector
from ualink_sim.model.phy import pcs as model

IDLE, DATA, SLOT = 0x79, 0b10, 80


def traffic(rng, slots, every):
    """A slot in ``every`` is an Idle Start, the others are data."""
    blocks = []
    for slot in range(slots):
        if slot % every == every - 1:
            blocks += [model.START_BLOCK] * 8 + [IDLE] * 72
        else:
            blocks += [DATA | rng.getrandbits(64) << 2 for _ in range(SLOT)]
    return blocks


def simulate(parts, blocks, rng, beats=None, size=8):
    """What a chain of parts gives for blocks, as beats of ``size`` (blocks, codeword, marker); both sides with
    gaps."""
    m = Module()
    for before, after in itertools.pairwise(parts):
        wiring.connect(m, before.output, after.input)
    m.submodules += parts
    first, last = parts[0].input, parts[-1].output
    taken = []
    flexible = hasattr(first.ready, "name")

    async def send(ctx):
        for n in range(0, len(blocks), size):
            while rng.random() < 0.2:
                await ctx.tick()
            value = sum(block << 66 * k for k, block in enumerate(blocks[n : n + size]))
            if beats is not None:
                value |= beats[n // size] << 66 * size + 1
            ctx.set(first.p.as_value() if hasattr(first.p, "as_value") else first.p, value)
            ctx.set(first.valid, 1)
            await (ctx.tick().until(first.ready) if flexible else ctx.tick())
            ctx.set(first.valid, 0)
        for _ in range(12):
            await ctx.tick()

    async def take(ctx):
        while True:
            if flexible:
                ctx.set(last.ready, rng.random() < 0.8)
            payload, valid = ctx.get(last.p.as_value()), ctx.get(last.valid)
            if valid and (not flexible or ctx.get(last.ready)):
                found = [payload >> 66 * k & (1 << 66) - 1 for k in range(size)]
                taken.append((found, payload >> 66 * size & 1, payload >> 66 * size + 1 & 1))
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(send)
    simulator.add_testbench(take, background=True)
    simulator.run()
    return taken


def flat(beats):
    return [block for blocks, _, _ in beats for block in blocks]


@pytest.mark.req("PHY-072")
def test_the_vector_of_the_scrambler():
    """58 ones sent before, zeros in."""
    zeros = [DATA] * 8
    assert model.Scrambler().block(DATA) >> 2 == 0x03FFFF8000000000
    (beat,) = simulate([Scrambler(marker_blocks=16)], zeros, random.Random(1))
    assert beat[0][0] == DATA | 0x03FFFF8000000000 << 2


@pytest.mark.req("PHY-018", "PHY-031", "PHY-044", "PHY-045", "PHY-053", "PHY-054")
@pytest.mark.parametrize(
    "lanes, rate, words, size",
    [
        *((1, 100, 5, 8), (4, 100, 5, 8), (2, 200, 4, 8), (4, 800, 16, 8), (1, 400, 8, 8)),
        *((1, 100, 5, 1), (1, 200, 4, 2), (2, 100, 5, 2), (1, 100, 5, 4), (4, 800, 16, 4)),
    ],
)
def test_transmit_chain(lanes, rate, words, size):
    """``words`` of 257 bits, four blocks each, are a marker at that rate; ``size`` blocks come in a beat."""
    marker_blocks = PhyConfig(rate=rate).marker_blocks
    assert marker_blocks == 4 * words
    rng = random.Random(marker_blocks + lanes)
    # Two beats less at the start, so that the Start flit is at no multiple of ten beats.
    blocks = traffic(rng, 4, 2)[16:]
    framing = {"marker_blocks": marker_blocks, "blocks_per_word": size}
    chain = [StartDetector(size), Scrambler(**framing), MarkerOverwrite(lanes=lanes, **framing)]
    beats = simulate(chain, blocks, rng, size=size)
    carried = model.lane_blocks(blocks, lanes, marker_blocks)
    assert flat(beats) == [carried[n % lanes][n // lanes] for n in range(len(blocks))]
    starts = [n for n in range(0, len(blocks), 8) if blocks[n : n + 8] == [model.START_BLOCK] * 8]
    assert len(starts) == 2 and starts[0] % SLOT
    assert [n for n, (_, _, marker) in enumerate(beats) if marker] == [start // size for start in starts]
    codewords = list(range(starts[0] // size, len(blocks) // size, SLOT // size))
    assert [n for n, (_, codeword, _) in enumerate(beats) if codeword] == codewords


@pytest.mark.parametrize("size", [8, 4, 2, 1])
@pytest.mark.parametrize("marker_blocks", [16, pytest.param(20, marks=pytest.mark.req("PHY-072"))])
def test_the_first_blocks_of_a_start_flit_pass_the_scrambler_as_they_are(marker_blocks, size):
    rng = random.Random(marker_blocks)
    blocks = traffic(rng, 4, 2)
    chain = [StartDetector(size), Scrambler(marker_blocks=marker_blocks, blocks_per_word=size)]
    sent = flat(simulate(chain, blocks, rng, size=size))
    (carried,) = model.lane_blocks(blocks, 1, marker_blocks)
    for start in (80, 240):
        carried[start : start + marker_blocks] = blocks[start : start + marker_blocks]
    assert sent == carried


@pytest.mark.req("PHY-031", "PHY-054")
def test_only_eight_start_blocks_in_a_beat_are_a_start():
    """Seven of them, eight data blocks with the same octets, eight of AM; a Start in mid-slot begins a group."""
    start = [model.START_BLOCK] * 8
    blocks = start + [IDLE] * 8 + start[:7] + [IDLE] + [block ^ 3 for block in start] + [model.ALIGNMENT_BLOCK] * 8
    blocks += [IDLE] * 8 + start + [IDLE] * 8 * 12
    beats = simulate([StartDetector()], blocks, random.Random(2))
    assert flat(beats) == blocks
    assert [n for n, (_, _, marker) in enumerate(beats) if marker] == [0, 6]
    assert [n for n, (_, codeword, _) in enumerate(beats) if codeword] == [0, 6, 16]


@pytest.mark.req("PHY-031", "PHY-054")
@pytest.mark.parametrize("size", [4, 2, 1])
def test_the_first_of_some_start_blocks_are_a_start(size):
    """Of eight in a row, as the reconciliation sublayer has them; no data blocks and no AM; one in mid-slot too."""
    start = [model.START_BLOCK] * 8
    blocks = [block ^ 3 for block in start] + start + [IDLE] * 72 + [model.ALIGNMENT_BLOCK] * 8 + [IDLE] * 8
    blocks += start + [IDLE] * 88
    beats = simulate([StartDetector(size)], blocks, random.Random(size), size=size)
    assert flat(beats) == blocks
    assert [size * n for n, (_, _, marker) in enumerate(beats) if marker] == [8, 104]
    assert [size * n for n, (_, codeword, _) in enumerate(beats) if codeword] == [8, 88, 104, 184]


@pytest.mark.req("PHY-033", "PHY-045", "PHY-055")
@pytest.mark.parametrize(
    "marker_blocks",
    [
        pytest.param(16, marks=pytest.mark.req("PHY-089")),
        pytest.param(20, marks=pytest.mark.req("PHY-080", "PHY-082")),
        pytest.param(32, marks=pytest.mark.req("PHY-089")),
        64,
    ],
)
@pytest.mark.parametrize("size", [8, 4, 2, 1])
def test_receive_chain_stays_in_step_over_markers(marker_blocks, size):
    """Four markers, whole or damaged: the first blocks are of AM, all others as sent; 58 bits are wrong at most."""
    rng = random.Random(marker_blocks)
    blocks = traffic(rng, 8, 2)
    (carried,) = model.lane_blocks(blocks, 1, marker_blocks)
    marks = [blocks[n : n + 8] == [model.START_BLOCK] * 8 for n in range(0, len(blocks), 8)]
    expected = []
    since = marker_blocks
    for n, block in enumerate(blocks):
        since = 0 if marks[n // 8] and n % 8 == 0 else since + 1
        expected.append(model.ALIGNMENT_BLOCK if since < marker_blocks else block)
    for n, mark in enumerate(marks):
        if mark and n % 20 == 10:
            carried[8 * n + 3] ^= rng.getrandbits(66)
    framing = {"marker_blocks": marker_blocks, "blocks_per_word": size}
    parts = [AlignmentOverwrite(**framing), Descrambler(**framing)]
    # With short beats they stand the other way round.
    marks = [bool(n % 8 == 0 and marks[n // 8]) for n in range(0, len(blocks), size)]
    beats = simulate(parts if size == 8 else parts[::-1], carried, rng, beats=marks, size=size)
    received = flat(beats)
    # The descrambler begins from the scrambler's own state, so not even the first block is wrong.
    assert received == expected
    assert [bool(marker) for _, _, marker in beats] == marks
    # From any other state it is wrong in the first block only.
    cut = simulate([Descrambler(**framing)], carried[8:80], rng, beats=[False] * 72, size=size)
    assert flat(cut)[0] != blocks[8] and flat(cut)[1:] == blocks[9:80]


@pytest.mark.parametrize("seed, size", [(0, 8), (1, 8), (2, 4), (3, 2), (4, 1)])
def test_bit_error_rate_monitor_follows_the_model(seed, size):
    rng = random.Random(seed)
    dut = BitErrorRateMonitor(window=400, blocks_per_word=size)
    expected = model.BitErrorRate(400)
    seen = set()

    async def testbench(ctx):
        ctx.set(dut.enable, 1)
        for window in range(40):
            chance = rng.choice((0, 0.1, 0.22, 0.24, 0.26, 0.6))
            for _ in range(400 // size):
                while rng.random() < 0.1:
                    ctx.set(dut.valid, 0)
                    await ctx.tick()
                bad = [rng.random() < chance for _ in range(size)]
                ctx.set(dut.bad, sum(bit << n for n, bit in enumerate(bad)))
                ctx.set(dut.valid, 1)
                # Headers of a beat are counted together.
                high = [expected.block(3 if bit else 1) for bit in bad]
                await ctx.tick()
                assert ctx.get(dut.hi_ber) == high[-1], window
                seen.add(high[-1])
        ctx.set(dut.enable, 0)
        await ctx.tick()
        assert ctx.get(dut.hi_ber) == 0

    m = Module()
    m.submodules.dut = dut
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    assert seen == {True, False}


@pytest.mark.parametrize("count", [BER_LIMIT - 1, BER_LIMIT])
def test_97_bad_headers_of_a_window_are_a_high_bit_error_rate(count):
    assert BER_LIMIT == 97
    monitor = model.BitErrorRate(4000)
    assert [monitor.block(3) for _ in range(count)][-1] == (count == 97)


def test_refuses():
    with pytest.raises(ConfigError, match="marker_blocks is 18"):
        Scrambler(marker_blocks=18)
    with pytest.raises(ConfigError, match="window is 100"):
        BitErrorRateMonitor(window=100)
    with pytest.raises(ConfigError, match="marker_interval is 1"):
        PCSConfig(lanes=1, width=20, marker_blocks=16, marker_interval=1)
    with pytest.raises(ConfigError, match="blocks_per_word is 3"):
        PCSConfig(lanes=1, width=20, marker_blocks=16, marker_interval=4, blocks_per_word=3)
    with pytest.raises(ConfigError, match="blocks_per_word is 2; it must be a multiple of the 4 lanes"):
        PCSConfig(lanes=4, width=20, marker_blocks=16, marker_interval=4, blocks_per_word=2)
    with pytest.raises(ConfigError, match="blocks_per_word is 2; rates are matched in words of 8 alone"):
        PCS(PCSConfig(lanes=1, width=20, marker_blocks=16, marker_interval=4, blocks_per_word=2), rate_matching=True)
    with pytest.raises(ConfigError, match="width is 66"):
        LaneReceive(lanes=1, width=66, marker_interval=4, max_skew=0)
