"""Reset and lock sequences of an ECP5 dual-channel unit."""

from amaranth.hdl import Module
from amaranth.sim import Simulator

from ualink.phy.serdes.ecp5_reset import Ecp5ReceiveReset, Ecp5ResetTimes, Ecp5TransmitReset

TIMES = Ecp5ResetTimes(hold=4, pll=60, cdr=40, steady=10, glitch=3)


def run(sequence, bench):
    module = Module()
    module.submodules.sequence = sequence
    simulator = Simulator(module)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


async def cycles_until(ctx, signal, level, limit):
    for count in range(limit):
        if ctx.get(signal) == level:
            return count
        await ctx.tick()
    raise AssertionError(f"not {level} within {limit} cycles")


def test_transmitter_is_ready_when_the_pll_has_been_locked_for_a_while():
    dut = Ecp5TransmitReset(TIMES)

    async def bench(ctx):
        ctx.set(dut.loss_of_lock, 1)
        assert ctx.get(dut.unit_reset)
        assert TIMES.hold <= await cycles_until(ctx, dut.unit_reset, 0, 20)
        ctx.set(dut.loss_of_lock, 0)
        assert TIMES.steady <= await cycles_until(ctx, dut.ready, 1, 20)
        assert ctx.get(dut.retries) == 0

    run(dut, bench)


def test_without_reference_clock_the_transmitter_tries_again():
    dut = Ecp5TransmitReset(TIMES)

    async def bench(ctx):
        ctx.set(dut.loss_of_lock, 1)
        for attempt in range(1, 4):
            await cycles_until(ctx, dut.retries, attempt, 100)
            await ctx.tick()
            assert ctx.get(dut.unit_reset) and not ctx.get(dut.ready)
        await cycles_until(ctx, dut.retries, 255, 30_000)
        await ctx.tick().repeat(200)
        assert ctx.get(dut.retries) == 255

    run(dut, bench)


def test_a_lock_that_comes_and_goes_does_not_count():
    dut = Ecp5TransmitReset(TIMES)

    async def bench(ctx):
        for cycle in range(300):
            ctx.set(dut.loss_of_lock, cycle % TIMES.steady == 0)
            await ctx.tick()
            assert not ctx.get(dut.ready)

    run(dut, bench)


def test_transmitter_outlives_a_glitch_and_not_a_loss():
    dut = Ecp5TransmitReset(TIMES)

    async def bench(ctx):
        ctx.set(dut.loss_of_lock, 0)
        await cycles_until(ctx, dut.ready, 1, 100)
        ctx.set(dut.loss_of_lock, 1)
        await ctx.tick().repeat(TIMES.glitch - 1)
        ctx.set(dut.loss_of_lock, 0)
        await ctx.tick().repeat(20)
        assert ctx.get(dut.ready) and ctx.get(dut.retries) == 0
        ctx.set(dut.loss_of_lock, 1)
        await cycles_until(ctx, dut.unit_reset, 1, 10)
        await ctx.tick()
        assert not ctx.get(dut.ready) and ctx.get(dut.retries) == 1

    run(dut, bench)


async def receiving(ctx, dut):
    """Bring the receiver up."""
    ctx.set(dut.enable, 1)
    ctx.set(dut.loss_of_signal, 0)
    ctx.set(dut.loss_of_lock, 0)
    await cycles_until(ctx, dut.ready, 1, 100)


def test_receiver_waits_for_a_signal_as_long_as_it_takes():
    dut = Ecp5ReceiveReset(TIMES)

    async def bench(ctx):
        ctx.set(dut.enable, 1)
        ctx.set(dut.loss_of_signal, 1)
        ctx.set(dut.loss_of_lock, 1)
        for _ in range(300):
            await ctx.tick()
            assert ctx.get(dut.serdes_reset) and ctx.get(dut.words_reset)
        assert ctx.get(dut.retries) == 0
        ctx.set(dut.loss_of_signal, 0)
        await cycles_until(ctx, dut.serdes_reset, 0, 30)
        assert ctx.get(dut.words_reset) and not ctx.get(dut.ready)
        ctx.set(dut.loss_of_lock, 0)
        await cycles_until(ctx, dut.ready, 1, 30)
        assert not ctx.get(dut.words_reset)

    run(dut, bench)


def test_receiver_tries_again_without_lock():
    dut = Ecp5ReceiveReset(TIMES)

    async def bench(ctx):
        ctx.set(dut.enable, 1)
        ctx.set(dut.loss_of_lock, 1)
        await cycles_until(ctx, dut.retries, 2, 300)
        await ctx.tick()
        assert ctx.get(dut.serdes_reset)
        await receiving(ctx, dut)

    run(dut, bench)


def test_receiver_begins_anew_when_signal_lock_or_clock_is_lost_or_it_is_reset():
    dut = Ecp5ReceiveReset(TIMES)

    async def bench(ctx):
        for cause in (dut.loss_of_signal, dut.loss_of_lock, dut.reset, dut.enable):
            await receiving(ctx, dut)
            ctx.set(cause, not ctx.get(cause))
            await cycles_until(ctx, dut.serdes_reset, 1, 12)
            await ctx.tick()
            assert ctx.get(dut.words_reset) and not ctx.get(dut.ready)
            ctx.set(cause, not ctx.get(cause))

    run(dut, bench)


def test_near_end_loopback_needs_no_signal():
    dut = Ecp5ReceiveReset(TIMES)

    async def bench(ctx):
        ctx.set(dut.enable, 1)
        ctx.set(dut.loss_of_signal, 1)
        ctx.set(dut.ignore_signal, 1)
        await cycles_until(ctx, dut.ready, 1, 100)

    run(dut, bench)
