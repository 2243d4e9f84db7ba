"""A link whose TL has a clock of its own: an accelerator slows it down while flits flow, and nothing is lost."""

import random

import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator

from support.tl.flits import tl_flit, tl_flit_good
from ualink.config import ConfigError, DLConfig, StationConfig, SwitchConfig
from ualink.dl.layer import DataLink
from ualink.dl.link.separate_links import SeparateLinks
from ualink.phy.interface import SlotStatus, TxKind

FULL, REFERENCE, HALF = 31_250, 3_125, 15_625
TICK = 1e-9
CONFIG = DLConfig(replay_depth=8, idle_flit_times=4)


class Pair:
    """A switch's data link, and an accelerator's whose TL has its own clock; flits are numbered in their data."""

    def __init__(self):
        self.switch, self.accelerator = DataLink(CONFIG), SeparateLinks(CONFIG, 1)
        self.to_accelerator: list[int] = []
        self.to_switch: list[int] = []
        self.sent_by_switch = 0
        self.sessions = 0
        self.cycle = 0
        self.upli = ClockDomain("upli")
        m = Module()
        m.domains += self.upli
        m.submodules.switch, m.submodules.accelerator = self.switch, self.accelerator
        m.d.comb += self.switch.config.enable.eq(1)
        m.d.comb += self.accelerator.config[0].enable.eq(1)
        for source, sink in ((self.switch.tx, self.accelerator.rs.rx), (self.accelerator.rs.tx, self.switch.rx)):
            m.d.sync += [
                sink.valid.eq(source.valid),
                sink.p.data.eq(source.p.data),
                sink.p.first.eq(source.p.first),
                sink.p.last.eq(source.p.last),
                sink.p.status.eq(SlotStatus.CONTROL),
            ]
            with m.If(source.p.kind == TxKind.DATA):
                m.d.sync += sink.p.status.eq(SlotStatus.GOOD)
            m.d.comb += source.ready.eq(1)
        self.simulator = Simulator(m)
        self.simulator.add_clock(TICK)
        self.simulator.add_testbench(self.upli_clock, background=True)
        self.simulator.add_testbench(self.transaction_layer, background=True)
        self.simulator.add_testbench(self.pll, background=True)

    async def upli_clock(self, ctx):
        """156.25 MHz or what the PLL was programmed to, switched between two periods."""
        links, rate = self.accelerator, FULL
        rng = random.Random(1)
        while True:
            period = TICK * FULL / rate * (0.98 + 0.02 * rng.random())
            ctx.set(self.upli.clk, 1)
            await ctx.delay(period / 2)
            ctx.set(self.upli.clk, 0)
            await ctx.delay(period / 2)
            reference = ctx.get(links.upli_clock_use_reference)
            rate = REFERENCE if reference else ctx.get(links.upli_clock_pll_rate)
            ctx.set(links.upli_clock_on_reference, reference)

    async def pll(self, ctx):
        async for _, _, program in ctx.tick().sample(self.accelerator.upli_clock_pll_program):
            ctx.set(self.accelerator.upli_clock_pll_ready, program)

    async def transaction_layer(self, ctx):
        """The accelerator's: takes what comes, offers numbered flits while online."""
        links, number = self.accelerator, 0
        ctx.set(links.tx_flit.p, tl_flit(number))
        tick = ctx.tick("upli").sample(links.online, links.tx_flit.ready, links.rx_flit.valid, links.rx_flit.p)
        async for _, _, online, ready, valid, flit in tick:
            if ready and ctx.get(links.tx_flit.valid):
                number += 1
                ctx.set(links.tx_flit.p, tl_flit(number))
            self.sessions += online and not ctx.get(links.tx_flit.valid)
            ctx.set(links.tx_flit.valid, online)
            if valid:
                assert tl_flit_good(flit)
                self.to_accelerator.append(flit.data)

    async def step(self, ctx, cycles):
        """The switch's TL for so many cycles."""
        link = self.switch
        for _ in range(cycles):
            ctx.set(link.tx_flit.p, tl_flit(self.sent_by_switch))
            ctx.set(link.tx_flit.valid, ctx.get(link.online))
            if ctx.get(link.tx_flit.ready) and ctx.get(link.tx_flit.valid):
                self.sent_by_switch += 1
            if ctx.get(link.rx_flit.valid):
                self.to_switch.append(ctx.get(link.rx_flit.p.data))
            await ctx.tick()
            self.cycle += 1

    def run(self, story):
        """Simulate ``story(ctx)``."""
        self.simulator.add_testbench(story)
        self.simulator.run()


@pytest.mark.req("DL-008", "DL-108", "DL-111", "DL-112", "DL-116", "DL-117", "DL-118")
def test_an_accelerator_halves_its_clock_while_flits_flow_both_ways():
    pair = Pair()
    links = pair.accelerator
    rates = {}

    async def count(ctx, name, cycles):
        start = pair.sent_by_switch
        await pair.step(ctx, cycles)
        rates[name] = (pair.sent_by_switch - start) / cycles

    async def story(ctx):
        ctx.set(links.upli_clock_may_change, 1)
        while not (ctx.get(pair.switch.status.online) and ctx.get(links.online)):
            await pair.step(ctx, 10)
            assert pair.cycle < 2000
        await count(ctx, "full", 200)
        ctx.set(links.upli_clock_target_rate, HALF)
        ctx.set(links.upli_clock_change, 1)
        while not ctx.get(links.upli_clock_use_reference):
            await pair.step(ctx, 5)
            assert pair.cycle < 4000
        # The partner had been told before the clock was switched.
        assert ctx.get(pair.switch.status.partner_rate) == REFERENCE
        while not ctx.get(links.upli_clock_done):
            await pair.step(ctx, 5)
            assert pair.cycle < 6000
        assert ctx.get(links.upli_clock_rate) == HALF == ctx.get(pair.switch.status.partner_rate)
        await count(ctx, "half", 300)
        assert not ctx.get(links.overflow)

    pair.run(story)
    assert rates["full"] > 0.95
    assert pair.sessions == 1
    assert 0.45 < rates["half"] <= 0.51
    assert pair.to_accelerator == list(range(len(pair.to_accelerator)))
    assert pair.to_switch == list(range(len(pair.to_switch)))
    assert len(pair.to_accelerator) > pair.sent_by_switch - 60
    assert len(pair.to_switch) > 250


@pytest.mark.req("DL-110", "DL-115")
@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_a_switch_has_one_clock():
    with pytest.raises(ConfigError, match="separate_upli_clock"):
        SwitchConfig(station=StationConfig(separate_upli_clock=True))
