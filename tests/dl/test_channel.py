"""Channel negotiation: flows of the standard, message by message, and two sides with random wishes."""

import random
from collections import deque

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.dl.channel import Channel, NegotiationState
from ualink_sim.model.dl_channel import ChannelControl
from ualink_sim.model.dl_messages import ChannelCommand, ChannelNegotiation, decode_message

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")

REQUEST, ACK, NACK, PENDING = (
    ChannelCommand.REQUEST,
    ChannelCommand.ACK,
    ChannelCommand.NACK,
    ChannelCommand.DECISION_PENDING,
)
REQUEST_ONLINE, ACK_ONLINE = 0x0048_0120, 0x0868_0120
REQUEST_OFFLINE, ACK_OFFLINE = 0x0040_0120, 0x0060_0120
PENDING_ONLINE = 0x0880_0120


@pytest.mark.parametrize("channel", [1, 8, True, None])
def test_refuses_channel(channel):
    with pytest.raises(ConfigError, match=f"channel is {channel!r}"):
        Channel(channel)


class Side:
    """A channel and what the partner, played by the test, says to it."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        ctx.set(dut.time_out_flits, 0)

    def want(self, online):
        self.ctx.set(self.dut.want_online, online)

    @property
    def state(self):
        return self.ctx.get(self.dut.state)

    @property
    def seen(self):
        """(transmit, receive, online)."""
        return tuple(self.ctx.get(signal) for signal in (self.dut.transmit, self.dut.receive, self.dut.online))

    async def hear(self, dword):
        """Hand over a message; returns whether it was logged as an error."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.received.valid, 1)
        ctx.set(dut.received.payload, dword)
        error = ctx.get(dut.protocol_error)
        await ctx.tick()
        ctx.set(dut.received.valid, 0)
        return bool(error)

    async def say(self, cycles=4):
        """What it sends in the next cycles."""
        ctx, dut = self.ctx, self.dut
        said = []
        ctx.set(dut.message.ready, 1)
        for _ in range(cycles):
            if ctx.get(dut.message.valid):
                said.append(ctx.get(dut.message.payload))
            await ctx.tick()
        ctx.set(dut.message.ready, 0)
        return said

    async def flit_times(self, count):
        self.ctx.set(self.dut.slot_end, 1)
        await self.ctx.tick().repeat(count)
        self.ctx.set(self.dut.slot_end, 0)

    async def go_online(self):
        self.want(1)
        assert await self.say() == [REQUEST_ONLINE]
        await self.hear(ACK_ONLINE)
        assert await self.say() == [ACK_ONLINE]
        assert self.seen == (1, 1, 1)


def run(story, channel=0):
    dut = Channel(channel)

    async def bench(ctx):
        await story(Side(ctx, dut))

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-036", "DL-038", "DL-039", "DL-062", "DL-067", "DL-073", "DL-083", "DL-085")
def test_own_request():
    async def story(side):
        assert side.seen == (0, 0, 0)
        side.want(1)
        assert await side.say() == [REQUEST_ONLINE]
        assert side.seen == (0, 0, 0)
        await side.hear(ACK_ONLINE)
        # Online with the confirming Ack, and nothing is sent before that has gone.
        assert side.seen == (0, 1, 1)
        assert await side.say() == [ACK_ONLINE]
        assert side.seen == (1, 1, 1)
        side.want(0)
        assert await side.say() == [REQUEST_OFFLINE]
        await side.hear(ACK_OFFLINE)
        assert await side.say() == [ACK_OFFLINE]
        assert side.seen == (0, 0, 0)

    run(story)


@pytest.mark.req("DL-039", "DL-073", "DL-083", "DL-085")
def test_channel_4():
    async def story(side):
        side.want(1)
        assert await side.say() == [0x004C_0120]
        await side.hear(ACK_ONLINE)
        assert await side.say() == []
        await side.hear(0x0C6C_0120)
        assert await side.say() == [0x0C6C_0120]

    run(story, channel=4)


