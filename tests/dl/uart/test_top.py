"""One UART, message by message: credits, Transport Messages, Credit Updates, channel 4, what is an error."""

import pytest
from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.sim import Simulator

from support.dl.uart_bench import (
    NO_OP,
    REQUEST,
    RESPONSE,
    Hand,
    credit_update,
    lone,
    message,
    simulate,
    story,
    transport,
)
from ualink.config import ConfigError
from ualink.dl.uart.scheduler import UartScheduler
from ualink.dl.uart.top import Uart

WORDS = list(range(0x1000, 0x1100))


@pytest.mark.parametrize("name", ["tx_dwords", "rx_dwords"])
@pytest.mark.parametrize("dwords", [0, 4096, -1, True, None, 1.0])
def test_refuses_sizes(name, dwords):
    with pytest.raises(ConfigError, match=f"uart.{name} is {dwords!r}"):
        Uart(**{name: dwords})


@pytest.mark.req("DL-088")
def test_recommended_sizes():
    """128 dwords each way unless told otherwise: so many are announced, and so many written before one is sent."""
    dut = Uart()

    async def bench(ctx):
        hand = Hand(ctx, dut)
        hand.online()
        assert await hand.say() == lone(credit_update(128))
        await hand.write(*WORDS[:128])
        assert not ctx.get(dut.tx.ready) and ctx.get(dut.tx_level) == 128

    simulate([dut], bench)


@pytest.mark.req("DL-077", "DL-089", "DL-090", "DL-091", "DL-100")
def test_nothing_is_sent_offline():
    @story(online=False)
    async def tell(hand):
        assert (hand.ctx.get(hand.dut.tx_level), hand.ctx.get(hand.dut.rx_level)) == (0, 0)
        await hand.write(*WORDS[:3])
        await hand.hear(credit_update(60))
        await hand.reset()
        assert await hand.say(100) == []


@pytest.mark.req("DL-036", "DL-039", "DL-090", "DL-091", "DL-097", "DL-098", "DL-100", "DL-107")
@pytest.mark.parametrize("size", [1, 2, 128, 4095])
def test_first_credit_update(size):
    """Online, it announces its buffer, once; without credits no Transport Message goes."""

    @story(rx_dwords=size, online=False)
    async def tell(hand):
        await hand.write(*WORDS[:3])
        assert await hand.say() == []
        hand.online()
        assert await hand.say(20) == lone(credit_update(size))
        await hand.pulse("flit_sent", 20)
        assert await hand.say(20) == []


@pytest.mark.req("DL-040", "DL-087", "DL-099", "DL-100", "DL-101", "DL-105", "DL-106")
@pytest.mark.parametrize("fill", [0, 1, 2, 31, 32, 33, 64])
@pytest.mark.parametrize("credits", [0, 1, 5, 32, 33, 4095])
def test_length(credits, fill):
    """Length = min(credit difference - 1, Tx fill - 1, 31), until credits or data are used up."""

    @story()
    async def tell(hand):
        await hand.say()
        await hand.write(*WORDS[:fill])
        await hand.hear(credit_update(credits))
        expected = []
        words = WORDS[: min(credits, fill)]
        while words:
            expected += transport(*words[:32])
            words = words[32:]
        assert await hand.say(80) == expected
        assert hand.ctx.get(hand.dut.tx_level) == fill - min(credits, fill)


@pytest.mark.req("DL-096", "DL-099", "DL-100", "DL-101")
def test_credit_difference_is_modulo_4096():
    @story(tx_dwords=40)
    async def tell(hand):
        await hand.say()
        sequence = 4090
        await hand.hear(credit_update(sequence))
        # Room for 4090 dwords, of which none is given back.
        went = 0
        for count in [40] * 102 + [10]:
            await hand.write(*WORDS[:count])
            went += len([dword for dword, _ in await hand.say(45) if dword in WORDS])
        assert went == 4090
        await hand.write(*WORDS[:8])
        assert await hand.say(8) == []
        await hand.hear(credit_update((sequence + 7) % 4096))
        assert await hand.say(12) == transport(*WORDS[:7])
        await hand.hear(credit_update((sequence + 9) % 4096))
        assert await hand.say(12) == transport(WORDS[7])
        assert not hand.pulses["protocol_error"]


