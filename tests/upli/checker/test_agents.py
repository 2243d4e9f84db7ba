"""Both agents, with random lawful traffic, resets and connections in any order: no rule is ever broken."""

import random

import pytest
from amaranth.hdl import Elaboratable, Module, ResetInserter, Value

from support.upli.lawful import LawfulTraffic
from support.upli.pair import Pair, field, simulate
from ualink.config import CheckerConfig, Credits, UPLIConfig
from ualink.upli.checker.checker import UPLIChecker
from ualink.upli.checker.watched import watch

MIXED = UPLIConfig(
    req=Credits(pool=2, vc=(1, 1, 1, 1)),
    orig_data=Credits(pool=3, vc=(1, 1, 1, 2)),
    rd_rsp=Credits(pool=2, vc=(2, 3, 2, 2)),
    wr_rsp=Credits(pool=1, vc=(0, 0, 1, 0)),
    init_done_qualification=3,
)
POOL = UPLIConfig(req=Credits(pool=3), orig_data=Credits(pool=9), rd_rsp=Credits(pool=6), wr_rsp=Credits(pool=2))


class Watched(Elaboratable):
    """A pair of agents and a checker that is reset with them."""

    def __init__(self, config, ports):
        self.pair = Pair(config, ports)
        self.checker = UPLIChecker(CheckerConfig(ports=ports, tracked=7 * ports))

    def elaborate(self, platform):
        m = Module()
        m.submodules.pair = self.pair
        m.submodules.checker = ResetInserter(self.pair.reset)(self.checker)
        watch(m, self.checker.upli, self.pair.upli)
        return m


ON_THE_WIRE = ["UPLI-147", "UPLI-150", "UPLI-227", "UPLI-228", "UPLI-263", "UPLI-264", "UPLI-283", "UPLI-299"]
"""Whatever the agents are offered, what they drive keeps these."""
ANY_ORDER = ["UPLI-331", "UPLI-333", "UPLI-334"]
"""Responses come in any order, of Requests to one of two regions, and all arrive."""
OF_COMMANDS = ["UPLI-066", "UPLI-143", "UPLI-161", "UPLI-202", "UPLI-212", "UPLI-213", "UPLI-261"]
"""Atomics and messages bring their data with them; what vendors define is neither counted by address nor touched."""


class Run:
    """Steps ``traffic`` and demands in every cycle that no rule is broken."""

    def __init__(self, ctx, dut, traffic):
        self.ctx, self.checker, self.traffic = ctx, dut.checker, traffic
        self.names = list(dut.checker.violations.shape().members)

    async def cycles(self, number):
        for _ in range(number):
            await self.traffic.run(self.ctx, 1)
            bits = self.ctx.get(Value.cast(self.checker.violations))
            assert not bits, [name for n, name in enumerate(self.names) if bits >> n & 1]


@pytest.mark.req(*ON_THE_WIRE, *ANY_ORDER, *OF_COMMANDS)
@pytest.mark.parametrize(("config", "ports"), [(MIXED, 1), (POOL, 2), (MIXED, 4)], ids=["mixed-1", "pool-2", "mixed-4"])
def test_agents_break_no_rule(config, ports):
    dut = Watched(config, ports)
    pair, checker = dut.pair, dut.checker
    traffic = LawfulTraffic(pair, config, f"lawful {ports}", judge=False)
    rng = random.Random(ports)
    answered = 0

    async def bench(ctx):
        nonlocal answered
        run = Run(ctx, dut, traffic)
        for round in range(3):
            ctx.set(pair.skew, rng.randrange(ports))
            ctx.set(pair.originator.connect, 0)
            ctx.set(pair.completer.connect, 0)
            # Either side may ask first, or both at once.
            await run.cycles(rng.randrange(4))
            late = (pair.originator, pair.completer)[round % 2]
            ctx.set((pair.originator, pair.completer)[1 - round % 2].connect, 1)
            await run.cycles(rng.randrange(6) * (round < 2))
            ctx.set(late.connect, 1)
            await run.cycles(70 + 20 * ports)
            if round == 2:
                traffic.asks, traffic.take = False, 1.0
                await run.cycles(40 * ports)
                assert not any(traffic.busy.values())
                traffic.check_order(complete=True)
            assert ctx.get(checker.tracking) and not ctx.get(checker.first.valid)
            answered += traffic.answered
            await traffic.reset(ctx)
        assert answered > 30

    simulate(dut, bench)


@pytest.mark.req("UPLI-320")
def test_requests_that_are_stuck_do_not_block_responses():
    dut = Watched(MIXED, 2)
    traffic = LawfulTraffic(dut.pair, MIXED, "stuck", judge=False)

    async def bench(ctx):
        run = Run(ctx, dut, traffic)
        await run.cycles(60)
        traffic.stuck, traffic.take = True, 1.0
        await run.cycles(90)
        for port in range(2):
            taken = len(traffic.received["req", port])
            assert len(traffic.accepted["req", port]) > taken > 3
            last = [beat for beat in traffic.received["rd_rsp", port] if field("rd_rsp", beat, "last")]
            assert len(last) + len(traffic.received["wr_rsp", port]) == taken

    simulate(dut, bench)
