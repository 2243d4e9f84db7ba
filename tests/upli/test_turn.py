"""What the port of a slot offers, against a Python list a port."""

import pytest
from amaranth.hdl import Module, Signal

from support.upli.pair import simulate
from support.upli.turns import Struck, give_in_slots
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
    give_in_slots(Turn(channel, ports), channel, ports, range(4) if ports == 4 else (), (offer, take))


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
    turn.each_leaves_once()


@pytest.mark.parametrize("ports", [1, 3])
def test_refuses_ports(ports):
    with pytest.raises(ConfigError, match=f"turn.ports is {ports}"):
        Turn("req", ports)
