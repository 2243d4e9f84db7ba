"""The cycles in which an interface closes and opens: nothing too early, nothing missed."""

import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, ResetInserter, Signal, Value

from support.upli.pair import members, simulate
from ualink.config import Credits, UPLIConfig
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

CONFIG = UPLIConfig(req=Credits(pool=8), orig_data=Credits(pool=8), rd_rsp=Credits(pool=8), wr_rsp=Credits(pool=8))
AGENTS = {"completer": Completer, "originator": Originator}


class Alone:
    """One agent with a reset, its interface driven by hand; ``inputs`` are the signals that the partner drives."""

    def __init__(self, side, ports):
        self.agent = AGENTS[side](CONFIG, ports)
        self.reset = Signal()
        self.module = Module()
        self.module.submodules.agent = ResetInserter(self.reset)(self.agent)
        own, self.peer = ("comp", "orig") if side == "completer" else ("orig", "comp")
        self.own = own
        receives = self.agent.receives

        def driven_by_partner(path):
            if len(path) == 1:
                return path[0].startswith(self.peer)
            return (path[0] in receives) != ("credit" in path)

        paths = dict(members(self.agent.upli))
        self.inputs = {path: signal for path, signal in paths.items() if driven_by_partner(path)}
        self.outputs = {path: signal for path, signal in paths.items() if path not in self.inputs}

    def of_upli(self, name):
        return getattr(self.agent.upli, name)

    async def open(self, ctx):
        """Let both directions open."""
        ctx.set(self.of_upli(f"{self.peer}_clk_req"), 1)
        while not ctx.get(self.of_upli(f"{self.own}_clk_ack")):
            await ctx.tick()
        ctx.set(self.of_upli(f"{self.peer}_clk_ack"), 1)
        await ctx.tick().repeat(12)
        assert ctx.get(self.agent.connected)


@pytest.mark.req("RST-048", "RST-049", "RST-015", "UPLI-112")
@pytest.mark.parametrize("side", AGENTS)
def test_nothing_counts_in_reset(side):
    """The partner drives anything in the cycles that its outputs need to fall: no beat, credit or error, and every
    output of an open interface falls within one cycle, CreditInitDone too; it rises again only after the release."""
    bench = Alone(side, 4)
    agent = bench.agent

    async def body(ctx):
        await bench.open(ctx)
        done = [("orig_data" if side == "completer" else "rd_rsp"), "credit", "init_done"]
        assert ctx.get(bench.outputs[tuple(done)]) == 0b1111
        ctx.set(bench.reset, 1)
        for cycle in range(6):
            for n, signal in enumerate(bench.inputs.values()):
                ctx.set(signal, (0x5A5A5A5A5A5A5A5A >> n + cycle) & ((1 << len(signal)) - 1) | 1)
            await ctx.tick()
            for path, signal in bench.outputs.items():
                if path[-1] in ("vld", "vld_parity", "init_done") or len(path) == 1:
                    assert ctx.get(signal) == 0, path
            assert not ctx.get(Value.cast(agent.errors)) and not ctx.get(Value.cast(agent.events))
            assert not any(ctx.get(stream.valid) for c in agent.receives for stream in getattr(agent, c))
        for signal in bench.inputs.values():
            ctx.set(signal, 0)
        ctx.set(bench.reset, 0)
        released = dict.fromkeys(agent.receives, 0)
        await ctx.tick()
        ctx.set(bench.of_upli(f"{bench.peer}_clk_req"), 1)
        ctx.set(bench.of_upli(f"{bench.peer}_clk_ack"), 1)
        for _ in range(12):
            for channel in agent.receives:
                credit = getattr(agent.upli, channel).credit
                if ctx.get(credit.init_done):
                    assert released[channel] == getattr(CONFIG, channel).total
                elif ctx.get(credit.vld):
                    released[channel] += ctx.get(credit.port_num[0]) + 1
            await ctx.tick()
        assert set(released.values()) == {8}
        assert not ctx.get(Value.cast(agent.errors))

    simulate(bench.module, body)