def test_offer_stands_while_credits_and_data_grow():
    @story()
    async def tell(hand):
        await hand.say()
        await hand.hear(credit_update(60))
        await hand.write(*WORDS[:5])
        await hand.tick(5)
        # Chosen when there was one dword.
        assert await hand.say(20) == transport(WORDS[0]) + transport(*WORDS[1:5])


@pytest.mark.req("DL-087", "DL-097", "DL-098", "DL-107")
def test_later_credit_updates():
    """Another one takes both: a dword read, and four flits sent since the one before."""

    @story(rx_dwords=16)
    async def tell(hand):
        assert await hand.say() == lone(credit_update(16))
        await hand.hear(*[dword for dword, _ in transport(*WORDS[:10])])
        assert hand.ctx.get(hand.dut.rx_level) == 10
        await hand.pulse("flit_sent", 9)
        assert await hand.say() == []
        assert await hand.read(1) == WORDS[:1]
        assert await hand.say() == lone(credit_update(17))
        assert await hand.read(5) == WORDS[1:6]
        for _ in range(3):
            await hand.pulse("flit_sent")
            assert await hand.say() == []
        await hand.pulse("flit_sent")
        assert await hand.say() == lone(credit_update(22))
        # Reads while an update waits to be sent belong to the next.
        await hand.read(1)
        await hand.pulse("flit_sent", 4)
        await hand.tick(3)
        await hand.read(1)
        assert await hand.say() == lone(credit_update(23))
        await hand.pulse("flit_sent", 4)
        assert await hand.say() == lone(credit_update(24))


@pytest.mark.req("DL-043")
def test_round_robin():
    """Messages that always wait are chosen in turn; a sequence with No-Ops counts as one."""
    dut = UartScheduler()
    dwords = {"transport": 0x0000_0004, "update": credit_update(7), "request": REQUEST, "response": RESPONSE}

    async def bench(ctx):
        ctx.set(dut.channel_transmit, 1)
        ctx.set(dut.message.ready, 1)
        ctx.set(dut.payload.payload, WORDS[0])
        ctx.set(dut.payload.valid, 1)

        async def said(names, cycles):
            for name, dword in dwords.items():
                ctx.set(getattr(dut, name).wanted, name in names)
                ctx.set(getattr(dut, name).dword, dword)
            kinds = []
            for _ in range(cycles):
                if ctx.get(dut.message.valid) and (dword := ctx.get(dut.message.p.dword)) not in (NO_OP, WORDS[0]):
                    kinds.append(dword)
                await ctx.tick()
            return kinds

        kinds = await said(dwords, 140)
        # A reset begins in the middle of a Transport Message, out of turn.
        order = "transport", "request", "update", "request", "response", "transport"
        assert kinds[:6] == [dwords[name] for name in order]
        some = ("transport", "update", "response")
        await said(some, 60)
        kinds = await said(some, 60)
        assert len(kinds) > 20
        for n in range(len(kinds) - 2):
            assert len(set(kinds[n : n + 3])) == 3

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-075", "DL-090")
def test_what_arrives_offline_is_dropped():
    @story()
    async def tell(hand):
        await hand.say()
        await hand.write(*WORDS[:2])
        hand.set(channel_receive=0)
        await hand.hear(credit_update(9), 0x0000_0184, 0x0000_01C4, *[dword for dword, _ in transport(*WORDS[:3])])
        assert await hand.say(60) == []
        assert not hand.resetting and await hand.read(4) == []
        assert +hand.pulses == {"discarded": 3}
        hand.set(channel_receive=1)
        await hand.hear(*[dword for dword, _ in transport(*WORDS[:3])])
        assert await hand.read(4) == WORDS[:3]


@pytest.mark.req("DL-036", "DL-039", "DL-060", "DL-184")
def test_other_classes_and_reserved_bits():
    @story()
    async def tell(hand):
        await hand.say()
        await hand.write(WORDS[0])
        # No-Op, Device ID, channel negotiation, and classes that do not exist, with the types of the UART.
        await hand.hear(NO_OP, 0x0000_0140, 0x0048_0120, *(mclass << 2 | 0x044 & ~4 for mclass in (0, 2, 3, 5, 9, 15)))
        await hand.hear(*(mclass << 2 | 0x180 for mclass in (0, 2, 3, 5, 8, 9, 15)))
        assert await hand.say(50) == [] and not hand.resetting
        await hand.hear(credit_update(9) | 0xFF003)
        assert await hand.say() == transport(WORDS[0])
        await hand.hear(0xFFFF_E187)
        assert await hand.say() == lone(RESPONSE, credit_update(64))
        assert +hand.pulses == {"reset_received": 1}


