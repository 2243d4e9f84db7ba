"""Source rate limit: the standard's sequences, the model, and the proof that a catch buffer cannot overrun."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from ualink.config import ConfigError
from ualink.tl.credit.rate_limit import SourceRateLimit
from ualink_sim.model.tl.rate_limit import RateLimit


def allowances(limit, issued):
    """Allowance that the RTL gives before each flit, with cycles without a flit in between."""
    dut, seen = SourceRateLimit(limit), []

    async def bench(ctx):
        for count in issued:
            await ctx.tick().repeat(1 + count % 3)  # nothing leaves: nothing is retired
            seen.append(ctx.get(dut.allowance))
            ctx.set(dut.flit, 1)
            ctx.set(dut.issued, count)
            await ctx.tick()
            ctx.set(dut.flit, 0)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def allowances_ahead(limit, issued):
    """As well, but one flit ahead: while a flit leaves in every cycle, each with what was held for it."""
    dut, seen = SourceRateLimit(limit), [limit]

    async def bench(ctx):
        ctx.set(dut.flit, 1)
        ctx.set(dut.ahead, 1)
        for count in issued:
            ctx.set(dut.held, count)
            ctx.set(dut.issued, count)
            seen.append(ctx.get(dut.allowance))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return seen[:-1]


@pytest.mark.req("TL-131", "TL-132", "TL-133", "TL-137", "TL-138", "TL-144")
def test_sequences_of_the_standard():
    for way in (allowances, allowances_ahead):
        assert way(4, (4, 1, 1, 0, 2, 1)) == [4, 1, 1, 1, 2, 1]  # Table 5-24
        assert way(4, (4, 0, 0, 0, 0, 0)) == [4, 1, 2, 3, 4, 4]  # Table 5-25


@pytest.mark.req("TL-134", "TL-135", "TL-136", "TL-139", "TL-144")
def test_responses_like_requests_with_eight():
    assert allowances(8, (8, 1, 0, 0, 3, *[0] * 9)) == [8, 1, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8, 8]


@pytest.mark.parametrize("way", [allowances, allowances_ahead])
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


class CatchBufferBench(wiring.Component):
    """A transmitter that takes the allowance in full freedom, directly or one flit ahead through a register, and the
    fill of the receiver's catch buffer."""

    flit: In(1)
    ahead: In(1)
    formed: In(4)

    def __init__(self, limit):
        self.limit = limit
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = SourceRateLimit(self.limit)
        holds, held = Signal(), Signal(4)
        fill, after, next_fill = Signal(8), Signal(8), Signal(8)
        occupied = Signal(8)
        waits = Signal()  # a flit is in front of what is formed, until it leaves
        m.d.sync += waits.eq(self.ahead & ~self.flit)
        m.d.comb += [
            Assume(self.ahead | ~(holds | waits)),
            Assume(self.formed <= dut.allowance),
            dut.flit.eq(self.flit),
            dut.ahead.eq(self.ahead),
            dut.held.eq(Mux(holds, held, 0)),
            dut.issued.eq(Mux(self.ahead, dut.held, self.formed)),
            # One field is retired with each flit, then the new ones enter.
            after.eq(Mux(fill == 0, 0, fill - 1) + dut.issued),
            next_fill.eq(Mux(self.flit, after, fill)),
            occupied.eq(Mux(self.ahead, after, fill)),
            Assert(next_fill <= self.limit),
            Assert(~holds | (held + Mux(fill == 0, 0, fill - 1) <= self.limit)),
            Assert((dut.allowance >= 1) & (dut.allowance <= self.limit)),
            Assert(dut.allowance + Mux(occupied == 0, 0, occupied - 1) == self.limit),
            Assert(dut.allowed + Mux(fill == 0, 0, fill - 1) == self.limit),
            Assert(dut.outstanding == (fill != 0)),
        ]
        m.d.sync += fill.eq(next_fill)
        # What does not leave directly is held: with the flit in front of its own, or while no flit leaves.
        with m.If(self.flit == self.ahead):
            m.d.sync += [holds.eq(1), held.eq(self.formed)]
        return m


@pytest.mark.req("TL-130", "TL-131", "TL-132", "TL-133", "TL-134", "TL-136", "TL-140", "TL-224")
@pytest.mark.parametrize("limit", [4, 8])
def test_catch_buffer_never_overruns(limit):
    prove(CatchBufferBench(limit), mode="prove", depth=3)
