"""Copies of how many contexts are used: how many there are, and when they come to agree."""

from collections import Counter

import pytest
from amaranth.hdl import Fragment, Module, ResetInserter, Signal
from amaranth.hdl._xfrm import LHSMaskCollector
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.lib.interleave import Interleaver
from ualink.lib.ports_used import RESTART_CYCLES, copy_of


class Wide(wiring.Component):
    """Registers of 200 bits in one module, of 70 (``there``) in another below a third that has none."""

    bit: In(1)

    def __init__(self):
        self.there = [Signal(35, name=f"there_{n}") for n in range(2)]
        super().__init__()

    def elaborate(self, platform):
        m, middle, below = Module(), Module(), Module()
        for n in range(4):
            here = Signal(50, name=f"here_{n}")
            m.d.sync += here.eq(here + self.bit)
        for there in self.there:
            below.d.sync += there.eq(there + self.bit)
        middle.submodules.below = below
        m.submodules.middle = middle
        return m


def test_many_registers_look_at_many_copies_of_what_is_used():
    """A leaf for 64 bits, behind a branch in each module on the way."""
    used = Signal(3, init=1)
    fragment = Fragment.get(Interleaver(4, Signal(2), used=used)(Wide()), None)

    def copies(fragment):
        driven = LHSMaskCollector()
        driven.visit_stmt(fragment.statements.get("sync", []))
        found = [signal for signal, _ in driven.masks() if signal.name.startswith("used_")]
        assert all(signal.reset_less and signal.attrs == {"keep": 1} and signal.init == 1 for signal in found)
        names = Counter(signal.name for signal in found)
        return [(names["used_branch"], names["used_here"]), *(copies(inner) for inner, _, _ in fragment.subfragments)]

    assert copies(fragment) == [(1, 4), [(1, 0), [(1, 2)]]]


class Deep(wiring.Component):
    """``bottom`` below so many modules without a register."""

    def __init__(self, levels, bottom):
        self._levels, self._bottom = levels, bottom
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.below = Deep(self._levels - 1, self._bottom) if self._levels else self._bottom
        return m


LEVELS = RESTART_CYCLES - 7
"""As many as there may be: four others are above and below."""


def test_copies_do_not_come_later_than_a_restart_lasts():
    """Behind the copy that a station gives to a room the last comes with its last cycle: what begins after one cycle
    less goes wrong."""
    used, clear, bottom = Signal(3, init=4), Signal(), Wide()
    top = Module()
    top.submodules.room = Interleaver(4, Signal(2), used=copy_of(top, used))(Deep(LEVELS, bottom))

    async def bench(ctx):
        for cycles in (RESTART_CYCLES, RESTART_CYCLES - 1):
            ctx.set(clear, 1)
            ctx.set(used, 4)
            await ctx.tick().repeat(2 * RESTART_CYCLES)
            ctx.set(bottom.bit, 0)
            # Another number is used from the second cycle on.
            await ctx.tick()
            ctx.set(used, 1)
            await ctx.tick().repeat(cycles - 1)
            ctx.set(clear, 0)
            ctx.set(bottom.bit, 1)
            await ctx.tick().repeat(3)
            assert all(ctx.get(there) == 3 for there in bottom.there) == (cycles == RESTART_CYCLES)

    simulator = Simulator(ResetInserter(clear)(Fragment.get(top, None)))
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_more_levels_than_copies_can_follow_in_are_refused():
    with pytest.raises(ConfigError, match=r"more than 13 levels of hierarchy"):
        Fragment.get(Interleaver(4, Signal(2), used=Signal(3))(Deep(LEVELS + 1, Wide())), None)
