"""Forward-progress timer."""

import pytest
from amaranth.sim import Simulator

from ualink.dl.link.forward_progress import ForwardProgress


def run(story, limit):
    dut = ForwardProgress()

    async def flit_time(ctx):
        """True when the timer ran out."""
        expires = ctx.get(dut.expires)
        assert not ctx.get(dut.time_out)
        ctx.set(dut.slot_end, 1)
        out = ctx.get(dut.time_out)
        assert out == expires
        await ctx.tick()
        ctx.set(dut.slot_end, 0)
        await ctx.tick()
        return out

    async def bench(ctx):
        ctx.set(dut.tx_ack_time_out, limit)
        await story(ctx, dut, lambda: flit_time(ctx))

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-139", "DL-142", "DL-165")
def test_runs_only_while_flits_wait():
    async def story(ctx, dut, flit_time):
        assert dut.tx_ack_time_out.init == 40_000
        assert ctx.get(dut.tx_ack_counter) == 0
        for _ in range(9):
            assert not await flit_time()
        ctx.set(dut.waiting, 1)
        await ctx.tick()
        assert [bool(await flit_time()) for _ in range(6)] == [False] * 4 + [True, False]
        assert ctx.get(dut.tx_ack_counter) == 0

    run(story, 5)


@pytest.mark.req("DL-165")
def test_ack_rearms():
    async def story(ctx, dut, flit_time):
        ctx.set(dut.waiting, 1)
        await ctx.tick()
        for _ in range(5):
            for _ in range(4):
                assert not await flit_time()
            ctx.set(dut.acked, 1)
            await ctx.tick()
            ctx.set(dut.acked, 0)
            await ctx.tick()
            assert ctx.get(dut.tx_ack_counter) == 5
        # Empty and not empty again: a new wait starts in full.
        await flit_time()
        ctx.set(dut.waiting, 0)
        await ctx.tick()
        ctx.set(dut.waiting, 1)
        await ctx.tick()
        assert [bool(await flit_time()) for _ in range(5)] == [False] * 4 + [True]

    run(story, 5)


@pytest.mark.req("DL-165")
@pytest.mark.parametrize("cycles", range(4))
def test_ack_around_the_end_of_the_last_flit_time(cycles):
    """One that comes before the cycle in which time is over counts, and one in that cycle is too late."""

    async def story(ctx, dut, flit_time):
        ctx.set(dut.waiting, 1)
        await ctx.tick()
        for _ in range(4):
            assert not await flit_time()
        out = []
        for cycle in range(4):
            ctx.set(dut.acked, cycle == cycles)
            ctx.set(dut.slot_end, cycle == 2)
            out.append(bool(ctx.get(dut.time_out)))
            await ctx.tick()
        assert out == [False, False, cycles >= 2, False]

    run(story, 5)


def test_zero_switches_it_off():
    """Ruling A-20 (DL)."""

    async def story(ctx, dut, flit_time):
        ctx.set(dut.waiting, 1)
        for _ in range(20):
            assert not await flit_time()

    run(story, 0)
