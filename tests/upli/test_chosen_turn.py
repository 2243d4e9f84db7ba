"""What the port of a slot offers where one, two or four take turns, against a Python list a port."""

import random
from collections import deque

import pytest

from support.upli.pair import simulate
from support.upli.turns import Struck, give_in_slots
from ualink.upli.channels import CHANNEL_LAYOUTS, CODED_LAYOUTS
from ualink.upli.chosen_turn import ChosenTurn
from ualink.upli.code import control_names


@pytest.mark.req("UPLI-084")
@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.4, 0.7)])
@pytest.mark.parametrize("ports", [2, 4])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_each_port_in_its_slot(channel, ports, offer, take):
    """In a slot there is the oldest beat of its port, if the port had it in the cycle before; what is taken is taken
    from that port, from those that only take turns with all four a cycle later."""
    give_in_slots(ChosenTurn(channel), channel, ports, (2, 3), (offer, take))


@pytest.mark.req("UPLI-084")
@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.4, 0.7), (0.9, 0.5)])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_of_one_port_alone_two_wait(channel, offer, take):
    """It offers its beats a cycle later, in their order, and has another taken while there are fewer than two; one in
    every cycle, where the device takes one in every cycle."""
    dut = ChosenTurn(channel)
    rng = random.Random(f"{channel} {offer}")
    number = "data" if channel == "orig_data" else "tag"

    async def bench(ctx):
        ctx.set(dut.used, 1)
        port, inside, given, full = dut.offered[0], deque(), 1, 0
        there = False
        for _ in range(400):
            there = there or rng.random() < offer
            ready = rng.random() < take
            ctx.set(port.valid, there)
            ctx.set(port.p[number], given if there else rng.randrange(1, 900))
            ctx.set(dut.beats.ready, ready)
            assert ctx.get(dut.beats.valid) == bool(inside)
            if inside:
                assert ctx.get(dut.beats.p[number]) == inside[0]
            assert ctx.get(port.ready) == (len(inside) < 2)
            assert ctx.get(dut.moves) == bool(inside)
            full += len(inside) == 2
            arrives = there and len(inside) < 2
            if ready and inside:
                inside.popleft()
            if arrives:
                inside.append(given)
                given, there = given + 1, False
            await ctx.tick()
        assert given > 400 * min(offer, take) * 0.8
        assert full > 10 or take == 1.0

    simulate(dut, bench)


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
@pytest.mark.parametrize("name", ["taken", "taken_not"])
def test_what_is_taken_leaves_once(channel, name):
    """In whatever cycle an upset changes whether a beat of the last of four ports was taken: none leaves as a good one
    that has left before, and none is left out."""
    turn = Struck(ChosenTurn(channel, coded=True), channel, 3, name)
    assert len(turn.struck) == 1
    turn.each_leaves_once()


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
@pytest.mark.parametrize("name", ["there", "there_not", "waits", "waits_not", "untold"])
def test_of_one_port_alone_none_is_lost_unseen(channel, name):
    """In whatever cycle an upset changes whether a beat is there: none leaves as a good one twice, or before another
    that leaves after it, and where one is left out one with a wrong code leaves."""
    turn = Struck(ChosenTurn(channel, coded=True), channel, 0, name)
    assert len(turn.struck) == 1

    async def bench(ctx):
        every, lost = list(range(1, 8)), 0
        for period in (1, 2, 3):
            for phase in range(period):
                take = lambda cycle, period=period, phase=phase: cycle % period == phase  # noqa: E731
                assert await turn.play(ctx, None, take) == (every, [])
                for strike in range(1, 8 * period):
                    good, bad = await turn.play(ctx, strike, take)
                    assert good == sorted(set(good))
                    assert good == every or bad, (period, phase, strike)
                    lost += good != every
        assert lost >= 7

    simulate(turn.design, bench)


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("channel", [channel for channel in CHANNEL_LAYOUTS if channel != "orig_data"])
@pytest.mark.parametrize("name", ["beat", "behind"])
def test_what_waits_of_one_port_alone_keeps_its_code(channel, name):
    """A bit of what waits that flips in any cycle is found by the code, or was of no beat."""
    turn = Struck(ChosenTurn(channel, coded=True), channel, 0, name)
    rng = random.Random(f"{channel} {name}")

    async def bench(ctx):
        every, found = list(range(1, 8)), 0
        layout = CODED_LAYOUTS[channel]
        places = [bit for name in control_names(channel) for bit in range(*_bits(layout[name]))]
        for strike in range(1, 15):
            for bit in rng.sample(places, 6):
                good, bad = await turn.play(ctx, strike, lambda cycle: cycle % 2, bit)
                assert good == every or (len(bad) == 1 and len(good) == 6)
                found += bool(bad)
        assert found >= 14

    simulate(turn.design, bench)


def _bits(field):
    return field.offset, field.offset + field.width
