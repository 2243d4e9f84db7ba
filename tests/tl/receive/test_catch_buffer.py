"""Catch buffers: the rate limit account, order and room, proved for every sender within its limit."""

from functools import reduce
from operator import or_
from random import Random

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from support.tl.address import simulate
from ualink.config import ConfigError
from ualink.tl.receive.catch_buffer import CatchBuffer, places_layout, places_of
from ualink.tl.receive.catch_lines import CatchLines
from ualink.tl.receive.lean_catch import LeanCatch
from ualink.tl.receive.rate_check import RateCheck


def index_of(bits):
    """The number of the one bit that is set."""
    return reduce(or_, (Mux(bit, n, 0) for n, bit in enumerate(bits)))


class CatchBench(wiring.Component):
    """Fields are numbered as they are loaded; the allowance is that of the sender (UALink_200 §5.7)."""

    def __init__(self, entries, kind=CatchBuffer):
        self.entries, self.kind = entries, kind
        super().__init__({"flit": In(1), "valid": In(entries), "restart": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.kind(self.entries, 6)
        m.submodules.check = check = RateCheck(self.entries)
        allowance = Signal(range(self.entries + 1), init=self.entries)
        number, expected = Signal(6), Signal(6)
        announced = Signal(6)
        present = [Mux(self.flit, self.valid[n], 0) for n in range(self.entries)]
        count, accept = Signal(range(self.entries + 1)), Signal()
        m.d.comb += [
            count.eq(sum(present)),
            accept.eq(self.flit & ~check.overrun),
            check.flit.eq(self.flit),
            check.fields.eq(count),
            check.accept.eq(accept),
            check.restart.eq(self.restart),
        ]
        # What is checked in one cycle is loaded in the next.
        places, loaded = Signal(places_layout(self.entries)), Signal(places_layout(self.entries))
        first = Signal(6)
        places_of(m, places, Mux(self.flit, self.valid, 0))
        m.d.sync += [loaded.eq(places), dut.load.eq(accept), first.eq(number)]
        m.d.comb += dut.places.eq(loaded)
        m.d.comb += [dut.field[n].eq(first + index_of(loaded.nth[n])) for n in range(self.entries)]
        in_buffer = Signal(6)
        with m.If(dut.load):
            m.d.sync += in_buffer.eq(in_buffer + index_of(loaded.count))
        grown = allowance - count + 1
        with m.If(accept):
            m.d.sync += [number.eq(number + count), allowance.eq(Mux(grown > self.entries, self.entries, grown))]
        # A restart gives the whole allowance, but no field comes before those of the last session have left.
        draining = Signal()
        m.d.comb += Assume(~draining | (count == 0))
        with m.If(self.restart):
            m.d.sync += [draining.eq(1), allowance.eq(self.entries)]
        with m.Elif(number == expected):
            m.d.sync += draining.eq(0)
        with m.If(dut.output.valid):
            m.d.sync += expected.eq(expected + 1)
            m.d.comb += Assert(dut.output.payload == expected)
            if self.kind is not LeanCatch:
                m.d.comb += Assert(announced == expected)
        m.d.sync += announced.eq(dut.following)
        m.d.comb += [
            Assert(check.overrun == (self.flit & (count > allowance))),
            Assert(dut.output.valid == (in_buffer != expected)),
        ]
        return m


@pytest.mark.req("TL-130", "TL-131", "TL-133", "TL-134", "TL-136", "TL-137", "TL-139", "TL-141", "TL-142", "TL-144")
@pytest.mark.parametrize(
    "entries, depth, kind", [(4, 6, CatchBuffer), (8, 4, CatchBuffer), (4, 7, CatchLines), (4, 5, LeanCatch)]
)
def test_fields_leave_in_order_and_the_limit_is_exact(entries, depth, kind):
    prove(CatchBench(entries, kind), mode="bmc", depth=depth)


@pytest.mark.req("TL-130", "TL-133")
@pytest.mark.parametrize("entries", [4, 8])
def test_lines_give_the_same_in_the_same_cycles(entries):
    both = Module()
    both.submodules.buffer = buffer = CatchBuffer(entries, 12)
    both.submodules.lines = lines = CatchLines(entries, 12)
    both.submodules.lean = lean = LeanCatch(entries, 12)
    random = Random(entries)

    async def bench(ctx):
        level, number, waiting = 0, 0, []
        for cycle in range(3_000):
            # Full and nearly full for long, one field in each flit for long, bursts after a pause.
            pace = (0.2, 0.6, 1.0)[cycle // 200 % 3]
            room = entries - max(level - 1, 0)
            count = min(room, random.choice((1, 1, 2, entries))) if random.random() < pace else 0
            present = random.sample(range(entries), count)
            mask = sum(1 << n for n in present)
            words = {n: number + rank for rank, n in enumerate(sorted(present))}
            for dut in (buffer, lines, lean):
                ctx.set(dut.load, count > 0 or random.random() < 0.5)
                ctx.set(dut.places.valid, mask)
                ctx.set(dut.places.count, 1 << count)
                for n in range(entries):
                    before = sum(other < n for other in present)
                    ctx.set(dut.places.nth[n], (n in present) << before)
                    ctx.set(dut.field[n], words.get(n, 0xBAD) & 0xFFF)
            number += count
            following = ctx.get(buffer.following)
            offered = ctx.get(buffer.output.valid)
            assert ctx.get(lines.output.valid) == ctx.get(lean.output.valid) == offered == (level > 0)
            if offered:
                first = waiting.pop(0)
                assert {ctx.get(dut.output.payload) for dut in (buffer, lines, lean)} == {first}
            waiting += [words[n] & 0xFFF for n in sorted(present)]
            level = len(waiting)
            if level:
                assert ctx.get(lines.following) == following == waiting[0]
            await ctx.tick()
        assert number > 2_000

    simulate(both, bench)


def test_sizes_are_checked():
    with pytest.raises(ConfigError, match="0 entries"):
        CatchBuffer(0, 8)
