"""The stream reset: each step of both roles, both sides at once, answers that get lost, and traffic around it."""

import pytest

from support.dl.uart_bench import (
    NO_OP,
    REQUEST,
    RESPONSE,
    credit_update,
    lone,
    message,
    reset_sequence,
    story,
    transport,
)

WORDS = list(range(0x1000, 0x1100))


def dwords(said):
    return [dword for dword, _ in said]


@pytest.mark.req("DL-061", "DL-092", "DL-094", "DL-097", "DL-098", "DL-099", "DL-103")
@pytest.mark.parametrize("all_streams", [0, 1])
def test_requester(all_streams):
    @story(tx_dwords=8, rx_dwords=8)
    async def tell(hand):
        ctx, dut = hand.ctx, hand.dut
        await hand.say()
        await hand.write(*WORDS[:5])
        await hand.hear(*dwords(transport(*WORDS[:6])))
        hand.set(reset_all=all_streams)
        await hand.reset()
        # Steps 2 to 4: both buffers are empty, the stream disabled.
        await hand.tick()
        assert hand.resetting and (ctx.get(dut.tx_level), ctx.get(dut.rx_level)) == (0, 0)
        # Steps 5 and 6: any number of writes goes nowhere, like what the partner still sends.
        await hand.write(*WORDS[:20])
        await hand.hear(credit_update(9), 0x0000_0E44, *dwords(transport(*WORDS[:3])))
        assert await hand.read(3) == []
        assert +hand.pulses == {"discarded": 3}
        assert await hand.say(80) == reset_sequence(REQUEST | all_streams << 12)
        await hand.hear(credit_update(9))
        assert await hand.say(80) == [] and hand.resetting
        # Steps 11 and 12.
        await hand.hear(RESPONSE | all_streams << 12)
        assert not hand.resetting and hand.pulses["reset_done"] == 1 and not hand.pulses["protocol_error"]
        assert await hand.say() == lone(credit_update(8))
        await hand.write(*WORDS[10:13])
        assert await hand.say() == []
        await hand.hear(credit_update(2))
        assert await hand.say() == transport(*WORDS[10:12])
        await hand.hear(*dwords(transport(*WORDS[:8])))
        assert await hand.read(9) == WORDS[:8] and not hand.pulses["overflow"]


@pytest.mark.req("DL-061", "DL-092", "DL-106")
@pytest.mark.parametrize("taken", [1, 2, 5])
def test_requester_in_the_middle_of_a_transport_message(taken):
    """The No-Ops follow at once, with the lock held from the header to the Reset Request."""

    @story()
    async def tell(hand):
        await hand.say()
        await hand.hear(credit_update(60))
        await hand.write(0, *WORDS[:9])
        assert await hand.say(3) == transport(0)
        before = await hand.say(taken)
        await hand.reset()
        after = await hand.say(80)
        cut = dwords(transport(*WORDS[:9]))[: taken + 1]
        assert before + after == message(*cut, *[NO_OP] * 40, REQUEST)
        assert all(more for _, more in (before + after)[:-1])


@pytest.mark.req("DL-092")
def test_no_reset_message_is_chosen_before_the_lock_is_free():
    """A message of which no dword was taken gives way to the sequence."""

    @story()
    async def tell(hand):
        await hand.say()
        await hand.hear(credit_update(60))
        await hand.write(*WORDS[:9])
        await hand.tick(3)
        await hand.reset()
        assert await hand.say(80) == reset_sequence()


@pytest.mark.req("DL-093")
@pytest.mark.parametrize("time_out", [0, 1, 10])
def test_time_out(time_out):
    """From the No-Ops on again, as often as it takes; 0 waits for ever."""

    @story()
    async def tell(hand):
        hand.set(time_out_flits=time_out)
        await hand.say()
        await hand.reset()
        await hand.pulse("slot_end", 30)
        assert not hand.pulses["reset_timed_out"]
        assert await hand.say(60) == reset_sequence()
        for again in range(1, 4):
            await hand.pulse("slot_end", max(time_out - 1, 0))
            assert await hand.say() == [] and hand.pulses["reset_timed_out"] == (again - 1 if time_out else 0)
            await hand.pulse("slot_end")
            assert await hand.say(60) == (reset_sequence() if time_out else [])
            assert hand.pulses["reset_timed_out"] == (again if time_out else 0) and hand.resetting
        await hand.hear(RESPONSE)
        assert not hand.resetting and hand.pulses["reset_done"] == 1


