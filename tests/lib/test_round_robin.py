"""The round robin arbiter against a list that rotates, and its fairness proved."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from ualink.config import ConfigError
from ualink.lib.round_robin import RoundRobinArbiter


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.parametrize("count", [0, -3, True, 1.5])
def test_refuses_count(count):
    with pytest.raises(ConfigError, match=f"round_robin.count is {count!r}"):
        RoundRobinArbiter(count)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 64])
def test_random(count):
    dut = RoundRobinArbiter(count)
    rng = random.Random(count)

    async def bench(ctx):
        order = list(range(count))
        for _ in range(200):
            requests = rng.getrandbits(count) & rng.getrandbits(count)
            served = rng.random() < 0.7
            ctx.set(dut.requests, requests)
            ctx.set(dut.next, served)
            granted = next((n for n in order if requests >> n & 1), None)
            assert ctx.get(dut.valid) == (granted is not None)
            assert ctx.get(dut.grant) == (0 if granted is None else 1 << granted)
            assert ctx.get(dut.index) == (granted or 0)
            await ctx.tick()
            if served and granted is not None:
                place = order.index(granted) + 1
                order = order[place:] + order[:place]

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


class FairnessBench(wiring.Component):
    """One requester, any, waits while others are served: each of them once at most."""

    def __init__(self, count):
        self.count = count
        super().__init__({"requests": In(count), "next": In(1), "who": In(range(count))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobinArbiter(self.count)
        m.d.comb += [arbiter.requests.eq(self.requests), arbiter.next.eq(self.next)]
        started, who = Signal(), Signal(range(self.count))
        served = Signal(self.count)
        m.d.sync += started.eq(1)
        with m.If(~started):
            m.d.sync += who.eq(self.who)
        waiting = Signal()
        granted = Signal()
        m.d.comb += [
            waiting.eq(self.requests.bit_select(who, 1) & started),
            granted.eq(arbiter.grant.bit_select(who, 1)),
            Assume(self.who < self.count),
        ]
        with m.If(~waiting | (granted & self.next)):
            m.d.sync += served.eq(0)
        with m.Elif(self.next):
            m.d.sync += served.eq(served | arbiter.grant)
            m.d.comb += Assert((served & arbiter.grant) == 0)
        m.d.comb += [
            Assert((arbiter.grant & ~self.requests) == 0),
            Assert((arbiter.grant & (arbiter.grant - 1)) == 0),
            Assert(arbiter.grant.any() == self.requests.any()),
            Assert(~arbiter.valid | (arbiter.grant == (1 << arbiter.index)[: self.count])),
        ]
        return m


@pytest.mark.parametrize("count", [3, 4])
def test_fairness(count):
    prove(FairnessBench(count), mode="bmc", depth=count + 5)
