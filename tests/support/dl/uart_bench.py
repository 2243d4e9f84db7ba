"""UARTs and their partners in tests: one side played by hand, or two that talk over a wire with delays and stalls."""

from collections import Counter, deque
from dataclasses import dataclass, field

from amaranth.hdl import Module
from amaranth.sim import Simulator

from ualink.dl.uart.top import Uart
from ualink_sim.model.dl.messages import (
    UARTCreditUpdate,
    UARTResetRequest,
    UARTResetResponse,
    UARTTransport,
    decode_message,
)
from ualink_sim.model.dl.uart import NO_OPS, UartEvent

PULSES = ("discarded", "overflow", "protocol_error", "reset_done", "reset_timed_out", "reset_received")
NO_OP = 0
REQUEST, RESPONSE = 0x0000_0184, 0x0000_01C4


def credit_update(data_fc_seq):
    return 0x0000_0044 | data_fc_seq << 20


def simulate(duts, bench):
    """Run ``bench(ctx)`` on components side by side."""
    m = Module()
    for n, dut in enumerate(duts):
        m.submodules[f"uart_{n}"] = dut
    sim = Simulator(m)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


def story(tx_dwords=64, rx_dwords=64, online=True):
    """Decorator: run ``async def tell(hand)`` on one UART as a test."""

    def wrap(tell):
        dut = Uart(tx_dwords, rx_dwords)

        async def bench(ctx):
            hand = Hand(ctx, dut)
            hand.online(online)
            await tell(hand)

        simulate([dut], bench)

    return wrap


class Framing:
    """Tells headers from payload: ("message", dword) or ("payload", dword, stream_id, last)."""

    def __init__(self):
        self.left = 0
        self.stream_id = 0

    def sort(self, dword):
        if self.left:
            self.left -= 1
            return "payload", dword, self.stream_id, self.left == 0
        if dword & 0x1FC == 0x004:
            self.left, self.stream_id = (dword >> 27) + 1, dword >> 9 & 7
        return "message", dword


