"""Both channels together: one negotiation at a time, deadlines, and order of answers."""

import contextlib
import random
from collections import deque

import pytest

from support.dl import negotiation_bench
from ualink.dl.message.channel import NegotiationState
from ualink.dl.message.control_messages import ControlMessages
from ualink_sim.model.dl.channel import ChannelControl, ChannelError, ChannelState
from ualink_sim.model.dl.messages import ChannelCommand, ChannelNegotiation, decode_message

REQUEST = {0: 0x0048_0120, 4: 0x004C_0120}
OFFLINE = {0: 0x0040_0120, 4: 0x0044_0120}
ACK = {0: 0x0868_0120, 4: 0x0C6C_0120}
ACK_OFFLINE = {0: 0x0060_0120, 4: 0x0464_0120}
PENDING = {0: 0x0880_0120, 4: 0x0C80_0120}
BOTH = pytest.mark.parametrize(("this", "other"), [(0, 4), (4, 0)])


class Side(negotiation_bench.Side):
    """The block."""

    def want(self, **wishes):
        for name, wish in wishes.items():
            self.ctx.set(getattr(self.dut, f"want_online_{name[1:]}"), wish)

    def wish(self, channel, online):
        self.ctx.set(getattr(self.dut, f"want_online_{channel}"), online)

    def online(self, channel):
        return self.ctx.get(getattr(self.dut, f"online_{channel}"))

    def seen(self, channel):
        """(transmit, receive, online)."""
        return tuple(self.ctx.get(getattr(self.dut, f"{name}_{channel}")) for name in ("transmit", "receive", "online"))

    def offered(self):
        assert not self.ctx.get(self.dut.message.p.more)
        return self.ctx.get(self.dut.message.p.dword)


def run(story):
    negotiation_bench.run(ControlMessages(), Side, story)


@pytest.mark.req("DL-062", "DL-064", "DL-067", "DL-073", "DL-074", "DL-075", "DL-077", "DL-083", "DL-085")
def test_one_own_negotiation_after_the_other():
    async def story(side):
        assert side.seen(0) == side.seen(4) == (0, 0, 0)
        side.want(_0=1, _4=1)
        [request] = await side.say(20)
        first, second = (0, 4) if request == REQUEST[0] else (4, 0)
        assert request == REQUEST[first]
        assert side.seen(first) == (0, 0, 0)
        await side.hear(ACK[first])
        # Nothing of the channel before the confirming Ack has gone, and nothing of the other at all.
        assert side.seen(first) == (0, 1, 1)
        assert await side.say(20) == [ACK[first], REQUEST[second]]
        assert side.seen(first) == (1, 1, 1)
        assert side.seen(second) == (0, 0, 0)
        await side.hear(ACK[second])
        assert await side.say(20) == [ACK[second]]
        assert side.seen(second) == (1, 1, 1)

    run(story)


@pytest.mark.req("DL-064")
def test_channels_take_turns():
    """A channel that always has another wish does not keep the other from negotiating."""

    async def story(side):
        asked = []
        for n in range(12):
            side.want(_0=1 - side.online(0), _4=1 - side.online(4))
            said = await side.say()
            request = decode_message(said[-1])
            assert request.command == ChannelCommand.REQUEST
            asked.append(request.target_state & 7)
            state = request.target_state
            await side.hear(ChannelNegotiation(target_state=state, command=ChannelCommand.ACK, response=state).encode())
            assert asked == [[0, 4][m % 2] for m in range(n + 1)]

    run(story)


@pytest.mark.req("DL-064")
@BOTH
def test_no_own_request_while_the_partner_negotiates(this, other):
    async def story(side):
        side.wish(other, 1)
        assert await side.say() == [REQUEST[other]]
        await side.hear(ACK[other])
        assert await side.say() == [ACK[other]]
        # The wish comes in the very cycle of the partner's Request.
        side.wish(this, 1)
        await side.hear(OFFLINE[other])
        assert await side.say(30) == [ACK_OFFLINE[other]]
        side.wish(other, 0)
        await side.hear(ACK_OFFLINE[other])
        assert await side.say(30) == [REQUEST[this]]

    run(story)


