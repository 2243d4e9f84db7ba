"""When Drop Mode is entered and left, and when the transaction layer may be online."""

import itertools
import random

import pytest
from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from ualink.tl.session.drop_mode import DROP_CAUSE_LAYOUT, DropMode
from ualink_sim.model.tl.drop_mode import TLDropMode

EVENTS = {"control_error": "control_error", "protocol_error": "protocol_error", "command": "command"} | {
    "other_down": "link_down"
}


def simulate(bench):
    dut = DropMode()

    async def testbench(ctx):
        await bench(ctx, dut)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(testbench)
    simulator.run()


def outputs(ctx, dut):
    shown = {name for name in ("dropping", "up", "hold", "fell") if ctx.get(getattr(dut, name))}
    return shown | {name for name in DROP_CAUSE_LAYOUT.members if ctx.get(dut.cause[name])}


def run(script):
    """Play (inputs that change, names of the outputs that must be high in the same cycle) a cycle at a time."""

    async def bench(ctx, dut):
        for number, (inputs, expected) in enumerate(script):
            for name, value in inputs.items():
                ctx.set(getattr(dut, name), value)
            assert outputs(ctx, dut) == set(expected.split()), f"cycle {number}"
            await ctx.tick()

    simulate(bench)


@pytest.mark.req("TL-216", "RAS-110")
@pytest.mark.parametrize("event", ["control_error", "protocol_error", "command"])
def test_every_error_enters_and_only_clear_leaves(event):
    """From the cycle of the error on; after a clear, the second error enters as the first did, at every distance."""
    episode = [
        ({event: 1}, "dropping"),
        ({event: 0}, f"dropping {event}"),
        ({"clear": 1}, f"dropping {event}"),
        ({"clear": 0}, "dropping hold"),  # cleared; the link goes down once
        ({}, "dropping hold"),
        ({"online": 0}, "dropping hold"),
        ({}, "dropping"),
        ({"online": 1}, "up"),
    ]
    run([({"online": 1}, "up"), *episode, *episode])
    # The second error in each cycle from the clear on.
    for length in range(3, len(episode)):
        offline = "" if episode[length][0].get("online", length < 5) else "hold"
        late = ({**episode[length][0], event: 1, "clear": int(length == 2)}, f"dropping {offline}")
        run([({"online": 1}, "up"), *episode[:length], late, ({event: 0}, f"dropping {offline} {event}")])


@pytest.mark.req("TL-216", "RAS-110")
def test_an_error_that_lasts_wins_over_every_clear():
    run(
        [
            ({"control_error": 1, "clear": 1}, "dropping hold"),
            ({}, "dropping hold control_error"),
            ({"control_error": 0}, "dropping hold control_error"),
            ({"clear": 0}, "dropping"),
        ]
    )


@pytest.mark.req("TL-216", "RAS-116", "RAS-048")
def test_link_down_enters_always():
    run(
        [
            ({"online": 0}, ""),  # it has never been up
            ({"online": 1}, "up"),
            ({"online": 0}, "fell dropping hold"),
            ({}, "dropping hold link_down"),
            ({"online": 1}, "dropping link_down"),  # up again: no reason to leave
            ({"clear": 1}, "dropping link_down"),
            ({"clear": 0}, "dropping hold"),
            ({"online": 0}, "dropping hold"),  # this fall was asked for
            ({}, "dropping"),  # beats for a link that is down do not wait
            ({"online": 1}, "up"),
            ({"online": 0}, "fell dropping hold"),
            ({"clear": 1}, "dropping hold link_down"),
            ({"clear": 0}, "dropping"),
            ({"online": 1}, "up"),
            ({"other_down": 1}, "dropping"),
            ({"other_down": 0}, "dropping link_down"),
        ]
    )


def test_an_event_wins_over_clear():
    run(
        [
            ({"online": 1}, "up"),
            ({"control_error": 1}, "dropping"),
            ({"control_error": 0, "online": 0, "clear": 1}, "fell dropping hold control_error"),
            ({"clear": 0}, "dropping hold link_down"),
        ]
    )


