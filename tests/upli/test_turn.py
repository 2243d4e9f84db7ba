"""What the port of a slot offers, against a Python list a port."""

import random
from collections import deque

import pytest
from amaranth.hdl import Module, Signal, Value

from support.upli.pair import simulate
from support.upsets import collect
from ualink.config import ConfigError
from ualink.upli.channels import CHANNEL_LAYOUTS, CODED_LAYOUTS
from ualink.upli.code import control_names, control_wrong
from ualink.upli.turn import Turn


@pytest.mark.req("UPLI-084")
@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.4, 0.7)])
@pytest.mark.parametrize(("ports", "choosable"), [(2, False), (4, False), (2, True), (4, True)])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_each_port_in_its_slot(channel, ports, choosable, offer, take):
    """In a slot there is the oldest beat of its port, if the port had it in the cycle before; what is taken is taken
    from that port, of four that always take turns a cycle later, and of those that only take turns with all four."""
    dut = Turn(channel, 4 if choosable else ports, choosable=choosable)
    rng = random.Random(f"{channel} {ports} {choosable} {offer}")
    number = "data" if channel == "orig_data" else "tag"

    async def bench(ctx):
        if choosable:
            ctx.set(dut.used, ports)
        queues, given, taken = [deque() for _ in range(ports)], 0, 0
        later = () if ports == 2 else (2, 3) if choosable else (0, 1, 2, 3)
        before, told = [None] * ports, {}
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
            goes = {slot: expected} if ready and expected is not None else {}
            here, told = (told, goes) if slot in later else (told | goes, {})
            leaves = [bool(ctx.get(stream.valid) and ctx.get(stream.ready)) for stream in list(dut.offered)[:ports]]
            assert leaves == [port in here for port in range(ports)]
            before = heads
            for port, beat in here.items():
                taken += 1
                assert queues[port].popleft() == beat
            await ctx.tick()
        assert taken > 400 * offer * take / ports / 3

    simulate(dut, bench)


@pytest.mark.req("UPLI-084")
@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.4, 0.7), (0.9, 0.5)])
@pytest.mark.parametrize("choosable", [False, True])
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
def test_of_one_port_alone_two_wait(channel, choosable, offer, take):
    """It offers its beats a cycle later, in their order, and has another taken while there are fewer than two; one in
    every cycle, where the device takes one in every cycle."""
    dut = Turn(channel, 4 if choosable else 1, choosable=choosable)
    rng = random.Random(f"{channel} {choosable} {offer}")
    number = "data" if channel == "orig_data" else "tag"

    async def bench(ctx):
        if choosable:
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
            if choosable:
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


class Struck:
    """Beats of one port of a ``Turn``, in plays of which each has an upset of the register ``name`` in one cycle."""

    def __init__(self, channel, ports, name):
        self.dut, self._channel = Turn(channel, ports, coded=True), channel
        self._port = min(1, ports - 1)
        self._wrong = Signal()
        m = Module()
        m.submodules.dut = self.dut
        m.d.comb += self._wrong.eq(control_wrong(channel, self.dut.beats.p, self.dut.beats.p.code))
        self.design, self._places, _ = collect(m)
        self.struck = [place.signal for place in self._places if place.path == ("dut", name)]

    async def play(self, ctx, strike, take=lambda cycle: True, bit=0):
        """What left as good and what left with a wrong code, of seven beats. What is good is what was offered, but for
        data, which have codes of their own."""
        dut, channel = self.dut, self._channel
        number = "data" if channel == "orig_data" else "tag"
        for register in self._places:
            ctx.set(Value.cast(register.signal), register.signal.init)
        queue, good, bad, offers = deque(range(1, 8)), [], [], {}
        for cycle in range(40):
            if cycle == strike:
                for signal in self.struck:
                    ctx.set(Value.cast(signal), ctx.get(Value.cast(signal)) ^ 1 << bit)
            there = bool(queue) and (self.struck or cycle != strike)
            ctx.set(dut.slot, cycle % dut.ports)
            offered = dut.offered[self._port]
            ctx.set(offered.valid, bool(there))
            beat = queue[0] if queue else 0
            ctx.set(offered.p[number], beat)
            if channel != "orig_data":
                ctx.set(offered.p.code.control, beat.bit_count() % 2)
                offers[beat] = [ctx.get(offered.p[name]) for name in control_names(channel)]
            ctx.set(dut.beats.ready, take(cycle))
            if ctx.get(dut.beats.valid) and take(cycle):
                leaves = ctx.get(dut.beats.p[number])
                (bad if ctx.get(self._wrong) else good).append(leaves)
                if offers and not ctx.get(self._wrong):
                    assert [ctx.get(dut.beats.p[name]) for name in control_names(channel)] == offers[leaves]
            if there and ctx.get(offered.ready):
                queue.popleft()
            await ctx.tick()
        return good, bad


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
@pytest.mark.parametrize("name", ["taken", "taken_not", "offered"])
def test_what_is_taken_leaves_once(channel, name):
    """In whatever cycle an upset changes whether a beat was taken, or a port offers nothing for one: none leaves as a
    good one that has left before, and none is left out."""
    turn = Struck(channel, 4, name)
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


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("channel", CHANNEL_LAYOUTS)
@pytest.mark.parametrize("name", ["there", "there_not", "waits", "waits_not", "untold"])
def test_of_one_port_alone_none_is_lost_unseen(channel, name):
    """In whatever cycle an upset changes whether a beat is there: none leaves as a good one twice, or before another
    that leaves after it, and where one is left out one with a wrong code leaves."""
    turn = Struck(channel, 1, name)
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
    turn = Struck(channel, 1, name)
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


@pytest.mark.parametrize("ports", [0, 3])
def test_refuses_ports(ports):
    with pytest.raises(ConfigError, match=f"turn.ports is {ports}"):
        Turn("req", ports)
