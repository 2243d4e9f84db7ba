"""Beats that go through a turn of ports, in their slots, and while an upset strikes it."""

import random
from collections import deque

from amaranth.hdl import Module, Signal, Value

from support.upli.pair import simulate
from support.upsets import collect
from ualink.upli.code import control_names, control_wrong

__all__ = ["Struck", "give_in_slots"]


def give_in_slots(dut, channel, ports, later, chances):
    """Each of ``ports`` gets a beat, and what ``dut`` gives is taken, with these ``chances`` in a cycle.

    In a slot there is the oldest beat of its port, if the port had it in the cycle before; what is taken is taken from
    that port, from those in ``later`` a cycle later.
    """
    offer, take = chances
    rng = random.Random(f"{channel} {ports} {offer}")
    number = "data" if channel == "orig_data" else "tag"

    async def bench(ctx):
        if "used" in dut.signature.members:
            ctx.set(dut.used, ports)
        queues, given, taken = [deque() for _ in range(ports)], 0, 0
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


class Struck:
    """Beats of one ``port`` of a turn ``dut``, in plays of which each has an upset of its register ``name`` in one
    cycle."""

    def __init__(self, dut, channel, port, name):
        self.dut, self._channel, self._port = dut, channel, port
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
        if "used" in dut.signature.members:
            ctx.set(dut.used, 4 if self._port else 1)
        queue, good, bad, offers = deque(range(1, 8)), [], [], {}
        for cycle in range(40):
            if cycle == strike:
                for signal in self.struck:
                    ctx.set(Value.cast(signal), ctx.get(Value.cast(signal)) ^ 1 << bit)
            there = bool(queue) and (self.struck or cycle != strike)
            ctx.set(dut.slot, cycle % 4 if self._port else 0)
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

    def each_leaves_once(self):
        """In whatever cycle the upset is, none leaves as a good one that has left before, and none is left out."""

        async def bench(ctx):
            every = list(range(1, 8))
            assert await self.play(ctx, None) == (every, [])
            doubts = 0
            for strike in range(1, 36):
                good, bad = await self.play(ctx, strike)
                assert sorted({*good, *bad}) == every and len(set(good)) == len(good)
                doubts += bool(bad)
            # In those in which the port hears.
            assert doubts >= 7

        simulate(self.design, bench)