@pytest.mark.req("DL-093", "DL-104")
@pytest.mark.parametrize("status", range(1, 8))
def test_response_without_success(status):
    @story()
    async def tell(hand):
        hand.set(time_out_flits=5)
        await hand.say()
        await hand.reset()
        await hand.say(60)
        await hand.hear(RESPONSE | status << 13)
        assert hand.resetting and +hand.pulses == {"protocol_error": 1}
        await hand.pulse("slot_end", 6)
        assert await hand.say(60) == reset_sequence()


@pytest.mark.req("DL-092")
def test_response_during_the_sequence_does_not_count():
    """It answers a Request before; the partner will answer the one being sent too."""

    @story()
    async def tell(hand):
        hand.set(time_out_flits=5)
        await hand.say()
        await hand.reset()
        await hand.say(60)
        await hand.pulse("slot_end", 6)
        said = await hand.say(20)
        await hand.hear(RESPONSE)
        assert hand.resetting and not hand.pulses["protocol_error"]
        assert said + await hand.say(60) == reset_sequence()
        await hand.hear(RESPONSE)
        assert not hand.resetting


@pytest.mark.req("DL-095", "DL-097", "DL-098", "DL-104")
@pytest.mark.parametrize("all_streams", [0, 1])
def test_responder(all_streams):
    @story(tx_dwords=8, rx_dwords=8)
    async def tell(hand):
        ctx, dut = hand.ctx, hand.dut
        await hand.say()
        await hand.hear(*dwords(transport(*WORDS[:6])), credit_update(40))
        await hand.read(3)
        await hand.write(*WORDS[:5])
        # Of 40 credits 35 are left, and are void with the reset.
        assert [dword for dword in dwords(await hand.say(20)) if dword in WORDS] == WORDS[:5]
        await hand.write(*WORDS[:5])
        await hand.hear(*[NO_OP] * 40, REQUEST | all_streams << 12)
        assert hand.resetting and +hand.pulses == {"reset_received": 1}
        await hand.tick()
        assert (ctx.get(dut.tx_level), ctx.get(dut.rx_level)) == (0, 0)
        await hand.write(*WORDS[:20])
        await hand.hear(credit_update(9))
        # The Response first, then the announcement of the new start; nothing of before.
        assert await hand.say(20) == lone(RESPONSE | all_streams << 12, credit_update(8))
        assert not hand.resetting
        await hand.write(*WORDS[10:13])
        assert await hand.say() == []
        await hand.hear(credit_update(2))
        assert await hand.say() == transport(*WORDS[10:12])


@pytest.mark.req("DL-041", "DL-095", "DL-106")
@pytest.mark.parametrize("taken", [1, 2, 5, 9])
def test_responder_in_the_middle_of_a_transport_message(taken):
    """The message keeps its length, or the partner would take the Response for payload."""

    @story()
    async def tell(hand):
        await hand.say()
        await hand.hear(credit_update(60))
        await hand.write(0, *WORDS[:9])
        assert await hand.say(3) == transport(0)
        before = await hand.say(taken)
        await hand.hear(*[NO_OP] * 40, REQUEST)
        after = await hand.say(20)
        cut = transport(*WORDS[:taken], *[NO_OP] * (9 - taken))
        assert before + after == cut + lone(RESPONSE, credit_update(64))


@pytest.mark.req("DL-092", "DL-095")
@pytest.mark.parametrize("request_first", [0, 1])
def test_both_roles_at_once(request_first):
    """The stream stays disabled until the partner has answered and has been answered."""

    @story()
    async def tell(hand):
        await hand.say()
        await hand.reset()
        assert await hand.say(60) == reset_sequence()
        if request_first:
            await hand.hear(REQUEST)
            await hand.hear(RESPONSE)
            assert hand.resetting
            assert await hand.say() == lone(RESPONSE, credit_update(64))
        else:
            await hand.hear(REQUEST)
            assert await hand.say() == lone(RESPONSE)
            assert hand.resetting
            await hand.hear(RESPONSE)
            assert await hand.say() == lone(credit_update(64))
        assert not hand.resetting and hand.pulses["reset_done"] == 1


@pytest.mark.req("DL-077", "DL-092")
def test_channel_goes_offline_in_the_sequence():
    """No Reset Request leaves, the lock is released, and all 40 No-Ops are sent again once the channel is back."""

    @story()
    async def tell(hand):
        await hand.say()
        await hand.reset()
        before = await hand.say(12)
        hand.online(False)
        after = await hand.say(100)
        assert before + after == message(*[NO_OP] * 41)
        hand.online()
        assert await hand.say(60) == reset_sequence()
