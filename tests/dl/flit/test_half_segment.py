"""Arithmetic and frames of half segments, exhaustively."""

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.dl.flit.format import HALF_SEGMENT_SECTORS
from ualink.dl.flit.half_segment import FRAME_STEP, FRAME_TURN, frame_dword, sectors_beyond
from ualink.dl.flit.sector_rotator import SectorRotator


@pytest.mark.req("DL-022", "DL-023")
def test_carry_over_is_0_to_15_sectors_and_none_is_lost():
    position, short, starts, beyond = Signal(range(17)), Signal(range(3)), Signal(), Signal(5)
    m = Module()
    sectors, left_over = sectors_beyond(position, short)
    m.d.comb += beyond.eq(Mux(starts | left_over, sectors, 0))

    async def bench(ctx):
        for places in set(HALF_SEGMENT_SECTORS):
            for before in range(17):
                for new in (False, True):
                    # A flit starts only on a free sector, and only a first half, of 16, comes after a message.
                    if (new and before >= places) or (before == 16 and places < 16):
                        continue
                    ctx.set(position, before)
                    ctx.set(short, 16 - places)
                    ctx.set(starts, new)
                    left = ctx.get(beyond)
                    assert left == max(before + 16 * new - places, 0)
                    assert left <= 15

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()


def test_frames_follow_the_wire():
    assert FRAME_TURN == (0, 1, 1, 1, 1, 1, 1, 1, 0, 1)
    for half, sectors in enumerate(HALF_SEGMENT_SECTORS):
        following = (half + 1) % len(HALF_SEGMENT_SECTORS)
        # What would be the sector after the last is the first of the next half segment.
        assert (frame_dword(half, sectors) + FRAME_STEP[half]) % 16 == frame_dword(following, 0)


@pytest.mark.parametrize("stages", [2, 4])
def test_rotator(stages):
    dut = SectorRotator(stages)
    value = sum((n + 1 << 30) << 36 * n for n in range(16))

    async def bench(ctx):
        ctx.set(dut.sectors, value)
        for amount in range(1 << stages):
            ctx.set(dut.amount, amount)
            rotated = ctx.get(dut.rotated)
            assert [rotated >> 36 * n + 30 & 0x3F for n in range(16)] == [(n - amount) % 16 + 1 for n in range(16)]

    sim = Simulator(dut)
    sim.add_testbench(bench)
    sim.run()


def test_rotator_parameter_is_validated():
    for stages in (0, 5, True):
        with pytest.raises(ConfigError, match=f"{stages!r} stages"):
            SectorRotator(stages)