class Hand:
    """One UART whose partner and firmware are the test; ``pulses`` counts what it reported."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.pulses = Counter()
        self.framing = Framing()

    def set(self, **values):
        for name, value in values.items():
            self.ctx.set(getattr(self.dut, name), value)

    def online(self, online=True):
        """Channel 4, in both senses."""
        self.set(channel_transmit=online, channel_receive=online, channel_offline=not online)

    @property
    def resetting(self):
        return self.ctx.get(self.dut.resetting)

    async def tick(self, count=1):
        """Cycles, with what they report counted."""
        for _ in range(count):
            for name in PULSES:
                self.pulses[name] += self.ctx.get(getattr(self.dut, name))
            await self.ctx.tick()

    async def hear(self, *dwords):
        """Dwords from the partner, one a cycle."""
        ctx, dut = self.ctx, self.dut
        for dword in dwords:
            kind, *payload = self.framing.sort(dword)
            port = dut.received if kind == "message" else dut.payload
            ctx.set(port.valid, 1)
            if kind == "message":
                ctx.set(port.payload, dword)
            else:
                for name, value in zip(("dword", "stream_id", "last"), payload):
                    ctx.set(port.payload[name], value)
            await self.tick()
            ctx.set(port.valid, 0)

    async def say(self, cycles=6, ready=lambda: True):
        """(dword, more) of all that it sends in the next cycles."""
        ctx, dut = self.ctx, self.dut
        said = []
        for _ in range(cycles):
            go = ready()
            ctx.set(dut.message.ready, go)
            if go and ctx.get(dut.message.valid):
                said.append((ctx.get(dut.message.p.dword), ctx.get(dut.message.p.more)))
            await self.tick()
        ctx.set(dut.message.ready, 0)
        return said

    async def write(self, *dwords):
        ctx, dut = self.ctx, self.dut
        for dword in dwords:
            ctx.set(dut.tx.valid, 1)
            ctx.set(dut.tx.payload, dword)
            assert ctx.get(dut.tx.ready)
            await self.tick()
        ctx.set(dut.tx.valid, 0)

    async def read(self, count):
        """What firmware reads in ``count`` cycles."""
        ctx, dut = self.ctx, self.dut
        words = []
        ctx.set(dut.rx.ready, 1)
        for _ in range(count):
            if ctx.get(dut.rx.valid):
                words.append(ctx.get(dut.rx.payload))
            await self.tick()
        ctx.set(dut.rx.ready, 0)
        return words

    async def pulse(self, name, count=1):
        for _ in range(count):
            self.set(**{name: 1})
            await self.tick()
        self.set(**{name: 0})

    async def reset(self):
        await self.pulse("reset")


def lone(*dwords):
    """Messages of one dword as ``say`` gives them."""
    return [(dword, 0) for dword in dwords]


def message(*dwords):
    """One message as ``say`` gives it."""
    return [(dword, 1) for dword in dwords[:-1]] + [(dwords[-1], 0)]


def transport(*payload):
    return message(0x0000_0004 | len(payload) - 1 << 27, *payload)


def reset_sequence(request=REQUEST):
    return message(*[NO_OP] * NO_OPS, request)


class RtlEnd:
    """A ``Uart`` in a conversation: ``begin`` drives a cycle, ``end`` collects what happened in it."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.framing = Framing()
        self.events = Counter()
        self.read_words = []
        self.offered = None
        for port in (dut.channel_transmit, dut.channel_receive):
            ctx.set(port, 1)

    def channel(self, transmit, receive, offline):
        for port, value in zip(
            ("channel_transmit", "channel_receive", "channel_offline"), (transmit, receive, offline)
        ):
            self.ctx.set(getattr(self.dut, port), value)

    def time_out(self, flits):
        self.ctx.set(self.dut.time_out_flits, flits)

    @property
    def resetting(self):
        return bool(self.ctx.get(self.dut.resetting))

    def begin(self, *, ready, incoming, write, read, flit, reset):
        ctx, dut = self.ctx, self.dut
        self.ready = ready
        kind, *payload = self.framing.sort(incoming) if incoming is not None else ("nothing",)
        ctx.set(dut.received.valid, kind == "message")
        ctx.set(dut.payload.valid, kind == "payload")
        if kind == "message":
            ctx.set(dut.received.payload, incoming)
        elif kind == "payload":
            ctx.set(dut.payload.payload, dict(zip(("dword", "stream_id", "last"), payload)))
        ctx.set(dut.message.ready, ready)
        ctx.set(dut.tx.valid, write is not None)
        if write is not None:
            ctx.set(dut.tx.payload, write)
        ctx.set(dut.rx.ready, read)
        ctx.set(dut.flit_sent, flit)
        ctx.set(dut.slot_end, flit)
        ctx.set(dut.reset, reset)

    def end(self):
        """((dword, more) or None, whether the write was accepted)."""
        ctx, dut = self.ctx, self.dut
        for name in PULSES:
            if ctx.get(getattr(dut, name)):
                self.events[UartEvent[name.upper()]] += 1
        if ctx.get(dut.rx.valid) and ctx.get(dut.rx.ready):
            self.read_words.append(ctx.get(dut.rx.payload))
        out = None
        if ctx.get(dut.message.valid):
            offered = ctx.get(dut.message.p.dword), ctx.get(dut.message.p.more)
            assert self.offered in (None, offered)
            self.offered = None if self.ready else offered
            out = offered if self.ready else None
        else:
            self.offered = None
        return out, bool(ctx.get(dut.tx.valid) and ctx.get(dut.tx.ready))


