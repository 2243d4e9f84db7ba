"""When Drop Mode is entered and left, and when the transaction layer may be online."""

import pytest
from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from formal import prove
from ualink.tl.drop_mode import DropMode


def run(script):
    """Play (inputs that change, names of the outputs that must be high in the same cycle) a cycle at a time."""
    dut = DropMode()

    async def bench(ctx):
        for number, (inputs, expected) in enumerate(script):
            for name, value in inputs.items():
                ctx.set(getattr(dut, name), value)
            outputs = {name for name in ("dropping", "up", "restart") if ctx.get(getattr(dut, name))}
            outputs |= {name for name in ("link_down", "control_error") if ctx.get(dut.cause[name])}
            assert outputs == set(expected.split()), f"cycle {number}"
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.req("RAS-042", "TL-216")
def test_control_error_enters_once_and_only_clear_leaves():
    run(
        [
            ({"online": 1}, "up"),
            ({"control_error": 1}, "up"),
            ({}, "dropping control_error"),
            ({}, "dropping control_error"),
            ({"clear": 1}, "dropping control_error"),
            ({"clear": 0}, "restart"),  # the level is still high
            ({"control_error": 0}, "restart"),
            ({"online": 0}, "restart"),
            ({}, ""),
            ({"online": 1}, "up"),
            ({"control_error": 1}, "up"),
            ({"control_error": 0}, "dropping control_error"),
            ({"online": 0}, "dropping control_error"),
            ({"clear": 1}, "dropping control_error"),
            ({"clear": 0, "online": 1}, "up"),
        ]
    )


def test_a_level_that_is_high_when_reset_ends_enters():
    run([({"control_error": 1}, ""), ({}, "dropping control_error")])


@pytest.mark.req("RAS-042", "TL-216")
def test_link_down_enters_if_it_is_to():
    run(
        [
            ({"online": 0, "drop_on_link_down": 1}, ""),  # it has never been up
            ({"online": 1}, "up"),
            ({"online": 0}, ""),
            ({"online": 1}, "dropping link_down"),  # up again: no reason to leave
            ({}, "dropping link_down"),
            ({"clear": 1}, "dropping link_down"),
            ({"clear": 0}, "restart"),
            ({"online": 0}, "restart"),  # this fall was asked for
            ({"online": 1}, "up"),
            ({"drop_on_link_down": 0}, "up"),
            ({"online": 0}, ""),
            ({}, ""),
        ]
    )


def test_an_event_wins_over_clear():
    run(
        [
            ({"online": 1, "drop_on_link_down": 1}, "up"),
            ({"control_error": 1}, "up"),
            ({"online": 0, "clear": 1}, "dropping control_error"),
            ({"clear": 0}, "dropping link_down"),
        ]
    )


class DropBench(wiring.Component):
    """The transaction layer is online in no cycle of a session that Drop Mode has cut."""

    control_error: In(1)
    drop_on_link_down: In(1)
    online: In(1)
    clear: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = DropMode()
        for name in ("control_error", "drop_on_link_down", "online", "clear"):
            m.d.comb += getattr(dut, name).eq(getattr(self, name))
        was_error, was_dropping, was_cleared, was_online = (Signal() for _ in range(4))
        rose, fell, spoilt = Signal(), Signal(), Signal()
        m.d.sync += [
            was_error.eq(self.control_error),
            was_dropping.eq(dut.dropping),
            was_cleared.eq(self.clear),
            was_online.eq(self.online),
            rose.eq(self.control_error & ~was_error),
            fell.eq(was_online & ~self.online & self.drop_on_link_down),
            spoilt.eq(self.online & (spoilt | dut.dropping)),
        ]
        m.d.comb += [
            Assert(~dut.up | (self.online & ~dut.dropping & ~spoilt)),
            Assert(dut.up | ~self.online | dut.dropping | dut.restart),
            Assert(~dut.restart | (spoilt & ~dut.dropping)),
            Assert(~rose | dut.dropping),
            Assert(~(was_dropping & ~was_cleared) | dut.dropping),
            Assert(~(dut.dropping & (~was_dropping | was_cleared)) | rose | fell),
        ]
        return m


@pytest.mark.req("RAS-042", "TL-216")
def test_drop_mode_for_ever():
    prove(DropBench(), mode="prove", depth=3)
