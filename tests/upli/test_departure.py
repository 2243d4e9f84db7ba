"""The last place before the pins, against a Python list a port, and of ports that take turns against a place a port,
bit by bit; and that nothing goes through it within a cycle.

CI offers and accepts always and at one other rate; ``make soak`` (UALINK_SOAK=1) at more.
"""

import os
import random
from collections import deque

import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator

from support.upli.pair import field
from ualink.config import ConfigError
from ualink.upli.channels import CHANNEL_LAYOUTS, CODE_LAYOUTS, CODED_LAYOUTS, PROTECTED_BITS
from ualink.upli.departure import DUE_LAYOUT, Departure

SOME = [(1.0, 1.0), (0.9, 0.3)]
RATES = [*SOME, (0.3, 0.9), (0.5, 0.5)] if os.environ.get("UALINK_SOAK") else SOME
FIELDS = ("tag", "vc", "num_beats", "cmd", "auth_tag", "data")
"""What tells beats apart, as far as a channel has it."""


def run(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


def made(rng, channel: str, number: int) -> dict[str, int]:
    """Beat ``number``, another one than its neighbours."""
    fields = {name: field.shape for name, field in CHANNEL_LAYOUTS[channel] if name in FIELDS}
    beat = {name: rng.randrange(1 << min(shape, 32)) for name, shape in fields.items()}
    beat["data" if channel == "orig_data" else "tag"] = number % 2048
    return beat


def due_of(beat: dict[str, int]) -> dict[str, int]:
    """``DUE_LAYOUT`` of it, which has numbers twice, as such and in one-hot bits."""
    asks = {"num_beats": beat["num_beats"], "asks": 1 << beat["num_beats"]} if "num_beats" in beat else {}
    return {"with_data": beat.get("cmd", 0) >> 5, "num_beats": 0, "asks": 0, "vc": 1 << beat["vc"]} | asks


@pytest.mark.soak
@pytest.mark.parametrize("ports", [1, 2, 4])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
@pytest.mark.parametrize(("offer", "accept"), RATES)
def test_what_is_taken_leaves_in_order(ports, channel, offer, accept):
    """Beats leave in their order, at the pins is the one that left, with what is decided by; a place waits for no
    other port; beats pass one in a cycle, with several ports one in a round, and come in before the slot only."""
    dut = Departure(channel, ports)
    rng = random.Random(f"{ports} {channel} {offer}")
    places = 2 if ports == 1 else 1

    async def bench(ctx):
        inside = [deque() for _ in range(ports)]
        pins, expected, left, refused = {}, None, 0, 0
        for cycle in range(600):
            slot = cycle % ports
            ctx.set(dut.slot, slot)
            shown = inside[slot][0] if inside[slot] else None
            free = [
                len(beats) < places and (ports == 1 or (port == (slot + 1) % ports and cycle > 0))
                for port, beats in enumerate(inside)
            ]
            # It is what the last cycle left that counts, whatever comes and goes in this one.
            for ready in (0, 1):
                ctx.set(dut.accept, ready and shown is not None)
                for port, stream in enumerate(dut.beats):
                    assert ctx.get(stream.ready) == free[port]
                assert ctx.get(dut.valid) == (shown is not None)
            if expected is not None:
                assert pins == expected
                expected = None
            if shown is not None:
                due = ctx.get(dut.due)
                assert {name: due[name] for name, _ in DUE_LAYOUT} == due_of(shown)
                assert "auth_tag" not in shown or ctx.get(dut.auth_tag) == shown["auth_tag"]
            accepts = shown is not None and rng.random() < accept
            ctx.set(dut.accept, accepts)
            taken = []
            for port, stream in enumerate(dut.beats):
                # A station offers in the cycle before the port's slot, others in any.
                offers = rng.random() < offer
                beat = made(rng, channel, cycle)
                ctx.set(stream.p, beat)
                ctx.set(stream.valid, offers)
                if offers and free[port]:
                    taken.append((port, beat))
                refused += offers and not free[port]
            if not ctx.get(dut.hold):
                now = ctx.get(dut.beat)
                pins = {name: now[name] for name in made(rng, channel, 0)}
            await ctx.tick()
            if accepts:
                expected = inside[slot].popleft()
                left += 1
            for port, beat in taken:
                inside[port].append(beat)
        always = offer == accept == 1.0
        assert left > (590 if always else 100)
        assert (refused == 0) if always and ports == 1 else (refused or offer < accept)

    run(dut, bench)


class Turns:
    """What is at the pins of ports that take turns: a place a port, filled in the cycle before its slot and emptied in
    its slot. ``slot`` owns this cycle."""

    def __init__(self, ports: int):
        self.places: list[int | None] = [None] * ports
        self.slot, self.pins, self.begun = 0, 0, False

    @property
    def following(self) -> int:
        return (self.slot + 1) % len(self.places)

    @property
    def shown(self) -> int | None:
        return self.places[self.slot]

    def ready(self, port: int) -> bool:
        return self.begun and port == self.following and self.places[port] is None

    def step(self, offered: dict[int, int], leaves: bool) -> None:
        """The beats that are ``offered``, by port, and whether the one that is shown leaves."""
        if self.shown is not None:
            self.pins = self.shown
        if leaves:
            self.places[self.slot] = None
        if self.following in offered and self.ready(self.following):
            self.places[self.following] = offered[self.following]
        self.slot, self.begun = self.following, True


ROUNDS = 5
"""So many a beat stays, and its neighbours pass or stay with it."""

STORIES = {
    "all pass in each slot": (lambda rng, n, port: True, lambda rng, n, port: True),
    "all come at once, and none leaves for some rounds": (
        lambda rng, n, port: True,
        lambda rng, n, port: n // ROUNDS % 2,
    ),
    "one stays while its neighbours pass": (lambda rng, n, port: True, lambda rng, n, port: n // ROUNDS % 4 != port),
    "one is alone": (lambda rng, n, port: n // ROUNDS % 4 == port, lambda rng, n, port: n % 3 == 0),
    "none comes for some rounds": (lambda rng, n, port: n // ROUNDS % 2, lambda rng, n, port: rng.random() < 0.8),
    "any": (lambda rng, n, port: rng.random() < 0.5, lambda rng, n, port: rng.random() < 0.4),
}
"""By round n and port, whether a beat is offered, and whether the one that is shown leaves."""


def fits(channel: str, beat: int) -> bool:
    """The code of control of ``beat``."""
    layout = CODED_LAYOUTS[channel]
    own = sum((1 << place.width) - 1 << place.offset for name, place in layout if name in PROTECTED_BITS)
    own |= (1 << CODE_LAYOUTS[channel].size) - 2 << layout["code"].offset
    return (beat & ~own).bit_count() % 2 == 0


@pytest.mark.parametrize("ports", [2, 4])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_ports_that_take_turns(ports, channel):
    """In every cycle all bits at the pins, with their code, are those of a place a port, however long a beat stays and
    whatever the other ports do; only the port that comes next is ready; a wrong code is told in each of its slots."""
    dut, rng = Departure(channel, ports, coded=True), random.Random(f"{channel} {ports}")
    tagged = "auth_tag" in CHANNEL_LAYOUTS[channel].members

    async def bench(ctx):
        turns, pins, wrong = Turns(ports), 0, False
        stayed: set[int] = set()
        for offers, leaves in STORIES.values():
            stays = dict.fromkeys(range(ports), 0)
            for cycle in range(4 * ROUNDS * ports):
                n, slot, shown = cycle // ports, turns.slot, turns.shown
                ctx.set(dut.slot, slot)
                offered = {}
                for port, stream in enumerate(dut.beats):
                    beat = rng.getrandbits(CODED_LAYOUTS[channel].size)
                    ctx.set(Value.cast(stream.p), beat)
                    comes = bool(offers(rng, n, port))
                    ctx.set(stream.valid, comes)
                    offered |= {port: beat} if comes else {}
                goes = shown is not None and bool(leaves(rng, n, slot))
                ctx.set(dut.accept, goes)
                assert [ctx.get(stream.ready) for stream in dut.beats] == [*map(turns.ready, range(ports))]
                assert ctx.get(dut.valid) == (shown is not None) == (not ctx.get(dut.hold))
                assert ctx.get(dut.upset) == wrong
                assert pins == turns.pins
                wrong = shown is not None and not fits(channel, shown)
                if shown is not None:
                    known = {
                        name: field(channel, shown, name) for name in FIELDS if name in CHANNEL_LAYOUTS[channel].members
                    }
                    due = ctx.get(dut.due)
                    assert {name: due[name] for name, _ in DUE_LAYOUT} == due_of(known)
                    assert not tagged or ctx.get(dut.auth_tag) == known["auth_tag"]
                    pins = ctx.get(Value.cast(dut.beat))
                stays[slot] = stays[slot] + 1 if shown is not None and not goes else 0
                stayed.add(stays[slot])
                turns.step(offered, goes)
                await ctx.tick()
        assert stayed >= set(range(ROUNDS + 1))

    run(dut, bench)


@pytest.mark.parametrize("waits", range(4))
def test_each_cycle_in_which_a_beat_may_be_let_go(waits):
    """One port: two beats, of which the first leaves after some cycles and the second one at once or later; a third one
    comes in each of these cycles. None is lost, doubled or changed while it waits."""
    dut = Departure("orig_data", 1)
    stream = dut.beats[0]

    async def bench(ctx):
        for second in range(4):
            for third in range(8):
                leaves = {waits + 1, waits + 2 + second, *range(12, 16)}
                offered, got, pins = 0, [], None
                for cycle in range(20):
                    # What is on offer while nothing is valid must not matter.
                    comes = offered < 2 or (offered == 2 and cycle >= third)
                    ctx.set(stream.valid, comes)
                    ctx.set(stream.p.data, 100 + offered if comes else 7)
                    goes = cycle in leaves and ctx.get(dut.valid)
                    ctx.set(dut.accept, goes)
                    taken = comes and ctx.get(stream.ready)
                    if not ctx.get(dut.hold):
                        pins = ctx.get(dut.beat).data
                    await ctx.tick()
                    offered += taken
                    if goes:
                        got.append(pins)
                assert got == [100, 101, 102], (waits, second, third)

    run(dut, bench)


@pytest.mark.parametrize("ports", [0, 3, 5, "2"])
def test_ports_are_checked(ports):
    with pytest.raises(ConfigError):
        Departure("req", ports)
