"""Shares of a buffer: what is guaranteed is always to be had, no queue has more than its cap, nor all together."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from support.switch.bench import run
from ualink.config import ConfigError
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.shares import Shares

DEPTHS = {"req": 1, "orig_data": 4, "rd_rsp": 4, "wr_rsp": 1}


@pytest.mark.parametrize(
    ("name", "value"), [("req", 0), ("orig_data", 3), ("rd_rsp", None), ("wr_rsp", True), ("shared", -1)]
)
def test_refuses_depths(name, value):
    with pytest.raises(ConfigError, match=f"{name}.*{value!r}"):
        QueueDepths(**DEPTHS | {name: value})


class SharesModel:
    """Beats of each queue, and who has room."""

    def __init__(self, ways, depth, shared):
        self.depth, self.least = depth, min(depth, 4)
        self.shared = min(shared, ways * (depth - self.least))
        self.levels = [0] * ways

    def room(self, n):
        level = self.levels[n]
        beyond = sum(max(0, level - self.least) for level in self.levels)
        return level < self.least or (level < self.depth and beyond < self.shared)


@pytest.mark.req("SW-035", "SW-037", "SW-038")
@pytest.mark.parametrize(
    ("ways", "depth", "shared"), [(3, 6, 3), (4, 32, 32), (2, 4, 5), (3, 1, 8), (2, 5, 0), (1, 9, 99)]
)
def test_against_a_model(ways, depth, shared):
    """Phases in which some queues stand still and others empty, in one cycle a beat comes and one leaves."""
    dut, model = Shares(ways, depth, shared), SharesModel(ways, depth, shared)
    rng = random.Random(f"{ways} {depth} {shared}")
    fullest, seen = [0] * ways, set()

    async def bench(ctx):
        for cycle in range(1500):
            if cycle % 60 == 0:
                targets, push, pop = rng.sample(range(ways), rng.randint(1, ways)), rng.random(), rng.random()
            room = [model.room(n) for n in range(ways)]
            assert [bool(ctx.get(dut.room) >> n & 1) for n in range(ways)] == room
            assert [ctx.get(level) for level in dut.levels] == model.levels
            seen.add(tuple(room))
            into = [n for n in targets if room[n]] if rng.random() < push else []
            out = [n for n in range(ways) if model.levels[n]] if rng.random() < pop else []
            into, out = into and [rng.choice(into)], out and [rng.choice(out)]
            ctx.set(dut.push, sum(1 << n for n in into))
            ctx.set(dut.pop, sum(1 << n for n in out))
            await ctx.tick()
            for n in into:
                model.levels[n] += 1
            for n in out:
                model.levels[n] -= 1
            fullest[:] = map(max, fullest, model.levels)

    run(dut, bench)
    assert max(fullest) == min(depth, model.least + model.shared)
    assert (True,) * ways in seen and any(not all(room) for room in seen)


class Bench(wiring.Component):
    """Pushes where there is room and pops of what is inside, one of each in a cycle, otherwise at will."""

    def __init__(self, ways, depth, shared):
        self.shares = Shares(ways, depth, shared)
        super().__init__({"push": In(ways), "pop": In(ways)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.shares = shares = self.shares
        least = shares.guaranteed
        beyond = [Signal(range(shares.depth + 1), name=f"beyond_{n}") for n in range(shares.ways)]
        for n, level in enumerate(shares.levels):
            with m.If(level > least):
                m.d.comb += beyond[n].eq(level - least)
            m.d.comb += [
                Assume(~self.pop[n] | (level != 0)),
                Assert(level <= shares.depth),
                Assert((level >= least) | shares.room[n]),
            ]
        for bits in (self.push, self.pop):
            m.d.comb += Assume((bits & (bits - 1)) == 0)
        m.d.comb += [
            shares.push.eq(self.push & shares.room),
            shares.pop.eq(self.pop),
            Assert(sum(beyond) <= shares.shared),
        ]
        return m


@pytest.mark.req("SW-028", "SW-035", "SW-037")
def test_what_is_guaranteed_is_always_there_and_the_rest_is_never_overdrawn():
    prove(Bench(2, 6, 3), mode="bmc", depth=12)