@pytest.mark.req("RST-050", "RST-041", "RST-018", "UPLI-113", "RST-016")
@pytest.mark.parametrize("side", AGENTS)
def test_the_first_cycle_of_an_acknowledge_counts(side):
    """Own ClkReq is low. From the first cycle of the own ClkAck on, credits on all four ports of both returns count and
    parity is checked, without any beat; in the cycle before, neither."""
    bench = Alone(side, 4)
    agent = bench.agent
    sends = agent.sends

    async def body(ctx):
        for upset in (False, True):
            ctx.set(bench.reset, 1)
            await ctx.tick()
            ctx.set(bench.reset, 0)
            ctx.set(agent.connect, 0)
            ctx.set(bench.of_upli(f"{bench.peer}_clk_ack"), 0)
            ctx.set(bench.of_upli(f"{bench.peer}_clk_req"), 1)
            for cycle in range(2):
                assert ctx.get(bench.of_upli(f"{bench.own}_clk_ack")) == cycle
                for channel in sends:
                    credit = getattr(agent.upli, channel).credit
                    ctx.set(credit.vld, 0b1111)
                    ctx.set(credit.pool, 0b1111)
                    ctx.set(credit.vld_parity, upset or not cycle)
                    ctx.set(credit.port_num[2], 1)
                    ctx.set(credit.parity, 1)
                    ctx.set(credit.init_done, 0b1111)
                await ctx.tick()
                assert not ctx.get(agent.control_event)
            for channel in sends:
                credit = getattr(agent.upli, channel).credit
                ctx.set(credit.vld, 0)
                ctx.set(credit.vld_parity, 0)
            await ctx.tick()
            assert ctx.get(agent.control_event) == upset
            ctx.set(agent.connect, 1)
            ctx.set(bench.of_upli(f"{bench.peer}_clk_ack"), 1)
            # One beat for each credit, two of port 2, and no more.
            sent = {channel: [0] * 4 for channel in sends if channel in ("req", "wr_rsp")}
            for cycle in range(60):
                ctx.set(agent.slot, cycle % 4)
                for channel in sent:
                    for stream in getattr(agent, channel):
                        ctx.set(stream.valid, 1)
                    interface = getattr(agent.upli, channel)
                    if ctx.get(interface.vld):
                        sent[channel][ctx.get(interface.port_id)] += 1
                await ctx.tick()
            for channel, counts in sent.items():
                assert counts == ([0] * 4 if upset else [1, 1, 2, 1]), channel

    simulate(bench.module, body)


@pytest.mark.req("RST-015", "RST-048")
@pytest.mark.parametrize("side", AGENTS)
@pytest.mark.parametrize("wrong", [0, 1])
@pytest.mark.parametrize("wait", [None, 0, 1])
def test_a_reset_forgets_what_is_still_to_be_judged(side, wrong, wait):
    """A beat and a return of each channel stand on the wire in one cycle, and so many cycles later comes a reset, or
    none: what is judged in the cycle after it was on the wire, and shown in the one behind, does not outlive it."""
    bench = Alone(side, 1)
    agent = bench.agent

    def drive(ctx, value):
        for path, signal in bench.inputs.items():
            if path[-1] in ("vld", "pool"):
                ctx.set(signal, value)
            elif path[-1] in ("vld_parity", "parity"):
                # The parity of a return covers its class; a beat that is 0 throughout but for its valid has parity 0.
                covers = path[-1] == "vld_parity" or "credit" in path
                ctx.set(signal, value & (covers ^ wrong))

    async def body(ctx):
        await bench.open(ctx)
        drive(ctx, 1)
        if side == "originator":
            ctx.set(agent.upli.rd_rsp.last, 1)
            ctx.set(agent.upli.rd_rsp.parity, 1 ^ wrong)
        await ctx.tick()
        drive(ctx, 0)
        if wait is not None:
            for _ in range(wait):
                await ctx.tick()
            ctx.set(bench.reset, 1)
            await ctx.tick()
            ctx.set(bench.reset, 0)
        events, beats, sent = 0, set(), set()
        for signal in (bench.of_upli(f"{bench.peer}_clk_req"), bench.of_upli(f"{bench.peer}_clk_ack")):
            ctx.set(signal, 1)
        for channel in agent.sends:
            ctx.set(getattr(agent.upli, channel).credit.init_done, 1)
            ctx.set(getattr(agent, channel)[0].valid, 1)
        for _ in range(12):
            events |= ctx.get(agent.control_event)
            beats |= {channel for channel in agent.receives if ctx.get(getattr(agent, channel)[0].valid)}
            sent |= {channel for channel in agent.sends if ctx.get(getattr(agent.upli, channel).vld)}
            await ctx.tick()
        forgotten = wait is not None
        assert (events, ctx.get(agent.control_error)) == ((0, 0) if forgotten else (wrong, wrong))
        if forgotten or wrong:
            assert not beats and not sent
        else:
            assert beats >= {"completer": {"req"}, "originator": {"rd_rsp", "wr_rsp"}}[side]
            assert sent >= {"completer": {"rd_rsp", "wr_rsp"}, "originator": {"req"}}[side]

    simulate(bench.module, body)


@pytest.mark.req("RST-019", "RST-006", "RST-007", "UPLI-052", "UPLI-126")
@pytest.mark.parametrize("side", AGENTS)
def test_every_register_has_the_one_clock(side):
    """Rising edges of one clock, and no reset but at those: no other kind of register, and no second clock."""
    text = rtlil.convert(AGENTS[side](CONFIG, 4))
    kinds = set(re.findall(r"cell (\$\w*(?:ff|latch|sr)\w*) ", text))
    assert kinds == {"$dff"}
    clocks = set(re.findall(r"connect \\(?:CLK|WR_CLK|ARST|CLR|SET) (.*)", text))
    assert clocks - {"1'0"} == {"\\clk [0]"}
    assert "CLK_POLARITY 0" not in text