@pytest.mark.req("DL-062", "DL-064", "DL-067", "DL-079", "DL-080", "DL-085")
def test_partner_requests():
    async def story(side):
        side.ctx.set(side.dut.may_request, 0)
        side.want(1)
        await side.hear(REQUEST_ONLINE)
        assert side.seen == (0, 1, 0)
        side.ctx.set(side.dut.may_request, 1)
        assert await side.say(20) == [ACK_ONLINE]
        await side.hear(ACK_ONLINE)
        assert side.seen == (1, 1, 1)
        assert await side.say() == []

    run(story)


@pytest.mark.req("DL-082")
def test_offline_request_is_acked():
    async def story(side):
        await side.go_online()
        await side.hear(REQUEST_OFFLINE)
        assert await side.say() == [ACK_OFFLINE]
        assert side.seen == (1, 1, 1)
        await side.hear(ACK_OFFLINE)
        assert side.seen[1:] == (0, 0)
        # It still wants to be online.
        assert await side.say() == [REQUEST_ONLINE]

    run(story)


@pytest.mark.req("DL-062", "DL-068")
@pytest.mark.parametrize("online", [0, 1])
def test_nack_changes_nothing(online):
    async def story(side):
        if online:
            await side.go_online()
        side.want(not online)
        await side.say()
        await side.hear(0x0868_0120 | 0x0010_0000 if not online else 0x0078_0120)
        assert side.state == NegotiationState.IDLE
        assert side.seen == (online,) * 3
        assert await side.say(20) == []

    run(story)


@pytest.mark.req("DL-069", "DL-079", "DL-080", "DL-081", "DL-084")
def test_decision_pending_is_followed_by_a_request():
    async def story(side):
        await side.hear(REQUEST_ONLINE)
        assert await side.say() == [PENDING_ONLINE]
        assert side.seen == (0, 0, 0)
        await side.flit_times(30)
        assert await side.say() == []
        side.want(1)
        assert await side.say() == [REQUEST_ONLINE]
        await side.hear(ACK_ONLINE)
        assert await side.say() == [ACK_ONLINE]
        assert side.seen == (1, 1, 1)

    run(story)


@pytest.mark.req("DL-069", "DL-081")
def test_owed_request_is_not_forgotten():
    async def story(side):
        side.ctx.set(side.dut.time_out_flits, 100)
        await side.hear(REQUEST_ONLINE)
        assert await side.say() == [PENDING_ONLINE]
        await side.flit_times(49)
        assert await side.say() == []
        await side.flit_times(2)
        assert await side.say() == [REQUEST_ONLINE]

    run(story)


@pytest.mark.req("DL-081")
def test_deadline_of_an_owed_request_counts_from_decision_pending():
    """Neither messages about the other channel nor stray or repeated ones about this put it off."""

    async def story(side):
        side.ctx.set(side.dut.time_out_flits, 100)
        await side.hear(REQUEST_ONLINE)
        await side.say()
        for dword in (0x004C_0120, 0x0C6C_0120, ACK_ONLINE, REQUEST_OFFLINE, REQUEST_ONLINE, 0x0878_0120):
            await side.flit_times(8)
            await side.hear(dword)
        assert REQUEST_ONLINE not in await side.say()
        await side.flit_times(3)
        assert await side.say() == [REQUEST_ONLINE]

    run(story)


@pytest.mark.req("DL-063")
@pytest.mark.parametrize("may_request", [0, 1])
def test_who_may_request(may_request):
    """A device that may not start negotiations sends the owed Request all the same."""

    async def story(side):
        side.ctx.set(side.dut.may_request, may_request)
        side.want(1)
        assert await side.say(20) == [REQUEST_ONLINE] * may_request
        side.want(0)
        if not may_request:
            await side.hear(REQUEST_ONLINE)
            assert await side.say() == [PENDING_ONLINE]
            side.want(1)
            assert await side.say() == [REQUEST_ONLINE]

    run(story)


