"""The stream reset takes many cycles: what may fall into each of them, and what stands on offer when it does."""

import pytest

from support.dl.uart_bench import (
    NO_OP,
    NO_OPS,
    REQUEST,
    RESPONSE,
    credit_update,
    lone,
    reset_sequence,
    story,
    transport,
)
from ualink_sim.model.dl.uart import ResetStep
from ualink_sim.model.dl.uart import Uart as UartModel

ALL = 1 << 12
"""allStreams of a Reset Request or Response."""


def dwords(said):
    return [dword for dword, _ in said]


async def begin(hand):
    """Online, with the first Credit Update gone."""
    hand.set(time_out_flits=0)
    await hand.say(8)


async def turn(hand, heard, ready):
    """One cycle in which the partner says ``heard``, or nothing; the dword that left, or None."""
    ctx, dut = hand.ctx, hand.dut
    kind, *payload = hand.framing.sort(heard) if heard is not None else ("nothing",)
    ctx.set(dut.received.valid, kind == "message")
    ctx.set(dut.payload.valid, kind == "payload")
    if kind == "message":
        ctx.set(dut.received.payload, heard)
    elif kind == "payload":
        ctx.set(dut.payload.payload, dict(zip(("dword", "stream_id", "last"), payload)))
    ctx.set(dut.message.ready, ready)
    said = ctx.get(dut.message.p.dword) if ready and ctx.get(dut.message.valid) else None
    await hand.tick()
    for port in (dut.received.valid, dut.payload.valid, dut.message.ready):
        ctx.set(port, 0)
    return said


def model_of_the_sequence(sent):
    """The model, with the channel offline when ``sent`` dwords of its reset are on the wire."""
    model = UartModel(8, 8)
    model.send()
    model.start_reset()
    said = [model.send()[0] for _ in range(sent)]
    model.transmit, model.receiving, model.offline = False, False, True
    while (dword := model.send()) is not None:
        said.append(dword[0])
    return said, model.step


@pytest.mark.req("DL-077", "DL-092")
@pytest.mark.parametrize("held", range(4))
def test_channel_goes_offline_while_a_dword_of_the_sequence_is_on_offer(held):
    """``held`` cycles after the dword before was taken: no Reset Request leaves once the channel is offline, and what
    did not leave is sent again."""

    @story(tx_dwords=8, rx_dwords=8)
    async def tell(hand):
        await begin(hand)
        for sent in (1, 2, NO_OPS - 1, NO_OPS, NO_OPS + 1):
            await hand.reset()
            said = []
            while len(said) < sent:
                said += dwords(await hand.say(1))
            await hand.tick(held)
            hand.online(False)
            await hand.tick(held)
            said += dwords(await hand.say(60))
            expected, step = model_of_the_sequence(sent)
            assert said == expected, sent
            hand.online()
            if step is ResetStep.SEND:
                assert await hand.say(60) == reset_sequence()
            else:
                assert await hand.say(60) == []
            await hand.hear(RESPONSE)
            assert not hand.resetting
            assert await hand.say() == lone(credit_update(8))

    assert model_of_the_sequence(NO_OPS)[0] == [NO_OP] * (NO_OPS + 1)


@pytest.mark.req("DL-092")
def test_all_streams_is_that_of_the_start():
    """Whatever firmware writes next, in any cycle of the reset and of its repetition."""

    @story(tx_dwords=8, rx_dwords=8)
    async def tell(hand):
        await begin(hand)
        for wanted in (0, 1):
            for later in (0, 1, 2, NO_OPS - 1, NO_OPS, NO_OPS + 1, NO_OPS + 2):
                hand.set(reset_all=wanted, time_out_flits=2)
                await hand.reset()
                said = dwords(await hand.say(later))
                hand.set(reset_all=1 - wanted)
                said += dwords(await hand.say(NO_OPS + 6 - later))
                sequence = dwords(reset_sequence(REQUEST | wanted * ALL))
                assert said == sequence, later
                # Not answered: the same again.
                await hand.pulse("slot_end", 3)
                assert dwords(await hand.say(NO_OPS + 6)) == sequence
                await hand.hear(RESPONSE | wanted * ALL)
                assert await hand.say() == lone(credit_update(8))


