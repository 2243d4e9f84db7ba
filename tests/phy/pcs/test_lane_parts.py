"""Gearboxes, locks and width stages of a lane, each against the executable model."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.phy.pcs.block_lock import BlockLock
from ualink.phy.pcs.lane_marker import lane_marker
from ualink.phy.pcs.lane_receive import receive_depth, receive_patience
from ualink.phy.pcs.marker_finder import MarkerFinder
from ualink.phy.pcs.receive_gearbox import ReceiveGearbox
from ualink.phy.pcs.transmit_gearbox import TransmitGearbox
from ualink.phy.serdes.interface import LANE_WIDTHS
from ualink_sim.model.phy import pcs as model


def run(component, testbench, domain):
    m = Module()
    m.submodules.dut = component
    simulator = Simulator(m)
    simulator.add_clock(1e-6, domain=domain)
    simulator.add_testbench(testbench)
    simulator.run()


def text(values, width):
    """The bits of some words in the order of the wire."""
    return "".join(f"{value:0{width}b}"[::-1] for value in values)


@pytest.mark.parametrize("width", LANE_WIDTHS)
def test_transmit_gearbox_sends_every_bit_in_order(width):
    rng = random.Random(width)
    dut = TransmitGearbox(width)
    blocks, words = [], []

    async def testbench(ctx):
        for _ in range(250):
            block = rng.getrandbits(66)
            ctx.set(dut.block, block)
            if ctx.get(dut.take):
                blocks.append(block)
            words.append(ctx.get(dut.data))
            await ctx.tick("tx")

    run(dut, testbench, "tx")
    sent, whole = text(words, width), text(blocks, 66)
    at = sent.find(whole[:132])
    assert 0 <= at < 12 * 66
    assert whole.startswith(sent[at:])


@pytest.mark.parametrize("width", LANE_WIDTHS)
def test_receive_gearbox_gives_every_bit_in_order_and_leaves_out_one_a_slip(width):
    rng = random.Random(width)
    dut = ReceiveGearbox(width)
    bits = "".join(rng.choice("01") for _ in range(width * 330))
    runs = [[]]

    async def testbench(ctx):
        for n in range(330):
            ctx.set(dut.data, int(bits[width * n : width * (n + 1)][::-1], 2))
            slip = n % 61 == 60 or n % 61 == 30
            ctx.set(dut.slip, slip)
            if slip:
                runs.append([])
            elif ctx.get(dut.valid):
                runs[-1].append(ctx.get(dut.block))
            await ctx.tick("rx")

    run(dut, testbench, "rx")
    assert len(runs) > 10
    phase = None
    # The first block begins with what the registers held.
    runs[0] = runs[0][2:]
    for blocks in runs:
        piece = text(blocks, 66)
        at = bits.find(piece)
        assert at >= 0 and len(blocks) >= 1
        if phase is not None:
            assert (at - phase) % 66 == 1
        phase = at % 66
    assert sum(len(blocks) for blocks in runs) > (330 - 11 * 8) * width // 66 - 20


@pytest.mark.parametrize("seed", range(3))
def test_block_lock_follows_the_model(seed):
    """Bad headers rare, dense just below and just above what loses the lock, and everywhere."""
    rng = random.Random(seed)
    dut = BlockLock()
    expected = model.HeaderLock()
    changed = 0

    async def testbench(ctx):
        nonlocal changed
        ctx.set(dut.enable, 1)
        for chance in (0.5, 0.0, 0.001, 64 / 1024, 0.0, 0.15, 0.0, 0.058):
            for _ in range(1300 if chance else 80):
                while rng.random() < 0.1:
                    ctx.set(dut.valid, 0)
                    await ctx.tick("rx")
                good = rng.random() >= chance
                ctx.set(dut.header, rng.choice((1, 2) if good else (0, 3)))
                ctx.set(dut.valid, 1)
                before = expected.locked
                slips = expected.header(good)
                changed += before != expected.locked
                await ctx.tick("rx")
                assert (ctx.get(dut.locked), ctx.get(dut.slip)) == (expected.locked, slips)
                if slips:
                    # A header that comes with the slip is ignored.
                    ctx.set(dut.header, 0)
                    await ctx.tick("rx")
                    assert ctx.get(dut.slip) == 0
        ctx.set(dut.enable, 0)
        await ctx.tick("rx")
        assert ctx.get(dut.locked) == 0

    run(dut, testbench, "rx")
    assert changed >= 3


@pytest.mark.parametrize("bad, keeps", [(64, True), (65, False)])
def test_block_lock_is_lost_with_65_bad_headers_of_1024(bad, keeps):
    dut = BlockLock()

    async def testbench(ctx):
        ctx.set(dut.enable, 1)
        ctx.set(dut.valid, 1)
        ctx.set(dut.header, 1)
        await ctx.tick("rx").repeat(63)
        assert ctx.get(dut.locked) == 0
        await ctx.tick("rx")
        assert ctx.get(dut.locked) == 1
        # The bad ones at the end of one window, and again at the start of the next.
        for header, count in ((1, 1024 - bad), (3, bad), (0, 64 if keeps else 0), (1, 5)):
            ctx.set(dut.header, header)
            for _ in range(count):
                await ctx.tick("rx")
        assert ctx.get(dut.locked) == keeps

    run(dut, testbench, "rx")


@pytest.mark.req("PHY-051")
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_marker_finder_follows_the_model(lanes):
    """Markers come, are damaged, move, change their number, and are met by false ones."""
    rng = random.Random(lanes)
    interval = 2 * 80 // lanes
    dut = MarkerFinder(lanes=lanes, marker_interval=2)
    expected = model.MarkerLock(lanes, interval)
    seen, wanted, locks = [], [], set()

    async def testbench(ctx):
        ctx.set(dut.enable, 1)
        lane, at = 0, 0
        for period in range(60):
            if period % 15 == 14:
                lane, at = rng.randrange(lanes), rng.randrange(interval)
            miss = period % 15 in (4, 5, 6, 7) or (period % 15 in (9, 10, 11, 12, 13) and period > 25)
            for n in range(interval):
                block = rng.getrandbits(66)
                if n == at and not miss:
                    block = lane_marker(lane, lanes, 0)
                elif n == at:
                    block = lane_marker(lane, lanes, 0) ^ 1 << rng.randrange(66)
                elif rng.random() < 0.03:
                    block = lane_marker(rng.randrange(lanes), lanes, 0)
                begins = expected.block(block)
                locks.add(expected.locked)
                if expected.locked:
                    wanted.append((block, begins, expected.lane))
                ctx.set(dut.block, block)
                ctx.set(dut.valid, 1)
                await ctx.tick("rx")
                look(ctx)
                ctx.set(dut.valid, 0)
                while rng.random() < 0.2:
                    await ctx.tick("rx")
                    look(ctx)
        for _ in range(4):
            await ctx.tick("rx")
            look(ctx)
        ctx.set(dut.enable, 0)
        await ctx.tick("rx")
        assert ctx.get(dut.locked) == 0

    def look(ctx):
        if ctx.get(dut.output_valid):
            seen.append((ctx.get(dut.output), bool(ctx.get(dut.output_marker)), ctx.get(dut.lane)))

    run(dut, testbench, "rx")
    assert seen == wanted and len(seen) > 10 * interval
    assert locks == {True, False}
    assert sum(marker for _, marker, _ in seen) > 10


@pytest.mark.parametrize("lane, lanes, index", [(0, 1, 63), (1, 2, 7), (3, 4, 15), (2, 4, 0)])
def test_lane_marker(lane, lanes, index):
    marker = lane_marker(lane, lanes, index)
    assert marker == model.lane_marker(lane, lanes, index)
    assert (marker >> 2).bit_count() == 32 and marker & 3 == 1
    assert marker not in (model.START_BLOCK, model.ALIGNMENT_BLOCK)


def test_refuses():
    with pytest.raises(ConfigError, match="width is 24"):
        TransmitGearbox(24)
    with pytest.raises(ConfigError, match="width is 8"):
        ReceiveGearbox(8)
    with pytest.raises(ConfigError, match="lanes is 3"):
        MarkerFinder(lanes=3, marker_interval=4)
    with pytest.raises(ConfigError, match="max_skew is 36; a marker interval of 4 slots leaves room for 34"):
        receive_patience(lanes=4, max_skew=36, marker_interval=4)
    with pytest.raises(ConfigError, match="max_skew is -1"):
        receive_depth(lanes=2, max_skew=-1, marker_interval=4)