def test_as_the_model():
    """Random events, clears and links."""
    rng = random.Random(7)

    async def bench(ctx, dut):
        model, online = TLDropMode(), False
        for _ in range(4000):
            online ^= rng.random() < 0.15
            inputs = {name: rng.random() < 0.04 for name in EVENTS}
            clear = rng.random() < 0.3
            for name, value in {**inputs, "online": online, "clear": clear}.items():
                ctx.set(getattr(dut, name), value)
            causes = set(model.causes)
            shown = model.step(online, {EVENTS[name] for name, value in inputs.items() if value}, clear)
            assert outputs(ctx, dut) == {name for name, value in shown.items() if value} | causes
            await ctx.tick()

    simulate(bench)


@pytest.mark.req("TL-216")
def test_two_ends_always_come_together():
    """Whatever happened, and in whatever order management clears both ends, the link ends up in a session in which
    neither dropped anything: nobody has to hit a moment."""

    def step(ends, down, clears=(False, False), events=(set(), set())):
        held = any(end["hold"] for end in shown)
        link.append(0 if held or down else min(link[-1] + 1, 9))
        return [end.step(link[-1] >= 9, event, clear) for end, event, clear in zip(ends, events, clears)]

    orders = itertools.product((0, 1), (0, 1, 2, 9, 20, 40), ("control_error", "link", "command"), (0, 3, 30))
    for first, apart, cause, wait in orders:
        ends, link = [TLDropMode(), TLDropMode()], [0]
        shown = [{"hold": False}] * 2
        for _ in range(12):
            shown = step(ends, False)
        assert all(end["up"] for end in shown)
        shown = step(ends, cause == "link", events=({cause} - {"link"}, set()))
        for _ in range(wait):
            shown = step(ends, False)
        rounds = 0
        while not all(end["up"] for end in shown):
            rounds += 1
            assert rounds < 4, "one clear after the other for ever"
            for cycle in range(apart + 30):
                late = [0 if n == first else apart for n in range(2)]
                shown = step(ends, False, [bool(end.causes) and cycle == late[n] for n, end in enumerate(ends)])


class DropBench(wiring.Component):
    """The transaction layer is online in no cycle of a session that Drop Mode has cut."""

    control_error: In(1)
    protocol_error: In(1)
    other_down: In(1)
    command: In(1)
    online: In(1)
    clear: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = DropMode()
        for name in ("control_error", "protocol_error", "other_down", "command", "online", "clear"):
            m.d.comb += getattr(dut, name).eq(getattr(self, name))
        was_dropping, was_active, was_cleared, was_online, spoilt = (Signal() for _ in range(5))
        event = self.control_error | self.protocol_error | self.other_down | self.command
        active = dut.cause.as_value().any()
        m.d.sync += [
            was_dropping.eq(dut.dropping),
            was_active.eq(active | event | dut.fell),
            was_cleared.eq(self.clear),
            was_online.eq(self.online),
            spoilt.eq(self.online & (spoilt | dut.dropping)),
        ]
        asked_for = spoilt & ~active
        m.d.comb += [
            Assert(~dut.up | (self.online & ~dut.dropping & ~spoilt)),
            Assert(dut.up | dut.dropping | ~self.online),
            Assert(~event | dut.dropping),
            Assert(~(was_online & ~self.online) | dut.fell | asked_for),
            # Only a session that nothing cut ends dropping, and only after a clear.
            Assert(~(was_dropping & ~dut.dropping) | (dut.up & ~active)),
            Assert(~(was_active & ~was_cleared) | active),
            # Dropping does not begin by itself.
            Assert(was_dropping | ~dut.dropping | event | dut.fell),
            Assert(~(dut.dropping & active & ~self.online) | dut.hold),
        ]
        return m


@pytest.mark.req("TL-216", "RAS-110")
def test_drop_mode_for_ever():
    prove(DropBench(), mode="prove", depth=3)