@pytest.mark.req("DL-094", "DL-095")
@pytest.mark.parametrize("first", [0, 1])
def test_another_request_while_the_response_waits(first):
    """A repeated Request may differ. Each Response echoes the latest Request heard before it left, none is missing, and
    the stream stays disabled until the last one has gone."""

    @story(tx_dwords=8, rx_dwords=8)
    async def tell(hand):
        await begin(hand)
        for apart in range(1, 7):
            for taken in range(apart + 8):
                log = []
                for cycle in range(apart + 12):
                    heard = {0: REQUEST | first * ALL, apart: REQUEST | (1 - first) * ALL}.get(cycle)
                    if (dword := await turn(hand, heard, cycle >= taken)) is not None:
                        log.append((cycle, dword))
                responses = [(cycle, dword) for cycle, dword in log if dword & ~ALL == RESPONSE]
                for cycle, dword in responses:
                    assert dword == RESPONSE | (1 - first if cycle > apart else first) * ALL, (apart, taken, log)
                assert responses[-1][0] > apart, (apart, taken, log)
                assert len(responses) == 1 + (responses[0][0] <= apart)
                assert not hand.resetting
                assert log[-1][1] == credit_update(8)


@pytest.mark.req("DL-092", "DL-094", "DL-096", "DL-099")
@pytest.mark.parametrize("own", [0, 1])
def test_a_reset_in_each_cycle_of_a_transport_message_and_a_credit_update(own):
    """Own or the partner's, while data and Credit Updates come and go: what was before it counts for nothing."""

    @story(tx_dwords=8, rx_dwords=8)
    async def tell(hand):
        await begin(hand)
        for phase in range(16):
            await hand.hear(credit_update(8))
            pending = [*dwords(transport(*range(0x51, 0x54))), credit_update(9)]
            said = []
            for cycle in range(16 + NO_OPS):
                # The reset takes the place of a dword of the partner only between its messages.
                hand.set(reset=own and cycle == phase)
                heard = REQUEST if not own and cycle == max(phase, 4) else None
                if heard is None and cycle < 4:
                    heard = pending[cycle]
                hand.ctx.set(hand.dut.rx.ready, cycle % 2)
                hand.ctx.set(hand.dut.tx.valid, cycle < phase)
                hand.ctx.set(hand.dut.tx.payload, 0x61 + cycle)
                if (dword := await turn(hand, heard, cycle % 2)) is not None:
                    said.append(dword)
            hand.set(reset=0)
            hand.ctx.set(hand.dut.tx.valid, 0)
            hand.ctx.set(hand.dut.rx.ready, 0)
            said += dwords(await hand.say(2 * NO_OPS + 60))
            if own:
                assert said[-NO_OPS - 1 :] == dwords(reset_sequence())
                assert hand.resetting
                await hand.hear(RESPONSE)
                assert await hand.say() == lone(credit_update(8))
            else:
                assert said[-2:] == [RESPONSE, credit_update(8)], (phase, said)
            ctx, dut = hand.ctx, hand.dut
            assert not hand.resetting and (ctx.get(dut.tx_level), ctx.get(dut.rx_level)) == (0, 0)
            # No credit from before: nothing leaves until the partner has announced its buffer anew.
            await hand.write(0x71)
            assert await hand.say() == []
            await hand.hear(credit_update(3))
            assert await hand.say() == transport(0x71)
            await hand.hear(*dwords(transport(*range(0x81, 0x89))))
            assert await hand.read(10) == list(range(0x81, 0x89))
            assert dwords(await hand.say(10)) in ([], [credit_update(16)])
            await hand.pulse("flit_sent", 4)
            await hand.say(6)
            assert not hand.pulses["overflow"] and not hand.pulses["protocol_error"]
            # So that each phase begins alike.
            await hand.reset()
            await hand.say(NO_OPS + 6)
            await hand.hear(RESPONSE)
            await hand.say(8)