@pytest.mark.req("DL-065")
@pytest.mark.parametrize("may_defer", [0, 1])
def test_decision_pending_only_when_permitted(may_defer):
    async def story(side):
        side.ctx.set(side.dut.may_defer, may_defer)
        await side.hear(REQUEST_ONLINE)
        assert await side.say() == [PENDING_ONLINE if may_defer else ACK_ONLINE]

    run(story)


@pytest.mark.req("DL-062", "DL-081")
def test_hurry():
    """For another channel's owed Request a negotiation without progress is given up after a sixteenth of 10 ms."""

    async def story(side):
        side.ctx.set(side.dut.time_out_flits, 160)
        side.want(1)
        await side.say()
        await side.flit_times(20)
        assert side.ctx.get(side.dut.asking)
        side.ctx.set(side.dut.hurry, 1)
        assert side.ctx.get(side.dut.timed_out)
        await side.ctx.tick()
        assert not side.ctx.get(side.dut.busy)
        assert side.seen == (0, 0, 0)

    run(story)


@pytest.mark.req("DL-068")
@pytest.mark.parametrize("answer", [NACK, PENDING])
def test_answer_to_nothing_asked(answer):
    async def story(side):
        assert await side.hear(ChannelNegotiation(command=answer, response=8).encode())
        assert side.state == NegotiationState.IDLE
        assert await side.say() == []

    run(story)


@pytest.mark.req("DL-070")
def test_no_request_after_decision_pending_received():
    async def story(side):
        side.want(1)
        assert await side.say() == [REQUEST_ONLINE]
        await side.hear(PENDING_ONLINE)
        assert await side.say(20) == []
        await side.hear(REQUEST_ONLINE)
        assert await side.say() == [ACK_ONLINE]
        assert await side.say(20) == []
        await side.hear(ACK_ONLINE)
        assert side.seen == (1, 1, 1)
        side.want(0)
        assert await side.say() == [REQUEST_OFFLINE]

    run(story)


@pytest.mark.req("DL-065", "DL-066", "DL-071", "DL-072")
@pytest.mark.parametrize("ready", [0, 1])
def test_identical_requests(ready):
    """Ack to the Request, then the confirming Ack; never decision pending, ready or not."""

    async def story(side):
        side.want(1)
        assert await side.say() == [REQUEST_ONLINE]
        side.want(ready)
        await side.hear(REQUEST_ONLINE)
        assert side.seen == (0, 1, 0)
        await side.hear(ACK_ONLINE)
        assert side.ctx.get(side.dut.message.valid)
        assert side.seen == (0, 1, 0)
        assert await side.say() == [ACK_ONLINE, ACK_ONLINE]
        await side.hear(ACK_ONLINE)
        assert side.seen[1:] == (1, 1)

    run(story)


@pytest.mark.req("DL-078")
@pytest.mark.parametrize("online", [0, 1])
def test_request_for_the_current_state(online):
    async def story(side):
        if online:
            await side.go_online()
        assert await side.hear(REQUEST_ONLINE if online else REQUEST_OFFLINE)
        assert await side.say() == [ACK_ONLINE if online else ACK_OFFLINE]
        assert side.seen == (online,) * 3
        # The confirming Ack may come or not.
        assert not await side.hear(ACK_ONLINE if online else ACK_OFFLINE)
        assert side.seen == (online,) * 3

    run(story)


@pytest.mark.req("DL-036")
def test_what_does_not_concern_it():
    async def story(side):
        for dword in (0x0048_0124, 0x0048_0020, 0x004C_0120, 0x0C6C_0120, 0, 0x0000_0100):
            assert not await side.hear(dword)
        assert await side.say() == []
        assert side.state == NegotiationState.IDLE
        # Reserved bits are ignored.
        await side.hear(REQUEST_ONLINE | 0xF000_FE02)
        assert await side.say() == [PENDING_ONLINE]
        assert await side.hear(0x0828_0120)

    run(story)


