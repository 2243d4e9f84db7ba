"""What the port of a slot offers, against a Python list a port."""

import random
from collections import deque

import pytest
from amaranth.hdl import Module, Signal

from support.upli.pair import simulate
from ualink.config import ConfigError
from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.code import control_wrong
from ualink.upli.turn import Turn


@pytest.mark.req("UPLI-084")
@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.4, 0.7)])
@pytest.mark.parametrize(("ports", "choosable"), [(2, False), (4, False), (1, True), (2, True), (4, True)])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_each_port_in_its_slot(channel, ports, choosable, offer, take):
    """In a slot there is the oldest beat of its port, if the port had it in the cycle before, and of one port alone at
    once; what is taken is taken from that port."""
    dut = Turn(channel, 4 if choosable else ports, choosable=choosable)
    rng = random.Random(f"{channel} {ports} {choosable} {offer}")
    number = "data" if channel == "orig_data" else "tag"

    async def bench(ctx):
        if choosable:
            ctx.set(dut.used, ports)
        queues, given, taken = [deque() for _ in range(ports)], 0, 0
        before = [None] * ports
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
            expected = heads[0] if ports == 1 else before[slot]
            assert ctx.get(dut.beats.valid) == (expected is not None)
            if expected is not None:
                assert ctx.get(dut.beats.p[number]) == expected
            leaves = [bool(ctx.get(stream.valid) and ctx.get(stream.ready)) for stream in list(dut.offered)[:ports]]
            assert leaves == [ready and expected is not None and port == slot for port in range(ports)]
            before = heads
            if any(leaves):
                taken += 1
                assert queues[slot].popleft() == expected
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


@pytest.mark.parametrize("ports", [1, 3])
def test_refuses_ports(ports):
    with pytest.raises(ConfigError, match=f"turn.ports is {ports}"):
        Turn("req", ports)
