"""What the port of a slot offers, against a Python list a port."""

import random
from collections import deque

import pytest
from amaranth.hdl import Module, Signal

from support.upli.pair import simulate
from support.upli.turns import Struck
from ualink.config import ConfigError
from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.code import control_wrong
from ualink.upli.turn import Turn


@pytest.mark.req("UPLI-084")
@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.4, 0.7)])
@pytest.mark.parametrize("ports", [2, 4])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_each_port_in_its_slot(channel, ports, offer, take):
    """In a slot there is the oldest beat of its port, if the port had it in the cycle before; what is taken is taken
    from that port, of four a cycle later."""
    dut = Turn(channel, ports)
    rng = random.Random(f"{channel} {ports} False {offer}")
    number = "data" if channel == "orig_data" else "tag"

    async def bench(ctx):
        queues, given, taken = [deque() for _ in range(ports)], 0, 0
        later = ports == 4
        before, told = [None] * ports, None
        for cycle in range(400):
            slot = cycle % ports
            for port, queue in enumerate(queues):
                if len(queue) < 3 and rng.random() < offer:
                    queue.append(given := given + 1)
                ctx.set(dut.offered[port].valid, bool(queue))
                ctx.set(dut.offered[port].p[number], queue[0] if queue else rng.randrange(1, 900))
            ready = rng.random() < take
            ctx.set(dut.slot, slot)
            ctx.set(dut.beats.ready, ready)
            heads = [queue[0] if queue else None for queue in queues]
            expected = before[slot]
            assert ctx.get(dut.beats.valid) == (expected is not None)
            if expected is not None:
                assert ctx.get(dut.beats.p[number]) == expected
            goes = (slot, expected) if ready and expected is not None else None
            told, here = (goes, told) if later else (None, goes)
            leaves = [bool(ctx.get(stream.valid) and ctx.get(stream.ready)) for stream in list(dut.offered)[:ports]]
            assert leaves == [here is not None and port == here[0] for port in range(ports)]
            before = heads
            if here is not None:
                taken += 1
                assert queues[here[0]].popleft() == here[1]
            await ctx.tick()
        assert taken > 400 * offer * take / ports / 3

    simulate(dut, bench)


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_what_is_no_beat_is_never_a_good_one(channel):
    """Whether there is one may change by an upset: what is given then has a wrong code, and a beat has its own."""
    dut = Turn(channel, 2, coded=True)
    wrong = Signal()
    m = Module()
    m.submodules.dut = dut
    m.d.comb += wrong.eq(control_wrong(channel, dut.beats.p, dut.beats.p.code))

    async def bench(ctx):
        for cycle in range(12):
            ctx.set(dut.slot, cycle % 2)
            ctx.set(dut.offered[0].valid, cycle in (3, 6, 7))
            assert ctx.get(dut.beats.valid) == (cycle in (4, 8))
            if cycle:
                assert ctx.get(wrong) == (not ctx.get(dut.beats.valid))
            await ctx.tick()

    simulate(m, bench)


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
@pytest.mark.parametrize("name", ["taken", "taken_not", "offered"])
def test_what_is_taken_leaves_once(channel, name):
    """In whatever cycle an upset changes whether a beat was taken, or a port offers nothing for one: none leaves as a
    good one that has left before, and none is left out."""
    turn = Struck(Turn(channel, 4, coded=True), channel, 1, name)
    assert len(turn.struck) == (name != "offered")

    async def bench(ctx):
        every = list(range(1, 8))
        assert await turn.play(ctx, None) == (every, [])
        doubts = 0
        for strike in range(1, 36):
            good, bad = await turn.play(ctx, strike)
            assert sorted({*good, *bad}) == every and len(set(good)) == len(good)
            doubts += bool(bad)
        # In those in which the port hears.
        assert doubts >= 7

    simulate(turn.design, bench)


@pytest.mark.parametrize("ports", [1, 3])
def test_refuses_ports(ports):
    with pytest.raises(ConfigError, match=f"turn.ports is {ports}"):
        Turn("req", ports)
