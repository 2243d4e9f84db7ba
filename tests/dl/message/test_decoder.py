"""The message decoder against its model, with payload that looks like messages."""

import random
from collections import Counter

import pytest
from amaranth.sim import Simulator

from ualink.dl.message.decoder import MessageDecoder
from ualink_sim.model.dl.decode_messages import Message, MessageStream, Payload, Unknown
from ualink_sim.model.dl.messages import MESSAGE_TYPES, NoOp, UARTResetRequest, UARTTransport

NO_OP, RESET_REQUEST = NoOp().encode(), UARTResetRequest().encode()


class Decoder:
    """Hands dwords to the decoder and says what came out."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut

    async def hear(self, dword, flush=False):
        """What ``dword`` is, None if it is dropped in silence."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.received.valid, 1)
        ctx.set(dut.received.payload, dword)
        ctx.set(dut.flush, flush)
        await ctx.tick()
        ctx.set(dut.received.valid, 0)
        kinds = [ctx.get(dut.message.valid), ctx.get(dut.payload.valid), ctx.get(dut.unknown)]
        assert sum(kinds) == (0 if flush else 1)
        out = None
        if kinds[0]:
            out = ctx.get(dut.message.payload)
        elif kinds[1]:
            p = dut.payload.p
            out = Payload(ctx.get(p.dword), ctx.get(p.stream_id), bool(ctx.get(p.last)))
        elif kinds[2]:
            out = Unknown(dword)
        return out

    async def idle(self, cycles):
        """Nothing comes and nothing leaves."""
        ctx, dut = self.ctx, self.dut
        for _ in range(cycles):
            await ctx.tick()
            assert not any(ctx.get(s) for s in (dut.message.valid, dut.payload.valid, dut.unknown))


def run(story):
    dut = MessageDecoder()

    async def bench(ctx):
        await story(Decoder(ctx, dut))

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


def expected(model, dword):
    """The model's answer in the terms of ``Decoder.hear``."""
    kind = model.receive(dword)
    return kind.dword if isinstance(kind, Message) else kind


@pytest.mark.req("DL-036", "DL-039", "DL-184")
def test_every_code():
    """All 512 values of bits 8..0, with the reserved bits 0 and 1 set or not: what Table 6-3 names is passed on, and
    nothing else."""

    async def story(decoder):
        passed = Counter()
        for code in range(512):
            kind = await decoder.hear(code)
            if kind == code:
                passed[code >> 2 & 0xF, code >> 6] += 1
            if kind == code and code & ~3 == UARTTransport().encode():
                assert (await decoder.hear(0)) == Payload(0, 0, True)
        assert passed == dict.fromkeys(MESSAGE_TYPES, 4)

    run(story)


@pytest.mark.req("DL-040", "DL-105")
@pytest.mark.parametrize("length", range(32))
def test_payload_that_looks_like_messages(length):
    async def story(decoder):
        header = UARTTransport(stream_id=length % 8, length=length).encode()
        disguised = [header, RESET_REQUEST, NO_OP, 0x0048_0120, 0xFFFF_FFFF]
        assert await decoder.hear(header) == header
        for n in range(length + 1):
            dword = disguised[n % len(disguised)]
            assert await decoder.hear(dword) == Payload(dword, length % 8, n == length)
        assert await decoder.hear(0x0048_0120) == 0x0048_0120

    run(story)


@pytest.mark.req("DL-061")
@pytest.mark.parametrize("lost", [0, 1, 31, 32])
def test_no_ops_end_a_broken_message(lost):
    """40 No-Ops are more than a transport can still wait for: the Reset Request behind them is understood."""

    async def story(decoder):
        await decoder.hear(UARTTransport(length=31).encode())
        for _ in range(32 - lost):
            await decoder.hear(0xFFFF_FFFF)
        kinds = [await decoder.hear(NO_OP) for _ in range(40)]
        assert kinds == [Payload(0, 0, n == lost - 1) for n in range(lost)] + [NO_OP] * (40 - lost)
        assert await decoder.hear(RESET_REQUEST) == RESET_REQUEST

    run(story)


@pytest.mark.req("DL-036", "DL-039", "DL-040", "DL-184")
@pytest.mark.parametrize("seed", range(3))
def test_against_the_model(seed):
    rng = random.Random(seed)
    codes = [mclass << 2 | mtype << 6 for mclass, mtype in MESSAGE_TYPES]

    async def story(decoder):
        model = MessageStream()
        for _ in range(800):
            await decoder.idle(rng.choice([0, 0, 1]))
            dword = rng.getrandbits(32)
            if rng.random() < 0.6:
                dword = dword & ~0x1FC | rng.choice(codes)
            if rng.random() < 0.02:
                assert await decoder.hear(dword, flush=True) is None
                model.flush()
                decoder.ctx.set(decoder.dut.flush, 0)
            else:
                assert await decoder.hear(dword) == expected(model, dword)

    run(story)
