"""Two UARTs, or one and the executable model, with random stalls: every word arrives, in order."""

import random

import pytest

from support.dl.uart_bench import Conversation, ModelEnd, RtlEnd, simulate
from ualink.dl.uart.top import Uart
from ualink_sim.model.dl.messages import UARTCreditUpdate, UARTTransport
from ualink_sim.model.dl.uart import Uart as UartModel


def converse(sizes, seed, talk, partner="rtl", **how):
    """``talk(conversation)`` between a ``Uart`` of (tx, rx) dwords ``sizes[0]`` and a partner of ``sizes[1]``."""
    duts = [Uart(*sizes[0])] + ([Uart(*sizes[1])] if partner == "rtl" else [])

    async def bench(ctx):
        ends = [RtlEnd(ctx, dut) for dut in duts]
        if partner == "model":
            ends.append(ModelEnd(UartModel(*sizes[1])))
        await talk(Conversation(ctx, ends, random.Random(seed), **how))

    simulate(duts, bench)


SIZES = [((1, 1), (1, 1)), ((2, 1), (128, 2)), ((128, 128), (128, 128)), ((5, 40), (33, 3))]


@pytest.mark.req("DL-006", "DL-007", "DL-086", "DL-087", "DL-106")
@pytest.mark.parametrize("partner", ["rtl", "model"])
@pytest.mark.parametrize("sizes", SIZES)
def test_every_word_arrives(sizes, partner):
    async def talk(conversation):
        await conversation.finish()
        conversation.check()
        for wire in conversation.wires:
            assert wire.kinds[UARTTransport] and wire.kinds[UARTCreditUpdate]

    words = 200 if min(sizes[0][1], sizes[1][1]) > 2 else 60
    converse(sizes, str(sizes), talk, partner, words=words)


@pytest.mark.req("DL-006", "DL-096", "DL-097", "DL-099", "DL-101")
@pytest.mark.parametrize("partner", ["rtl", "model"])
def test_counters_wrap(partner):
    """More than 4096 dwords, one dword a cycle."""

    async def talk(conversation):
        await conversation.finish()
        conversation.check()

    words = 4400 if partner == "model" else (4400, 50)
    converse([(128, 96), (64, 128)], 1, talk, partner, words=words, pace=1.0, write=1.0, read=1.0, delay=3)


@pytest.mark.req("DL-006", "DL-097", "DL-100")
@pytest.mark.parametrize("partner", ["rtl", "model"])
def test_firmware_that_does_not_read(partner):
    """The partner's Rx buffer fills to the last dword and nothing is lost; reading makes it go on."""

    async def talk(conversation):
        conversation.read = 0
        await conversation.cycles(600)
        a, b = conversation.ends
        assert not a.events and not b.events
        assert conversation.ctx.get(a.dut.rx_level) == 9
        assert conversation.ctx.get(a.dut.tx_level) == 16
        conversation.read = 0.8
        await conversation.finish()
        conversation.check()

    converse([(16, 9), (16, 11)], 2, talk, partner, words=100)
