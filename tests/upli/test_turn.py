"""What the port of a slot offers, against a Python list a port."""

import random
from collections import deque

import pytest
from amaranth.hdl import Module, Signal

from support.upli.pair import simulate
from ualink.config import ConfigError
from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.turn import Turn


@pytest.mark.req("UPLI-084")
@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.4, 0.7)])
@pytest.mark.parametrize(("ports", "choosable"), [(1, False), (2, False), (4, False), (1, True), (2, True), (4, True)])
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
            expected = queues[0][0] if ports == 1 and queues[0] else before[slot]
            assert ctx.get(dut.beats.valid) == (expected is not None)
            if expected is not None:
                assert ctx.get(dut.beats.p[number]) == expected
            for port in range(ports):
                assert ctx.get(dut.offered[port].ready) == (ready and port == slot)
            if ready and expected is not None:
                assert queues[slot].popleft() == expected
                taken += 1
            before = [queue[0] if queue else None for queue in queues]
            await ctx.tick()
        assert taken > 400 * offer * take / ports / 3

    m = Module()
    m.submodules.dut = dut
    m.d.sync += Signal(name="with_a_clock").eq(1)
    simulate(m, bench)


def test_refuses_ports():
    with pytest.raises(ConfigError, match="turn.ports is 3"):
        Turn("req", 3)
