"""Beats that go through a turn of ports while an upset strikes it."""

from collections import deque

from amaranth.hdl import Module, Signal, Value

from support.upsets import collect
from ualink.upli.code import control_names, control_wrong

__all__ = ["Struck"]


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
