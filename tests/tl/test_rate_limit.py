"""Source rate limit: the standard's sequences, the model, and the proof that a catch buffer cannot overrun."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from formal import prove
from ualink.config import ConfigError
from ualink.tl.rate_limit import SourceRateLimit
from ualink_sim.model.tl_rate_limit import RateLimit


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


@pytest.mark.req("TL-131", "TL-132", "TL-133", "TL-137", "TL-138", "TL-144")
def test_sequences_of_the_standard():
    assert allowances(4, (4, 1, 1, 0, 2, 1)) == [4, 1, 1, 1, 2, 1]  # Table 5-24
    assert allowances(4, (4, 0, 0, 0, 0, 0)) == [4, 1, 2, 3, 4, 4]  # Table 5-25


@pytest.mark.req("TL-134", "TL-135", "TL-136", "TL-139", "TL-144")
def test_responses_like_requests_with_eight():
    assert allowances(8, (8, 1, 0, 0, 3, 0)) == [8, 1, 1, 2, 3, 1]


@pytest.mark.parametrize("limit", [4, 8])
def test_random_against_the_model(limit):
    rng, model = random.Random(limit), RateLimit(limit)
    issued, expected = [], []
    for _ in range(200):
        expected.append(model.allowance)
        issued.append(rng.randint(0, model.allowance))
        model.flit(issued[-1])
    assert allowances(limit, issued) == expected


def test_limit_is_checked():
    with pytest.raises(ConfigError, match="rate limit 0"):
        SourceRateLimit(0)


class CatchBufferBench(wiring.Component):
    """A transmitter that takes the allowance in full freedom, and the fill of the receiver's catch buffer."""

    flit: In(1)
    issued: In(4)

    def __init__(self, limit):
        self.limit = limit
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = SourceRateLimit(self.limit)
        previous = Signal(range(self.limit + 1), init=self.limit)
        fill, after = Signal(8), Signal(8)
        m.d.sync += previous.eq(dut.allowance)
        m.d.comb += [
            dut.flit.eq(self.flit),
            dut.issued.eq(self.issued),
            Assume(self.issued <= previous),
            # One field is retired with each flit, then the new ones enter.
            after.eq(Mux(self.flit, Mux(fill == 0, 0, fill - 1) + self.issued, fill)),
            Assert(after <= self.limit),
            Assert((dut.allowance >= 1) & (dut.allowance <= self.limit)),
            Assert(dut.allowance + Mux(after == 0, 0, after - 1) == self.limit),
        ]
        m.d.sync += fill.eq(after)
        return m


@pytest.mark.req("TL-130", "TL-131", "TL-133", "TL-134", "TL-136")
@pytest.mark.parametrize("limit", [4, 8])
def test_catch_buffer_never_overruns(limit):
    prove(CatchBufferBench(limit), mode="prove", depth=3)