@pytest.mark.req("DL-070")
@BOTH
def test_decision_pending_blocks_both_channels(this, other):
    """The rule counts by class and type, which the channels share."""

    async def story(side):
        side.wish(this, 1)
        assert await side.say() == [REQUEST[this]]
        await side.hear(PENDING[this])
        side.wish(other, 1)
        assert await side.say(30) == []
        await side.hear(REQUEST[this])
        assert await side.say(30) == [ACK[this]]
        await side.hear(ACK[this])
        assert await side.say(30) == [REQUEST[other]]

    run(story)


@pytest.mark.req("DL-065")
@BOTH
def test_no_decision_pending_while_asking_for_the_other_channel(this, other):
    async def story(side):
        side.wish(other, 1)
        await side.ctx.tick()
        await side.hear(REQUEST[this])
        assert await side.say() == [REQUEST[other], ACK[this]]

    run(story)


@pytest.mark.req("DL-065", "DL-080")
@BOTH
def test_decision_pending_while_the_partner_negotiates_the_other_channel(this, other):
    """A negotiation of the partner is no own Request: who is not ready still says so."""

    async def story(side):
        side.ctx.set(side.dut.may_request, 0)
        side.wish(other, 1)
        await side.hear(REQUEST[other])
        await side.hear(REQUEST[this])
        assert await side.say() == [ACK[other], PENDING[this]]

    run(story)


@pytest.mark.req("DL-063")
def test_a_device_that_may_not_request():
    """It answers, and sends the Request that it owes; it starts none."""

    async def story(side):
        side.ctx.set(side.dut.may_request, 0)
        side.want(_0=1, _4=1)
        assert await side.say(30) == []
        side.want(_4=0)
        await side.hear(REQUEST[0])
        assert await side.say(30) == [ACK[0]]
        await side.hear(ACK[0])
        await side.hear(REQUEST[4])
        assert await side.say(30) == [PENDING[4]]
        side.want(_4=1)
        assert await side.say(30) == [REQUEST[4]]
        await side.hear(ACK[4])
        assert await side.say(30) == [ACK[4]]
        assert side.seen(0) == side.seen(4) == (1, 1, 1)
        side.want(_0=0)
        assert await side.say(30) == []
        side.ctx.set(side.dut.may_request, 1)
        assert await side.say(30) == [OFFLINE[0]]

    run(story)


@pytest.mark.req("DL-071")
def test_answers_keep_the_order_of_what_they_answer():
    """Across the channels as well, in both orders; stalled for as long as it takes."""

    async def story(side):
        side.ctx.set(side.dut.may_request, 0)
        for order in ((0, 4), (4, 0), (0, 4), (0, 4)):
            online = side.online(0)
            side.want(_0=not online, _4=not online)
            for channel in order:
                await side.hear(OFFLINE[channel] if online else REQUEST[channel])
                await side.ctx.tick().repeat(3)
            acks = ACK_OFFLINE if online else ACK
            assert await side.say(10) == [acks[channel] for channel in order]
            for channel in order:
                await side.hear(acks[channel])

    run(story)


@pytest.mark.req("DL-036")
def test_channels_that_do_not_exist():
    async def story(side):
        for channel in (1, 2, 3, 5, 6, 7):
            for command in range(16):
                where = {"target_state": channel} if command == ChannelCommand.REQUEST else {"response": channel}
                assert await side.hear(ChannelNegotiation(command=command, **where).encode())
        assert await side.say() == []
        assert not await side.hear(0x0048_0124)
        # Reserved bits are ignored.
        await side.hear(REQUEST[4] | 0xF000_FE03)
        assert await side.say() == [PENDING[4]]

    run(story)


TIME_OUT = 64
UNDER_WAY = (ChannelState.REQ, ChannelState.ACKD, ChannelState.BOTH)


