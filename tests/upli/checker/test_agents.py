"""Both agents, with random lawful traffic, resets and connections in any order: no rule is ever broken."""

import random

import pytest
from amaranth.hdl import Elaboratable, Module, ResetInserter, Value

from support.upli.lawful import LawfulTraffic
from support.upli.pair import Pair, simulate
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


@pytest.mark.req(*ON_THE_WIRE, *ANY_ORDER)
@pytest.mark.parametrize(("config", "ports"), [(MIXED, 1), (POOL, 2), (MIXED, 4)], ids=["mixed-1", "pool-2", "mixed-4"])
def test_agents_break_no_rule(config, ports):
    dut = Watched(config, ports)
    pair, checker = dut.pair, dut.checker
    traffic = LawfulTraffic(pair, config, f"lawful {ports}", judge=False)
    rng = random.Random(ports)
    names = list(checker.violations.shape().members)
    answered = 0

    async def run(ctx, cycles, **more):
        for _ in range(cycles):
            await traffic.run(ctx, 1, **more)
            bits = ctx.get(Value.cast(checker.violations))
            assert not bits, [name for n, name in enumerate(names) if bits >> n & 1]

    async def bench(ctx):
        nonlocal answered
        for round in range(3):
            ctx.set(pair.skew, rng.randrange(ports))
            ctx.set(pair.originator.connect, 0)
            ctx.set(pair.completer.connect, 0)
            # Either side may ask first, or both at once.
            await run(ctx, rng.randrange(4))
            late = (pair.originator, pair.completer)[round % 2]
            ctx.set((pair.originator, pair.completer)[1 - round % 2].connect, 1)
            await run(ctx, rng.randrange(6) * (round < 2))
            ctx.set(late.connect, 1)
            await run(ctx, 70 + 20 * ports)
            if round == 2:
                traffic.asks, traffic.take = False, 1.0
                for _ in range(40 * ports):
                    await run(ctx, 1)
                assert not any(traffic.busy.values())
            assert ctx.get(checker.tracking) and not ctx.get(checker.first.valid)
            answered += traffic.answered
            await traffic.reset(ctx)
        assert answered > 30

    simulate(dut, bench)
