"""Stream resets and lost channels under traffic: afterwards every word arrives again and all credits are there."""

import random

import pytest

from support.dl.uart_bench import RESPONSE, Conversation, ModelEnd, RtlEnd, simulate
from ualink.dl.uart.top import Uart
from ualink_sim.model.dl.uart import Uart as UartModel
from ualink_sim.model.dl.uart import UartEvent


def talk(partner, seed, story, **how):
    duts = [Uart(16, 12)] + ([Uart(20, 16)] if partner == "rtl" else [])

    async def bench(ctx):
        ends = [RtlEnd(ctx, dut) for dut in duts]
        if partner == "model":
            ends.append(ModelEnd(UartModel(20, 16)))
        conversation = Conversation(ctx, ends, random.Random(seed), words=2_000, **how)
        conversation.to_write = [[n << 24 | word for word in range(2_000)] for n in (0, 1)]
        await story(conversation)

    simulate(duts, bench)


async def works_again(conversation):
    """From here on every word written is read, in order, and credits are all there."""
    ends = conversation.ends
    await conversation.until(lambda: not any(end.resetting for end in ends))
    conversation.write = 0
    conversation.read = 1
    await conversation.cycles(120)
    first = conversation.written[:]
    for end in ends:
        end.read_words.clear()
    conversation.write, conversation.read = 0.7, 0.7
    for n in (0, 1):
        del conversation.to_write[n][first[n] + 40 :]
    await conversation.until(lambda: conversation.written == [start + 40 for start in first])
    await conversation.until(lambda: all(len(end.read_words) == 40 for end in ends))
    for n in (0, 1):
        assert ends[1 - n].read_words == conversation.to_write[n][first[n] :]
    for end in ends:
        assert not end.events[UartEvent.OVERFLOW] and not end.events[UartEvent.PROTOCOL_ERROR]


@pytest.mark.req("DL-092", "DL-094", "DL-095", "DL-097", "DL-098")
@pytest.mark.parametrize("partner", ["rtl", "model"])
@pytest.mark.parametrize("who", ["first", "second", "both", "both, one later"])
@pytest.mark.parametrize("seed", range(2))
def test_reset_under_traffic(who, partner, seed):
    async def story(conversation):
        await conversation.cycles(80 + 7 * seed)
        conversation.reset = [who != "second", who in ("second", "both")]
        await conversation.cycle()
        conversation.reset = [False, False]
        if who == "both, one later":
            await conversation.cycles(30 + 9 * seed)
            conversation.reset = [False, True]
            await conversation.cycle()
            conversation.reset = [False, False]
        await works_again(conversation)
        done = [end.events[UartEvent.RESET_DONE] for end in conversation.ends]
        assert done == [who != "second", who != "first"]
        for n, wire in enumerate(conversation.wires):
            assert sum(wire.kinds.values()) and conversation.ends[n].events[UartEvent.RESET_RECEIVED] == done[1 - n]

    talk(partner, f"{who}{seed}", story)


@pytest.mark.req("DL-093", "DL-095")
@pytest.mark.parametrize("partner", ["rtl", "model"])
@pytest.mark.parametrize("requester", [0, 1])
def test_lost_response(requester, partner):
    """The requester repeats the sequence after its time-out; the responder resets again and all is well."""

    async def story(conversation):
        lost = []
        wire = conversation.wires[1 - requester]
        take = wire.take

        def drop_first(now):
            dword = take(now)
            if dword == RESPONSE and not lost:
                lost.append(now)
                return None
            return dword

        wire.take = drop_first
        conversation.ends[requester].time_out(60)
        await conversation.cycles(100)
        conversation.reset[requester] = True
        await conversation.cycle()
        conversation.reset[requester] = False
        await works_again(conversation)
        events = conversation.ends[requester].events
        assert lost and events[UartEvent.RESET_TIMED_OUT] == 1 and events[UartEvent.RESET_DONE] == 1
        assert conversation.ends[1 - requester].events[UartEvent.RESET_RECEIVED] == 2

    talk(partner, requester, story)


@pytest.mark.req("DL-074", "DL-077")
@pytest.mark.parametrize("partner", ["rtl", "model"])
def test_channel_offline_under_traffic(partner):
    """Offline in mid-message the framing holds; after a stream reset all is well."""

    async def story(conversation):
        for _ in range(4):
            await conversation.until(lambda: conversation.wires[0].run and conversation.wires[1].run)
            for end in conversation.ends:
                end.channel(False, False, True)
            await conversation.cycles(120)
            assert not any(wire.run or wire.flying for wire in conversation.wires)
            for end in conversation.ends:
                end.channel(True, True, False)
            conversation.reset[0] = True
            await conversation.cycle()
            conversation.reset[0] = False
            await conversation.until(lambda: not any(end.resetting for end in conversation.ends))
            await conversation.cycles(40)
        await works_again(conversation)

    talk(partner, 5, story, delay=2)