@pytest.mark.req("DL-062")
def test_time_out_changes_nothing():
    async def story(side):
        side.ctx.set(side.dut.time_out_flits, 50)
        side.want(1)
        await side.say()
        side.want(0)
        await side.flit_times(60)
        assert side.state == NegotiationState.IDLE
        assert side.seen == (0, 0, 0)

    run(story)


@pytest.mark.req("DL-064")
def test_waits_for_the_other_channel():
    async def story(side):
        side.ctx.set(side.dut.hold, 1)
        side.want(1)
        assert await side.say(20) == []
        side.ctx.set(side.dut.hold, 0)
        assert await side.say() == [REQUEST_ONLINE]
        assert side.ctx.get(side.dut.busy)

    run(story)


@pytest.mark.req("DL-062", "DL-065", "DL-067", "DL-070", "DL-072", "DL-084", "DL-085")
@pytest.mark.parametrize("seed", range(4))
def test_against_the_model(seed):
    """The partner is the model; wishes change at random on both sides, and both states are one after each change."""
    rng = random.Random(seed)
    dut = Channel(0)

    async def bench(ctx):
        side, partner = Side(ctx, dut), ChannelControl()
        wire: deque[ChannelNegotiation] = deque()
        changes = 0
        for _ in range(400):
            if rng.random() < 0.1:
                side.want(rng.randrange(2))
            partner.ready = rng.random() < 0.7
            channel = partner.channels[0]
            if rng.random() < 0.05 and channel.state.name == "IDLE":
                wire.append(channel.request(not channel.online))
            elif channel.state.name == "OWE" and rng.random() < 0.5:
                wire.append(channel.request(True))
            if wire and rng.random() < 0.5:
                await side.hear(wire.popleft().encode())
            for dword in await side.say(rng.randint(1, 3)):
                wire.extend(partner.receive(decode_message(dword)))
            idle = not wire and not ctx.get(dut.message.valid) and channel.state.name == "IDLE"
            if idle and side.state == NegotiationState.IDLE:
                assert partner.online(0) == bool(ctx.get(dut.online))
                changes += 1
        assert changes > 20

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-062", "DL-065", "DL-067", "DL-071", "DL-072")
@pytest.mark.parametrize("seed", range(4))
def test_two_sides(seed):
    """Two sides with random wishes and random delays settle on one state whenever their wishes agree."""
    rng = random.Random(seed)
    m = Module()
    m.submodules.a, m.submodules.b = sides = Channel(0), Channel(0)

    async def bench(ctx):
        for dut in sides:
            ctx.set(dut.time_out_flits, 0)
        wires = deque(), deque()

        async def cycle():
            for dut, outgoing, incoming in zip(sides, wires, wires[::-1]):
                ctx.set(dut.message.ready, rng.random() < 0.5)
                if ctx.get(dut.message.valid) and ctx.get(dut.message.ready):
                    outgoing.append(ctx.get(dut.message.payload))
                heard = bool(incoming) and rng.random() < 0.3
                ctx.set(dut.received.valid, heard)
                if heard:
                    ctx.set(dut.received.payload, incoming.popleft())
            await ctx.tick()

        for _ in range(25):
            for dut in sides:
                ctx.set(dut.want_online, rng.randrange(2))
            for _ in range(rng.randrange(40)):
                await cycle()
            wish = rng.randrange(2)
            for dut in sides:
                ctx.set(dut.want_online, wish)
            for _ in range(150):
                await cycle()
            assert [ctx.get(dut.online) for dut in sides] == [wish] * 2
            # A Request may still be owed and waited for, as long as neither wants to be online.
            states = sorted(ctx.get(dut.state).value for dut in sides)
            owed = [NegotiationState.OWING.value, NegotiationState.BLOCKED.value]
            assert states == [NegotiationState.IDLE.value] * 2 or (states == owed and not wish)

    sim = Simulator(m)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
