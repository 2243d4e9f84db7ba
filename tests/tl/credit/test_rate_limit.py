"""Source rate limit: the standard's sequences, the model, and the proof that a catch buffer cannot overrun."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from ualink.config import ConfigError
from ualink.tl.credit.rate_limit import SourceRateLimit
from ualink_sim.model.tl.rate_limit import RateLimit


def allowances(limit, issued, *, together=False):
    """Allowance that the RTL gives before each flit, with cycles without a flit in between.

    A flit without fields has no Control half-flit. With ``together`` it leaves in the cycle in which the next Control
    half-flit is taken, if there is one.
    """
    dut, seen = SourceRateLimit(limit), []

    async def bench(ctx):
        waits = False
        for n, count in enumerate(issued):
            await ctx.tick().repeat(1 + count % 3)  # nothing leaves: nothing is retired
            if together and not count and n + 1 < len(issued) and issued[n + 1]:
                seen.append(ctx.get(dut.allowance).bit_count())
                waits = True
                continue
            ctx.set(dut.between, waits or not count)
            ctx.set(dut.flit, waits or not count)
            ctx.set(dut.taken, bool(count))
            ctx.set(dut.issued, (1 << count) - 1)
            # Of a flit between, the allowance is that of what comes behind it.
            seen.append(ctx.get(dut.allowance if count else dut.allowed).bit_count())
            await ctx.tick()
            ctx.set(dut.between, 0)
            ctx.set(dut.flit, 0)
            ctx.set(dut.taken, 0)
            waits = False

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def allowances_together(limit, issued):
    """As well, a flit without fields and the half-flit behind it in the same cycle."""
    return allowances(limit, issued, together=True)


@pytest.mark.req("TL-131", "TL-132", "TL-133", "TL-137", "TL-138", "TL-144")
def test_sequences_of_the_standard():
    for way in (allowances, allowances_together):
        assert way(4, (4, 1, 1, 0, 2, 1)) == [4, 1, 1, 1, 2, 1]  # Table 5-24
        assert way(4, (4, 0, 0, 0, 0, 0)) == [4, 1, 2, 3, 4, 4]  # Table 5-25


@pytest.mark.req("TL-134", "TL-135", "TL-136", "TL-139", "TL-144")
def test_responses_like_requests_with_eight():
    assert allowances(8, (8, 1, 0, 0, 3, *[0] * 9)) == [8, 1, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8, 8]


@pytest.mark.parametrize("way", [allowances, allowances_together])
@pytest.mark.parametrize("limit", [4, 8])
def test_random_against_the_model(limit, way):
    rng, model = random.Random(limit), RateLimit(limit)
    issued, expected = [], []
    for _ in range(200):
        expected.append(model.allowance)
        issued.append(rng.randint(0, model.allowance))
        model.flit(issued[-1])
    assert way(limit, issued) == expected


def test_limit_is_checked():
    with pytest.raises(ConfigError, match="rate limit 0"):
        SourceRateLimit(0)


def number(bits):
    return sum(bits, start=Const(0))


class CatchBufferBench(wiring.Component):
    """A transmitter that takes the allowance in full freedom, alone or with a flit between, and the fill of the
    receiver's catch buffer."""

    taken: In(1)
    between: In(1)
    flit: In(1)
    issued: In(4)

    def __init__(self, limit):
        self.limit = limit
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = SourceRateLimit(self.limit)
        fill, before, after = Signal(8), Signal(8), Signal(8)
        allowance, allowed = number(dut.allowance), number(dut.allowed)
        m.d.comb += [
            Assume(self.issued <= allowance),
            *(Assert((bits & (bits + 1)) == 0) for bits in (dut.allowance, dut.allowed)),
            Assume(~self.flit | self.between),
            Assume(~(self.taken & self.between) | self.flit),
            dut.taken.eq(self.taken),
            dut.between.eq(self.between),
            dut.flit.eq(self.flit),
            dut.issued.eq(Cat(self.issued > n for n in range(self.limit))),
            # One field is retired with each flit, then the new ones enter.
            before.eq(Mux(self.between & (fill != 0), fill - 1, fill)),
            after.eq(Mux(before == 0, 0, before - 1) + self.issued),
            Assert(~self.taken | (after <= self.limit)),
            Assert(fill <= self.limit),
            Assert(allowance >= 1),
            Assert(allowance + Mux(before == 0, 0, before - 1) == self.limit),
            Assert(allowed + Mux(fill == 0, 0, fill - 1) == self.limit),
            Assert(dut.holds == (fill != 0)),
            Assert(dut.outstanding == (before != 0)),
        ]
        with m.If(self.taken):
            m.d.sync += fill.eq(after)
        with m.Elif(self.flit):
            m.d.sync += fill.eq(before)
        return m


@pytest.mark.req("TL-130", "TL-131", "TL-132", "TL-133", "TL-134", "TL-136", "TL-140", "TL-224")
@pytest.mark.parametrize("limit", [4, 8])
def test_catch_buffer_never_overruns(limit):
    prove(CatchBufferBench(limit), mode="prove", depth=3)
