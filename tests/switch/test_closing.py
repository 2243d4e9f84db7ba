"""When an ingress of the switch core that had to close opens again."""

import pytest
from amaranth.sim import Simulator

from ualink.switch.closing import QUIET, Closing


def run(bench):
    dut = Closing()
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)

    async def started(ctx):
        await bench(ctx, dut)

    simulator.add_testbench(started)
    simulator.run()


async def cycle(ctx, dut, *, close=0, dropping=0, waits=0):
    """``closed`` and ``upset`` after a cycle with these inputs."""
    for name, value in (("close", close), ("dropping", dropping), ("waits", waits)):
        ctx.set(getattr(dut, name), value)
    await ctx.tick()
    return ctx.get(dut.closed), ctx.get(dut.upset)


@pytest.mark.req("RAS-089", "RAS-117")
def test_it_opens_when_drop_mode_ends_and_nothing_is_left():
    async def bench(ctx, dut):
        assert await cycle(ctx, dut) == (0, 0)
        assert await cycle(ctx, dut, close=1) == (1, 1)
        assert await cycle(ctx, dut, waits=1) == (1, 1), "asked for until there is Drop Mode"
        for n in range(QUIET + 5):
            assert await cycle(ctx, dut, dropping=1, waits=n < 4) == (1, 0)
        assert await cycle(ctx, dut) == (0, 0)
        assert await cycle(ctx, dut) == (0, 0)

    run(bench)


@pytest.mark.req("RAS-089", "RAS-117")
@pytest.mark.parametrize("quiet", [0, 1, QUIET - 2])
def test_who_leaves_drop_mode_too_early_goes_into_it_again(quiet):
    async def bench(ctx, dut):
        assert await cycle(ctx, dut, close=1) == (1, 1)
        assert await cycle(ctx, dut, dropping=1, waits=1) == (1, 0)
        for _ in range(quiet):
            assert await cycle(ctx, dut, dropping=1) == (1, 0)
        assert await cycle(ctx, dut) == (1, 1)

    run(bench)


@pytest.mark.req("RAS-089", "RAS-117")
def test_a_beat_in_the_cycle_in_which_drop_mode_ends_keeps_it_closed():
    async def bench(ctx, dut):
        await cycle(ctx, dut, close=1)
        for _ in range(2 * QUIET):
            await cycle(ctx, dut, dropping=1)
        assert await cycle(ctx, dut, waits=1) == (1, 1)
        for _ in range(2 * QUIET):
            await cycle(ctx, dut, dropping=1)
        assert await cycle(ctx, dut, close=1) == (1, 1), "nor does one more that is wrong"

    run(bench)
