"""Fields that start something: what the hardware sees of them, in simulation and as a proof."""

import re

import pytest
from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.csr.bench import Bench
from support.formal import prove
from ualink.csr.block import RegisterBlock
from ualink.csr.table import Access, Field, Register, RegisterMap


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_go_runs_until_done(ports):
    bench = Bench(ports)
    job = bench.block.job

    async def story(ctx):
        assert await bench.master.write(ctx, 0x10, 0x01) == 0
        assert await bench.master.read(ctx, 0x10) == (0x01, 0)
        await ctx.tick().repeat(3 * ports)
        assert ctx.get(job.start)
        # A second start while it goes on is none; the other field is written as always.
        assert await bench.master.write(ctx, 0x10, 0xAB1) == 0
        assert await bench.master.read(ctx, 0x10) == (0xAB1, 0)
        assert ctx.get(job.start) and ctx.get(job.size) == 0xAB
        ctx.set(job.start_done, 1)
        await ctx.tick().repeat(ports)
        ctx.set(job.start_done, 0)
        assert not ctx.get(job.start)
        assert await bench.master.read(ctx, 0x10) == (0xAB0, 0)
        # Done without having been started means nothing.
        ctx.set(job.start_done, 1)
        await ctx.tick().repeat(2 * ports)
        assert await bench.master.read(ctx, 0x10) == (0xAB0, 0)

    bench.run(story)


@pytest.mark.parametrize("ports", [1, 2, 4])
@pytest.mark.parametrize("delay", range(5))
def test_go_withdrawn_and_started_at_once_is_seen_to_fall_and_rise(ports, delay):
    bench = Bench(ports)
    seen = []

    async def story(ctx):
        await bench.master.write(ctx, 0x10, 1)
        await ctx.tick().repeat(2 * ports + delay)
        await bench.master.write(ctx, 0x10, 0)
        assert await bench.master.write(ctx, 0x10, 1) == 0
        assert await bench.master.read(ctx, 0x10) == (1, 0)

    async def look(ctx):
        for _ in range(9 * ports + delay):
            _, _, here, start = await ctx.tick().sample(bench.block.here, bench.block.job.start)
            seen.append(str(start) if here else "")

    bench.run(story, look)
    assert re.fullmatch("0+1+0{1,2}1+", "".join(seen)), seen


def test_end_of_what_was_withdrawn_does_not_end_the_next():
    bench = Bench(ports=4)
    job = bench.block.job

    async def story(ctx):
        await bench.master.write(ctx, 0x10, 1)
        await ctx.tick().until(bench.block.here)
        await ctx.tick().until(bench.block.here)
        assert ctx.get(job.start)
        await bench.master.write(ctx, 0x10, 0)
        await bench.master.write(ctx, 0x10, 1)
        ctx.set(job.start_done, 1)
        await ctx.tick().until(bench.block.here)
        ctx.set(job.start_done, 0)
        assert not ctx.get(job.start)
        await ctx.tick().repeat(12)
        assert ctx.get(job.start)
        assert await bench.master.read(ctx, 0x10) == (1, 0)

    bench.run(story)


class GoBench(wiring.Component):
    """A go field under any writes, looks and ends: what was withdrawn is seen to fall, what goes on is seen to rise."""

    write: In(1)
    value: In(1)
    here: In(1)
    done: In(1)

    def elaborate(self, platform):
        m = Module()
        table = RegisterMap("go", (Register("job", 0, (Field("start", "0", Access.GO),)),))
        m.submodules.block = block = RegisterBlock(table)
        m.d.comb += [
            block.here.eq(self.here),
            block.bus.write.eq(self.write),
            block.bus.write_data.eq(self.value),
            block.job.start_done.eq(self.done),
        ]
        level = block.job.start
        before = Signal()
        looked = Signal()
        withdrawn = Signal()
        late = Signal()
        m.d.sync += [before.eq(level), looked.eq(self.here)]
        with m.If(self.write & ~self.value & level):
            m.d.sync += [withdrawn.eq(1), late.eq(0)]
        with m.Elif(self.here):
            m.d.sync += [withdrawn.eq(withdrawn & level), late.eq(withdrawn & level)]
        m.d.comb += [
            # Changes come right after a look only, so that each level is looked at.
            Assert((level == before) | looked),
            # At most one look shows 1 after the withdrawal; then one shows 0.
            Assert(~(late & level)),
        ]
        return m


def test_go_level_proof():
    prove(GoBench(), mode="bmc", depth=14)