class ModelEnd:
    """The executable model in the same role."""

    def __init__(self, uart):
        self.uart = uart
        self.read_words = []

    @property
    def events(self):
        return Counter(self.uart.events)

    @property
    def resetting(self):
        return self.uart.disabled

    def channel(self, transmit, receive, offline):
        self.uart.transmit, self.uart.receiving, self.uart.offline = transmit, receive, offline

    def time_out(self, flits):
        self.uart.time_out_flits = flits

    def begin(self, *, ready, incoming, write, read, flit, reset):
        self.out = self.uart.send() if ready else None
        if incoming is not None:
            self.uart.receive(incoming)
        if reset:
            self.uart.start_reset()
        self.accepted = write is not None and self.uart.write(write)
        if read and (word := self.uart.read()) is not None:
            self.read_words.append(word)
        if flit:
            self.uart.flit_sent()
            self.uart.flit_time()

    def end(self):
        return self.out, self.accepted


@dataclass
class Wire:
    """One direction: dwords in flight, and the rules for what may be on it."""

    delay: int
    flying: deque = field(default_factory=deque)
    run: list = field(default_factory=list)
    kinds: Counter = field(default_factory=Counter)

    def put(self, now, dword, more):
        self.flying.append((now + self.delay, dword))
        self.run.append(dword)
        if not more:
            self.kinds[self._check(self.run)] += 1
            self.run = []

    def take(self, now):
        if self.flying and self.flying[0][0] <= now:
            return self.flying.popleft()[1]
        return None

    @staticmethod
    def _check(run):
        """A run up to ``more`` = 0 is one message, or one that a reset has cut."""
        sequence = [NO_OP] * NO_OPS + [REQUEST]
        if run in (sequence, [NO_OP] * (NO_OPS + 1)):
            return UARTResetRequest
        header = decode_message(run[0])
        if isinstance(header, UARTTransport):
            if len(run) != header.length + 2:
                assert run[-len(sequence) :] == sequence and len(run) - len(sequence) < header.length + 2
                return "cut"
        else:
            assert len(run) == 1 and isinstance(header, UARTCreditUpdate | UARTResetResponse)
        return type(header)


class Conversation:
    """Two ends, the data that their firmwares want to exchange, and chance."""

    def __init__(self, ctx, ends, rng, *, delay=7, pace=0.5, write=0.7, read=0.7, words=200):
        self.ctx, self.ends, self.rng = ctx, ends, rng
        self.pace, self.write, self.read = pace, write, read
        self.wires = Wire(delay), Wire(delay)
        counts = (words, words) if isinstance(words, int) else words
        self.to_write = [[rng.getrandbits(32) for _ in range(count)] for count in counts]
        self.written = [0, 0]
        self.reset = [False, False]
        self.now = 0

    async def cycle(self):
        rng = self.rng
        for n, end in enumerate(self.ends):
            pending = self.written[n] < len(self.to_write[n]) and rng.random() < self.write
            end.begin(
                ready=rng.random() < self.pace,
                incoming=self.wires[1 - n].take(self.now) if rng.random() < 0.9 else None,
                write=self.to_write[n][self.written[n]] if pending else None,
                read=rng.random() < self.read,
                flit=self.now % 3 == 0,
                reset=self.reset[n],
            )
        for n, end in enumerate(self.ends):
            out, accepted = end.end()
            if out is not None:
                self.wires[n].put(self.now, *out)
            self.written[n] += accepted
        await self.ctx.tick()
        self.now += 1

    async def cycles(self, count):
        for _ in range(count):
            await self.cycle()

    async def until(self, condition, most=20_000):
        for _ in range(most):
            if condition():
                return
            await self.cycle()
        raise AssertionError("it does not come to that")

    async def finish(self, most=20_000):
        """Go on until every word written has been read by the other side."""
        await self.until(
            lambda: all(len(self.ends[1 - n].read_words) >= len(self.to_write[n]) for n in (0, 1)), most=most
        )

    def check(self):
        """Every word came over, once and in order, and nothing was reported."""
        for n in (0, 1):
            assert self.ends[1 - n].read_words == self.to_write[n]
            assert not self.ends[n].events