@pytest.mark.req("DL-006", "DL-103", "DL-104")
@pytest.mark.parametrize(
    "dwords",
    [
        (0x0000_0204, 1),
        (0x0000_0244 | 5 << 20,),
        (0x0000_0384,),
        (0x0000_03C4,),
        (RESPONSE,),
        (credit_update(10), credit_update(11)),
        (credit_update(10), credit_update(9)),
        (credit_update(10), credit_update(0)),
    ],
)
def test_protocol_errors(dwords):
    """Other streams, a Response to nothing, credits for more than the partner's buffer holds, or taken back."""

    @story()
    async def tell(hand):
        await hand.say()
        await hand.hear(*dwords)
        await hand.tick()
        assert +hand.pulses == {"protocol_error": 1}
        assert not hand.resetting
        await hand.write(*WORDS[:20])
        credits = 10 if len(dwords) == 2 and dwords[0] == credit_update(10) else 0
        said = [dword for dword, _ in await hand.say(60) if dword in WORDS]
        assert said == WORDS[:credits]
        assert await hand.read(3) == []


@pytest.mark.req("DL-006")
def test_partner_without_credit():
    """What does not fit is dropped and logged; what was there stays."""

    @story(rx_dwords=4)
    async def tell(hand):
        await hand.say()
        await hand.hear(*[dword for dword, _ in transport(*WORDS[:6])])
        assert +hand.pulses == {"overflow": 2}
        assert await hand.read(6) == WORDS[:4]


@pytest.mark.req("DL-074", "DL-077", "DL-106")
@pytest.mark.parametrize("taken", [0, 1, 4])
def test_channel_goes_offline_in_mid_message(taken):
    """No data leaves any more; the message keeps its length, so that the partner's framing does not break."""

    @story()
    async def tell(hand):
        await hand.say()
        await hand.hear(credit_update(60))
        await hand.write(0, *WORDS[:9])
        assert await hand.say(3) == transport(0)
        before = await hand.say(taken)
        hand.online(False)
        after = await hand.say(60)
        if not taken:
            assert before == after == []
        else:
            # One dword was already on offer.
            whole = transport(*WORDS[:taken], *[NO_OP] * (9 - taken))
            assert before + after == whole
        hand.online()
        rest = await hand.say(20)
        assert rest == ([] if taken else transport(*WORDS[:9]))


@pytest.mark.req("DL-041", "DL-042", "DL-106")
def test_message_of_the_channel_waits():
    """While a channel negotiation has something to say no message starts, but the one under way ends with its data."""

    @story()
    async def tell(hand):
        await hand.say()
        await hand.hear(credit_update(60))
        await hand.write(0, *WORDS[:40])
        assert await hand.say(3) == transport(0)
        before = await hand.say(7)
        hand.set(channel_transmit=0)
        assert before + await hand.say(60) == transport(*WORDS[:32])
        hand.set(channel_transmit=1)
        assert await hand.say(20) == transport(*WORDS[32:40])


@pytest.mark.req("DL-089", "DL-091")
def test_link_down_leaves_nothing():
    """After a reset of the domain, in mid-message, it is as new."""
    dut = Uart(8, 8)
    down = Signal()
    m = Module()
    m.submodules.uart = ResetInserter(down)(dut)

    async def bench(ctx):
        hand = Hand(ctx, dut)
        hand.online()
        await hand.say()
        await hand.hear(credit_update(8), *[dword for dword, _ in transport(*WORDS[:3])])
        await hand.write(*WORDS[:6])
        await hand.say(3)
        ctx.set(down, 1)
        await hand.tick(2)
        assert await hand.say(4) == []
        ctx.set(down, 0)
        assert await hand.say(20) == lone(credit_update(8))
        assert await hand.read(4) == []
        await hand.write(*WORDS[20:24])
        assert await hand.say(9) == []
        await hand.hear(credit_update(2))
        assert await hand.say(9) == transport(*WORDS[20:22])
        assert not +hand.pulses

    sim = Simulator(m)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


def test_messages_of_the_bench():
    assert message(1, 2) == [(1, 1), (2, 0)]
    assert transport(5)[0] == (4, 1)
