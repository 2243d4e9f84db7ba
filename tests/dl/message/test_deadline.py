"""How many segments pass from a Request to its answer, while a busy UART and everything else compete.

The standard allows 1 us. A segment is an opportunity for one dword, and a DL flit has five; what replay and a full
TxReplay take is not counted (ruling A-34 (DL)). Round by round each class has one message: 33 dwords of UART, one of
each other class. So the bound of the Basic class is four rounds: the message on offer, one of each other type, and the
answer. The Control class answers in order: an own Request and answers that were owed before go first.
"""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from ualink.dl.message.arbiter import MessageArbiter
from ualink.dl.message.basic_messages import BasicMessages
from ualink.dl.message.control_messages import ControlMessages
from ualink.dl.message.decoder import MessageDecoder
from ualink_sim.model.dl.messages import DeviceId, PortNumber, TLRateNotification

LONGEST = 33
SEGMENTS = 5
FLIT_BITS = 640 * 8
TYPES = {TLRateNotification: "announce_rate", DeviceId: "ask_device", PortNumber: "ask_port"}
REQUEST = {0: 0x0048_0120, 4: 0x004C_0120}
ACK = {0: 0x0868_0120, 4: 0x0C6C_0120}


def opportunities(gigabits: int) -> int:
    """Segments within 1 us, for whole flits."""
    return gigabits * 1000 // FLIT_BITS * SEGMENTS


def rounds(count: int, longest: int = LONGEST) -> int:
    """Segments of ``count`` rounds of the three classes."""
    return count * (longest + 1 + 1)


class Port:
    """Decoder, one class and the arbiter; the other two classes always have something. A segment starts in every
    second cycle."""

    def __init__(self, block, name, longest):
        self.block, self.name, self.longest = block, name, longest
        self.decoder, self.arbiter = MessageDecoder(), MessageArbiter()
        m = self.module = Module()
        m.submodules.decoder, m.submodules.block, m.submodules.arbiter = self.decoder, block, self.arbiter
        connect(m, self.decoder.message, block.received)
        connect(m, block.message, getattr(self.arbiter, name))
        self.other = self.arbiter.control if name == "basic" else self.arbiter.basic
        self.segments = 0
        self.said = []
        self.uart_dwords = 0

    def run(self, story):
        async def bench(ctx):
            self.ctx = ctx
            ctx.set(self.arbiter.uart.valid, 1)
            ctx.set(self.other.valid, 1)
            await story()

        sim = Simulator(self.module)
        sim.add_clock(1e-9)
        sim.add_testbench(bench)
        sim.run()

    def start_hearing(self, dword):
        self.ctx.set(self.decoder.received.valid, dword is not None)
        self.ctx.set(self.decoder.received.payload, dword or 0)

    async def cycle(self, heard=None):
        """A cycle, in which a dword may come from the partner; notes what was packed in which segment."""
        ctx, arbiter = self.ctx, self.arbiter
        self.start_hearing(heard)
        ctx.set(arbiter.uart.p.more, self.uart_dwords < self.longest - 1)
        segment = not ctx.get(arbiter.message.ready)
        ctx.set(arbiter.message.ready, segment)
        if segment:
            self.segments += 1
            if ctx.get(arbiter.uart.ready):
                self.uart_dwords = (self.uart_dwords + 1) % self.longest
            if ctx.get(self.block.message.valid) and ctx.get(self.block.message.ready):
                self.said.append((self.segments, ctx.get(self.block.message.p.dword)))
        await ctx.tick()

    async def until(self, dword):
        """Segments until ``dword`` is packed."""
        start, known = self.segments, len(self.said)
        while not any(said == dword for _, said in self.said[known:]):
            await self.cycle()
            assert self.segments - start < 1000
        return self.said[-1][0] - start

    async def fill(self, dwords):
        """Hear these one after the other."""
        for dword in dwords:
            await self.cycle(dword)
            await self.cycle()


@pytest.mark.req("DL-042", "DL-043", "DL-044", "DL-046", "DL-049", "DL-053", "DL-057")
@pytest.mark.parametrize(("longest", "gigabits"), [(LONGEST, 200), (LONGEST, 400), (21, 100)])
@pytest.mark.parametrize("kind", TYPES)
def test_worst_answer_of_the_basic_class(kind, longest, gigabits):
    """Own Request of the same type just put on offer, answers of both other types owed, own ones waiting: four rounds
    exactly, and that is within 1 us; at 100 Gb/s only with shorter UART messages."""
    block = BasicMessages()
    port = Port(block, "basic", longest)

    async def story():
        others = [other(rate=1) if other is TLRateNotification else other() for other in TYPES if other is not kind]
        await port.fill([message.encode() for message in others * 4])
        for name in TYPES.values():
            port.ctx.set(getattr(block, name), 1)
        own = kind().encode()
        while not (port.ctx.get(block.message.valid) and port.ctx.get(block.message.p.dword) & 0xFFFF == own):
            await port.cycle()
        await port.cycle((kind(rate=1) if kind is TLRateNotification else kind()).encode())
        spent = await port.until(kind(ack=1).encode())
        assert spent == rounds(4, longest)
        assert spent <= opportunities(gigabits)

    port.run(story)


@pytest.mark.req("DL-046", "DL-049", "DL-053", "DL-057")
@pytest.mark.parametrize("seed", range(2))
def test_answers_of_the_basic_class_at_random(seed):
    """A partner that has one Request of each type outstanding at most never waits longer than four rounds."""
    rng = random.Random(seed)
    block = BasicMessages()
    port = Port(block, "basic", LONGEST)

    async def story():
        since, worst = {}, 0
        for _ in range(5000):
            for name in TYPES.values():
                if rng.random() < 0.01:
                    port.ctx.set(getattr(block, name), rng.randrange(2))
            heard = None
            kind = rng.choice(list(TYPES))
            if kind not in since and rng.random() < 0.02:
                since[kind] = port.segments
                heard = (kind(rate=1) if kind is TLRateNotification else kind()).encode()
            known = len(port.said)
            await port.cycle(heard)
            for segment, dword in port.said[known:]:
                for kind in [kind for kind in since if dword == kind(ack=1).encode()]:
                    worst = max(worst, segment - since.pop(kind))
                    assert worst <= rounds(4)
        assert worst > rounds(2)

    port.run(story)


@pytest.mark.req("DL-042", "DL-044", "DL-079")
@pytest.mark.parametrize("first", [0, 4])
def test_worst_answer_of_the_control_class(first):
    """An own Request just put on offer, and Requests of the partner for both channels behind it: two rounds for the
    first and three for the second, within 1 us at 200 Gb/s."""
    block = ControlMessages()
    port = Port(block, "control", LONGEST)
    second = 4 - first

    async def story():
        # The own Request comes on offer just after the class has had its turn.
        await port.fill([0x0040_0120])
        await port.until(0x0060_0120)
        port.ctx.set(block.want_online_0 if first == 0 else block.want_online_4, 1)
        while not port.ctx.get(block.message.valid):
            await port.cycle()
        start, known = port.segments, len(port.said)
        await port.fill([REQUEST[first], REQUEST[second]])
        while len(port.said) < known + 3:
            await port.cycle()
        assert [dword for _, dword in port.said[known:]] == [REQUEST[first], ACK[first], ACK[second]]
        spent = [segment - start for segment, _ in port.said[known:]]
        # The Request was on offer two segments after the class had its turn.
        assert [segments - spent[0] for segments in spent] == [0, rounds(1), rounds(2)]
        assert rounds(1) - 2 <= spent[0] <= rounds(1)
        assert rounds(3) <= opportunities(200)

    port.run(story)