@pytest.mark.req("DL-069", "DL-081")
@BOTH
@pytest.mark.parametrize("begin", [1, 20, 31, 32])
@pytest.mark.parametrize("who", ["own", "partner", "both"])
def test_owed_request_within_10_ms(this, other, begin, who):
    """A negotiation of the other channel begins ``begin`` flit times after decision pending, and the partner never
    finishes it: it is given up in time for the owed Request."""

    async def story(side):
        side.ctx.set(side.dut.time_out_flits, TIME_OUT)
        await side.hear(REQUEST[this])
        assert await side.say(2) == [PENDING[this]]
        said, timed_out, spent = [], 0, None
        for flit_time in range(TIME_OUT):
            if flit_time == begin and who != "partner":
                side.wish(other, 1)
            await side.flit_times(1)
            if flit_time == begin + (1 if who == "both" else 0) and who != "own":
                side.wish(other, 1)
                await side.hear(REQUEST[other])
            for _ in range(4):
                timed_out += side.ctx.get(side.dut.timed_out)
                said += await side.say(1)
            if REQUEST[this] in said and spent is None:
                spent = flit_time + 1
        assert spent is not None
        assert spent <= TIME_OUT * 11 // 16 + 1
        assert said.count(REQUEST[this]) == 1

    run(story)


@pytest.mark.req("DL-069", "DL-081")
@pytest.mark.parametrize("seed", range(8))
def test_owed_request_under_noise(seed):
    """Whatever the partner says about the other channel, and stray answers about this one, do not move the deadline."""
    rng = random.Random(seed)
    this, other = rng.sample([0, 4], 2)

    async def story(side):
        side.ctx.set(side.dut.time_out_flits, TIME_OUT)
        side.wish(other, rng.randrange(2))
        await side.hear(REQUEST[this])
        said, spent = [], 0
        while REQUEST[this] not in said:
            await side.flit_times(1)
            spent += 1
            assert spent <= TIME_OUT - 4
            for _ in range(4):
                if rng.random() < 0.3:
                    command, state = rng.choice(list(ChannelCommand)), rng.randrange(2) << 3
                    response = state | (this if rng.random() < 0.3 else other)
                    noise = ChannelNegotiation(target_state=state | other, command=command, response=response)
                    await side.hear(noise.encode())
                said += await side.say(2)
        assert spent >= TIME_OUT // 2

    run(story)


@pytest.mark.req("DL-062", "DL-065", "DL-067", "DL-070", "DL-071", "DL-072", "DL-084", "DL-085")
@pytest.mark.parametrize("seed", range(4))
def test_against_the_model(seed):
    """The partner is the model with both channels; wishes, stalls and reserved bits are random. What the model answers
    is what this side expects, and whenever all is quiet both agree on both channels."""
    rng = random.Random(seed)

    async def story(side):
        partner = ChannelControl()
        wire: deque[ChannelNegotiation] = deque()
        quiet = 0
        for _ in range(500):
            if rng.random() < 0.15:
                side.wish(rng.choice([0, 4]), rng.randrange(2))
            partner.ready = rng.random() < 0.7
            channel = partner.channels[rng.choice([0, 4])]
            owes = channel.state is ChannelState.OWE
            if owes and not any(c.state in UNDER_WAY for c in partner.channels.values()):
                wire.append(channel.request(True))
            elif rng.random() < 0.05 and not owes:
                with contextlib.suppress(ChannelError):
                    wire.append(partner.request(channel.number, not channel.online))
            if wire and rng.random() < 0.5:
                await side.hear(wire.popleft().encode() | rng.getrandbits(32) & 0xF000_FE03)
            for dword in await side.say(rng.randint(0, 3)):
                message = decode_message(dword)
                assert message.command != ChannelCommand.NACK
                wire.extend(partner.receive(message))
            idle = all(c.state is ChannelState.IDLE for c in partner.channels.values())
            if idle and not wire and not side.ctx.get(side.dut.message.valid):
                states = [side.ctx.get(c.state) for c in (side.dut.channel_0, side.dut.channel_4)]
                if states == [NegotiationState.IDLE] * 2:
                    assert [bool(side.online(n)) for n in (0, 4)] == [partner.online(n) for n in (0, 4)]
                    quiet += 1
        assert quiet > 20

    run(story)
