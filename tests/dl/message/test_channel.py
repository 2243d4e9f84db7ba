"""Channel negotiation: flows of the standard, message by message."""

import pytest

from support.dl import negotiation_bench
from ualink.config import ConfigError
from ualink.dl.message.channel import Channel, NegotiationState
from ualink_sim.model.dl.messages import ChannelCommand, ChannelNegotiation

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


class Side(negotiation_bench.Side):
    """A channel."""

    def want(self, online):
        self.ctx.set(self.dut.want_online, online)

    @property
    def state(self):
        return self.ctx.get(self.dut.state)

    @property
    def seen(self):
        """(transmit, receive, online)."""
        return tuple(self.ctx.get(signal) for signal in (self.dut.transmit, self.dut.receive, self.dut.online))

    async def go_online(self):
        self.want(1)
        assert await self.say() == [REQUEST_ONLINE]
        await self.hear(ACK_ONLINE)
        assert await self.say() == [ACK_ONLINE]
        assert self.seen == (1, 1, 1)


def run(story, channel=0):
    negotiation_bench.run(Channel(channel), Side, story)


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
        await side.ctx.tick()
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
