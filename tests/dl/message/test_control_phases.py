"""An exchange about a channel takes several cycles on two sides: every other wish in each of them."""

import pytest
from amaranth.hdl import Elaboratable, Module, ResetInserter, Signal
from amaranth.sim import Simulator

from ualink.dl.message.control_messages import ControlMessages

DELAY = 3
EXCHANGE = 24
"""Cycles from a wish to the end of its negotiation and a few more."""
ROUND_TRIP = 2 * DELAY + 8
"""Cycles to an Ack, at most: that to see the wish, and queues of both sides. ``slot_end`` comes in every cycle."""


class Sides(Elaboratable):
    """Two sides, ``DELAY`` cycles apart; ``errors``, ``given_up`` count, ``doubts`` counts cycles in which a side sends
    data of a channel that the other does not take. ``start`` resets all; ``down`` resets the sides and the wires."""

    def __init__(self):
        self.sides = ControlMessages(), ControlMessages()
        self.start, self.down = Signal(), Signal(2)
        self.errors, self.given_up, self.doubts = Signal(8), Signal(8), Signal(8)

    def elaborate(self, platform):
        m = Module()
        inner = Module()
        for n, (side, other) in enumerate((self.sides, self.sides[::-1])):
            inner.submodules += ResetInserter(self.down[n])(side)
            inner.d.comb += [side.slot_end.eq(1), side.message.ready.eq(~self.down.any())]
            dword, valid = side.message.p.dword, side.message.valid & ~self.down.any()
            # Data travel as the messages do, behind the last dword.
            sends = [side.transmit_0, side.transmit_4]
            for _ in range(DELAY):
                next_dword, next_valid, next_sends = Signal(32), Signal(), [Signal(), Signal()]
                inner.d.sync += [next_dword.eq(dword), next_valid.eq(valid & ~self.down.any())]
                inner.d.sync += [one.eq(before & ~self.down.any()) for one, before in zip(next_sends, sends)]
                dword, valid, sends = next_dword, next_valid, next_sends
            inner.d.comb += [other.received.payload.eq(dword), other.received.valid.eq(valid)]
            lost = sends[0] & ~other.receive_0 | sends[1] & ~other.receive_4
            for count, event in (
                (self.errors, side.protocol_error),
                (self.given_up, side.timed_out),
                (self.doubts, lost & ~other.received.valid),
            ):
                with inner.If(event & ~count.all()):
                    inner.d.sync += count.eq(count + 1)
        m.submodules.inner = ResetInserter(self.start)(inner)
        return m


class Story:
    """Wishes by side and channel."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut

    def want(self, wish, side=(0, 1), channel=(0, 4)):
        for n in side:
            for c in channel:
                self.ctx.set(getattr(self.dut.sides[n], f"want_online_{c}"), wish)

    async def cycles(self, count):
        if count:
            await self.ctx.tick().repeat(count)

    async def begin(self, online, time_out):
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.start, 1)
        self.want(online)
        for side in dut.sides:
            ctx.set(side.time_out_flits, time_out)
        await self.cycles(1)
        ctx.set(dut.start, 0)
        await self.cycles(80 if online else 4)

    def seen(self, name):
        return [self.ctx.get(getattr(side, f"{name}_{c}")) for side in self.dut.sides for c in (0, 4)]

    async def settles(self, wish, where):
        """Both sides come to the state that both want, on both channels."""
        self.want(wish)
        await self.cycles(90)
        for name in ("online", "transmit", "receive"):
            assert self.seen(name) == [wish] * 4, (where, wish, name)


async def same_channel(story, wish):
    story.want(wish, side=(1,), channel=(4,))


async def other_channel(story, wish):
    story.want(wish, side=(1,), channel=(0,))


async def taken_back(story, wish):
    story.want(not wish, side=(0,), channel=(4,))


async def for_one_cycle(story, wish):
    story.want(wish, side=(1,))
    await story.cycles(1)
    story.want(not wish, side=(1,))


async def link_down(story, wish):
    """Both sides, one of them two cycles later; both come back at once."""
    for down in (1, 3, 0):
        story.ctx.set(story.dut.down, down)
        await story.cycles(2)


def run(play):
    dut = Sides()

    async def bench(ctx):
        await play(Story(ctx, dut), dut)

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-062", "DL-065", "DL-067", "DL-070", "DL-071", "DL-072", "DL-074")
@pytest.mark.parametrize("online", [0, 1])
@pytest.mark.parametrize("event", [same_channel, other_channel, taken_back, for_one_cycle, link_down])
def test_a_wish_in_each_cycle_of_an_exchange(event, online):
    async def play(story, dut):
        for phase in range(EXCHANGE):
            await story.begin(online, time_out=0)
            story.want(not online, side=(0,), channel=(4,))
            await story.cycles(phase)
            await event(story, not online)
            await story.settles(1, phase)
            # Going offline the side that answers may still be sending: it changes with the confirming Ack.
            assert online or not story.ctx.get(dut.doubts), phase
            await story.settles(0, phase)
            assert not story.ctx.get(dut.errors), phase

    run(play)


@pytest.mark.req("DL-062", "DL-067")
@pytest.mark.parametrize("both", [0, 1])
def test_a_time_out_in_each_cycle_of_an_exchange(both):
    """Given up in any cycle, by one side or by both, before an Ack came or as it comes: then all is well again."""

    async def play(story, dut):
        given_up = 0
        for time_out in range(1, EXCHANGE):
            await story.begin(0, time_out=0)
            for side in dut.sides[: 1 + both]:
                story.ctx.set(side.time_out_flits, time_out)
            # One side asks, the other is ready.
            story.ctx.set(dut.sides[1].may_request, 0)
            story.want(1, channel=(4,))
            await story.cycles(EXCHANGE + time_out)
            given_up += story.ctx.get(dut.given_up) != 0
            story.ctx.set(dut.sides[1].may_request, 1)
            for side in dut.sides:
                story.ctx.set(side.time_out_flits, 4 * ROUND_TRIP)
            await story.cycles(4 * ROUND_TRIP)
            await story.settles(1, time_out)
            await story.settles(0, time_out)
        assert given_up >= 3

    run(play)
