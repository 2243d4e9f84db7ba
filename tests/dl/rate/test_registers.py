"""Firmware changes the TL clock over its registers; behind them is the RTL that does it."""

import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.sim import Simulator

from support.csr.master import Master
from ualink.dl.rate.change import RateChange
from ualink.dl.rate.registers import RATE_REGISTERS, RateRegisterBlock

BUSY, DONE, FAILED, TIME_OUT = 2, 4, 8, 16
CONTROL, CHANGE, ABORT, ACK_TIME_OUT, RATE, EVENTS = (register.offset for register in RATE_REGISTERS)


class Bench(Elaboratable):
    """The registers before a ``RateChange`` whose clocks follow at once and whose partner acks unless ``deaf``."""

    def __init__(self):
        self.block, self.change = RateRegisterBlock(), RateChange(1)
        self.deaf = Signal()
        self.master = Master(self.block.bus)

    def elaborate(self, platform):
        m = Module()
        m.submodules.block, m.submodules.change = block, change = self.block, self.change
        announced = Signal()
        m.d.sync += [announced.eq(change.announce), change.answered.eq(announced & change.announce & ~self.deaf)]
        m.d.sync += [change.on_reference.eq(change.use_reference), change.pll_ready.eq(change.pll_program)]
        m.d.comb += change.link_up.eq(1)
        for name in ("may_change", "change", "target_rate", "abort", "time_out_cycles"):
            m.d.comb += getattr(change, name).eq(getattr(block, name))
        for name in ("busy", "done", "failed", "time_out", "rate"):
            m.d.comb += getattr(block, name).eq(getattr(change, name))
        return m

    def run(self, story):
        simulator = Simulator(self)
        simulator.add_clock(1e-6)
        simulator.add_testbench(story)
        simulator.run()

    async def finish(self, ctx):
        """The state bits when ``start`` has fallen."""
        for _ in range(60):
            word, _ = await self.master.read(ctx, CHANGE)
            if not word & 1:
                return word & 0xFFFF
        raise AssertionError("the change never ends")


@pytest.mark.req("DL-115")
def test_change_and_refusal():
    bench = Bench()
    master = bench.master

    async def story(ctx):
        assert await master.read(ctx, RATE) == (31_250, 0)
        for _ in range(2):
            # Not an accelerator: nothing happens, each time.
            assert await master.write(ctx, CHANGE, 20_000 << 16 | 1) == 0
            assert await bench.finish(ctx) == FAILED
        assert await master.read(ctx, RATE) == (31_250, 0)
        assert await master.write(ctx, CONTROL, 1) == 0
        for rate in (20_000, 9_000):
            assert await master.write(ctx, CHANGE, rate << 16 | 1) == 0
            await ctx.tick().repeat(3)
            assert (await master.read(ctx, CHANGE))[0] & 3 == BUSY | 1
            assert await bench.finish(ctx) == DONE
            assert await master.read(ctx, RATE) == (rate, 0)
        for rate in (3_124, 31_251):
            assert await master.write(ctx, CHANGE, rate << 16 | 1) == 1
        assert await master.read(ctx, CHANGE) == (9_000 << 16 | DONE, 0)

    bench.run(story)


def test_partner_that_does_not_ack():
    bench = Bench()
    master = bench.master

    async def story(ctx):
        ctx.set(bench.deaf, 1)
        await master.write(ctx, CONTROL, 1)
        await master.write(ctx, ACK_TIME_OUT, 20)
        await master.write(ctx, CHANGE, 9_000 << 16 | 1)
        await ctx.tick().repeat(40)
        assert await master.read(ctx, CHANGE) == (9_000 << 16 | TIME_OUT | BUSY | 1, 0)
        # Withdrawing alone ends nothing.
        await master.write(ctx, CHANGE, 9_000 << 16)
        await ctx.tick().repeat(4)
        assert (await master.read(ctx, CHANGE))[0] & 3 == BUSY
        await master.write(ctx, ABORT, 1)
        await ctx.tick().repeat(4)
        assert await master.read(ctx, ABORT) == (0, 0)
        assert await bench.finish(ctx) == FAILED
        assert await master.read(ctx, RATE) == (31_250, 0)

    bench.run(story)


def test_events_of_changes_and_lost_flits():
    """The end of a change is an event also when it was refused, and when firmware has withdrawn the request."""
    bench = Bench()
    master = bench.master

    async def story(ctx):
        await master.write(ctx, CHANGE, 9_000 << 16 | 1)
        assert await bench.finish(ctx) == FAILED
        assert await master.read(ctx, EVENTS) == (0x10, 0)
        await master.write(ctx, EVENTS, 0x10)
        await master.write(ctx, CONTROL, 1)
        await master.write(ctx, ACK_TIME_OUT, 20)
        ctx.set(bench.deaf, 1)
        await master.write(ctx, CHANGE, 9_000 << 16 | 1)
        await ctx.tick().repeat(40)
        assert await master.read(ctx, EVENTS) == (0x20, 0)
        await master.write(ctx, CHANGE, 9_000 << 16)
        await master.write(ctx, ABORT, 1)
        await ctx.tick().repeat(4)
        assert await bench.finish(ctx) == FAILED
        assert await master.read(ctx, EVENTS) == (0x30, 0)
        await master.write(ctx, EVENTS, 0x30)
        for ports in (0b0100, 0b0101):
            ctx.set(bench.block.overflow, ports)
            await ctx.tick().repeat(2)
            assert ctx.get(bench.block.pending) == ports
        await master.write(ctx, EVENTS, 0b0001)
        assert await master.read(ctx, EVENTS) == (0b0100, 0)

    bench.run(story)
