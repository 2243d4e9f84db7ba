"""Registers over a serial line: the RTL against the model of the protocol, whatever happens to the bytes."""

import random

import pytest
from amaranth.hdl import Module, Signal

from support.boards.console_line import CLOCK_HZ, CYCLE, Listener, Sender, run
from ualink.config import ConfigError
from ualink.csr.serial import SerialRegisters
from ualink_boards.console.protocol import (
    AnswerReader,
    Operation,
    Request,
    Responder,
    Status,
    Word,
    answer_bytes,
    encode_request,
)

BAUD = 125_000
BIT_CYCLES = CLOCK_HZ // BAUD
ADDRESS_BITS = 6
GAP_BITS = 40
GAP = GAP_BITS + 16
READ, WRITE = Operation.READ, Operation.WRITE


class Words:
    """64 words, of which reading 60 and up and writing 50 and up is an error; ``log`` has every access."""

    def __init__(self):
        self.words = [0x0101_0101 * n for n in range(1 << ADDRESS_BITS)]
        self.log = []

    def bus(self, write: bool, address: int, data: int) -> Word:
        """An access that has come to the bus."""
        self.log.append((write, address, data if write else 0))
        if address >= (50 if write else 60):
            return Word(Status.REFUSED, 0)
        if write:
            self.words[address] = data
        return Word(Status.DONE, 0 if write else self.words[address])

    def access(self, write: bool, address: int, data: int) -> Word:
        """An access as the protocol knows it."""
        return self.bus(write, address, data) if address < len(self.words) else Word(Status.REFUSED, 0)


class Board:
    """The RTL before ``words``, which take ``delay()`` cycles."""

    def __init__(self, words, delay, *, time_out=300, error=0.0):
        self.rtl = SerialRegisters(ADDRESS_BITS, CLOCK_HZ, BAUD, time_out=time_out, gap_bits=GAP_BITS)
        self.top = Module()
        self.top.submodules.rtl = self.rtl
        self._dropped, self._started = Signal(16), Signal()
        self.top.d.sync += self._dropped.eq(self._dropped + self.rtl.dropped)
        self.top.d.comb += self._started.eq(self.rtl.bus.read | self.rtl.bus.write)
        self.sender = Sender(self.rtl.rx, BAUD, error)
        self.listener = Listener(self.rtl.tx, BAUD)
        self.busy = False
        self._words, self._delay = words, delay

    def dropped(self, ctx):
        """Requests that were dropped."""
        return ctx.get(self._dropped)

    async def serve(self, ctx):
        """The other end of the bus."""
        bus = self.rtl.bus

        def seen():
            return tuple(ctx.get(signal) for signal in (bus.read, bus.write, bus.address, bus.write_data))

        while True:
            await ctx.posedge(self._started)
            read, write, address, data = seen()
            assert read != write
            self.busy = True
            for _ in range(self._delay() + 1):
                await ctx.tick()
                assert seen() == (0, 0, address, data)
            self.busy = False
            word = self._words.bus(bool(write), address, data)
            answer = ((bus.read_data, word.value), (bus.error, word.status == Status.REFUSED), (bus.done, 1))
            for signal, level in answer:
                ctx.set(signal, level)
            await ctx.tick()
            for signal, _ in answer:
                ctx.set(signal, 0)

    def run(self, story):
        """``story(ctx)`` with everything around it."""

        async def whole(ctx):
            await self.sender.rest(ctx, 3.3)
            await story(ctx)

        run(self.top, whole, background=(self.serve, self.listener.listen))

    async def answered(self, ctx, length: int):
        """Wait until so many bytes of answers are there."""
        for _ in range(40 * BIT_CYCLES + 12 * length):
            if len(self.listener.received) >= length:
                return
            await ctx.delay(BIT_CYCLES * CYCLE)


HARMS = ("flip", "lose", "insert", "mark", "stop")


def _requests(rng):
    """Requests of every kind, and what is done to their bytes."""
    tag = 0
    for number in range(20):
        kind = rng.choice(["read", "read", "write", "write", "burst", "refused", "outside", "unknown", "length"])
        address = rng.randrange(50)
        request = {
            "read": (READ, address, 1),
            "write": (WRITE, address, rng.getrandbits(32)),
            "burst": (READ, rng.randrange(62), rng.randrange(2, 5)),
            "refused": (rng.choice([READ, WRITE]), rng.randrange(60, 64), 1),
            "outside": (rng.choice([READ, WRITE]), 1 << rng.randrange(6, 32), 1),
            "unknown": (rng.choice([0, 3, 0x80, 0x81, 0xFF]), address, 1),
            "length": (READ, address, rng.choice([0, 65, 1 << 16, (1 << 32) - 1])),
        }[kind]
        harm = HARMS[number // 2 % len(HARMS)] if number % 2 else "none"
        if rng.random() < 0.8:
            tag = rng.randrange(256)
        yield Request(request[0], tag, request[1], request[2]), harm


def _harmed(rng, data: bytes, harm: str) -> list[tuple[int, int]]:
    """Bytes with their stop bits."""
    line = [(value, 1) for value in data]
    at = rng.randrange(len(line))
    match harm:
        case "flip":
            line[at] = (data[at] ^ 1 << rng.randrange(8), 1)
        case "lose":
            del line[at]
        case "insert":
            line.insert(at, (rng.randrange(256), 1))
        case "mark":
            line.insert(at, (0x55, 1))
        case "stop":
            line[at] = (data[at], 0)
    return line


@pytest.mark.parametrize("error", [-0.02, 0.02])
def test_answers_are_those_of_the_model(error):
    rng = random.Random(f"answers {error}")
    words, modelled = Words(), Words()
    board = Board(words, lambda: rng.choice([0, 0, 1, 5, 40]), error=error)
    model = Responder(modelled.access)

    async def story(ctx):
        expected = b""
        for request, harm in _requests(rng):
            for value, stop in _harmed(rng, encode_request(request), harm):
                await board.sender.byte(ctx, value, stop=stop)
                if stop:
                    expected += model.receive(value)
                else:
                    await board.sender.rest(ctx, 1)
                    model.give_up()
            if harm != "none":
                await board.sender.rest(ctx, GAP)
                model.give_up()
            await board.answered(ctx, len(expected))
            assert board.listener.received.hex(" ") == expected.hex(" "), (request, harm)
            assert (words.log, board.dropped(ctx)) == (modelled.log, model.dropped), (request, harm)

    board.run(story)
    assert words.words == modelled.words


def _reply(board, request, since):
    answer = AnswerReader(request).feed(bytes(board.listener.received[since:]))
    assert answer is not None, board.listener.received.hex(" ")
    return answer.words


def test_requests_of_one_word_may_follow_each_other_without_a_pause():
    words, modelled = Words(), Words()
    board = Board(words, lambda: 3)
    model = Responder(modelled.access)
    requests = [Request(WRITE if n % 3 else READ, n + 1, 7 * n % 50, n << 20 if n % 3 else 1) for n in range(6)]

    async def story(ctx):
        expected = b""
        for request in requests:
            for value in encode_request(request):
                await board.sender.byte(ctx, value)
                expected += model.receive(value)
        await board.answered(ctx, len(expected))
        assert board.listener.received == expected

        assert board.dropped(ctx) == 0

    board.run(story)
    assert words.log == modelled.log


def test_a_request_during_a_long_answer_is_dropped_and_the_one_after_it_is_not():
    words = Words()
    board = Board(words, lambda: 0)
    burst, lost, late = Request(READ, 1, 0, 8), Request(WRITE, 2, 3, 0xBAD), Request(WRITE, 3, 4, 0x600D)

    async def story(ctx):
        await board.sender.bytes(ctx, encode_request(burst) + encode_request(lost))
        await board.answered(ctx, answer_bytes(8))
        await board.sender.bytes(ctx, encode_request(late))
        await board.answered(ctx, answer_bytes(8) + answer_bytes(1))
        assert [word.value for word in _reply(board, burst, 0)] == [0x0101_0101 * n for n in range(8)]
        assert _reply(board, late, answer_bytes(8)) == (Word(Status.DONE, 0),)
        assert len(board.listener.received) == answer_bytes(8) + answer_bytes(1)
        assert board.dropped(ctx) == 1

    board.run(story)
    assert words.words[3:5] == [0x0303_0303, 0x600D]


def test_a_repeated_request_gets_the_same_answer_and_is_not_made_again():
    words = Words()
    board = Board(words, lambda: 2)
    once = [Request(READ, 9, 5, 1), Request(WRITE, 10, 6, 0x1234), Request(READ, 11, 61, 1)]
    # The last has the tag of several words before it, and is none of them.
    always = [Request(READ, 0, 5, 1), Request(READ, 12, 5, 2)]
    other = [Request(READ, 12, 7, 1)]

    async def story(ctx):
        for request in (*once, *always, *other):
            replies = []
            for _ in range(2):
                since = len(board.listener.received)
                await board.sender.bytes(ctx, encode_request(request))
                await board.answered(ctx, since + answer_bytes(request.words))
                replies.append(_reply(board, request, since))
            assert replies[0] == replies[1]

    board.run(story)
    assert words.log == [
        (False, 5, 0),
        (True, 6, 0x1234),
        (False, 61, 0),
        *[(False, 5, 0)] * 2,
        *[(False, 5, 0), (False, 6, 0)] * 2,
        (False, 7, 0),
    ]


def test_a_pause_ends_a_request_not_before_its_time_and_not_much_later():
    words = Words()
    board = Board(words, lambda: 0)
    head, rest = encode_request(Request(WRITE, 1, 1, 0x11))[:7], encode_request(Request(WRITE, 1, 1, 0x11))[7:]
    other = Request(WRITE, 2, 2, 0x22)

    async def story(ctx):
        await board.sender.bytes(ctx, head)
        await board.sender.rest(ctx, GAP_BITS - 12)
        await board.sender.bytes(ctx, rest)
        await board.answered(ctx, answer_bytes(1))
        assert words.log == [(True, 1, 0x11)]
        await board.sender.bytes(ctx, head)
        await board.sender.rest(ctx, GAP_BITS + 2)
        assert board.dropped(ctx) == 1
        await board.sender.bytes(ctx, encode_request(other))
        await board.answered(ctx, 2 * answer_bytes(1))

    board.run(story)
    assert words.log == [(True, 1, 0x11), (True, 2, 0x22)]


def test_a_byte_without_stop_bit_ends_a_request_at_once():
    words = Words()
    board = Board(words, lambda: 0)

    async def story(ctx):
        await board.sender.bytes(ctx, encode_request(Request(WRITE, 1, 1, 0x11))[:7])
        await board.sender.byte(ctx, 0x12, stop=0)
        await board.sender.rest(ctx, 1)
        await board.sender.bytes(ctx, encode_request(Request(WRITE, 2, 2, 0x22)))
        await board.answered(ctx, answer_bytes(1))
        assert board.dropped(ctx) == 1

    board.run(story)
    assert words.log == [(True, 2, 0x22)]


def test_an_access_that_never_ends_is_answered_and_a_late_end_is_never_taken_for_another():
    words = Words()
    delays = iter([1_000_000])
    board = Board(words, lambda: next(delays), time_out=300)

    async def ask(ctx, request):
        since = len(board.listener.received)
        await board.sender.bytes(ctx, encode_request(request))
        await board.answered(ctx, since + answer_bytes(1))
        (word,) = _reply(board, request, since)
        return word

    async def story(ctx):
        assert await ask(ctx, Request(WRITE, 1, 1, 0x11)) == Word(Status.TIMED_OUT, 0)
        assert await ask(ctx, Request(READ, 2, 2, 1)) == Word(Status.TIMED_OUT, 0)
        assert await ask(ctx, Request(READ, 3, 2, 1)) == Word(Status.TIMED_OUT, 0)
        assert board.busy

    board.run(story)
    assert words.log == []

    delays = iter([1900, 0])
    board = Board(words, lambda: next(delays), time_out=300)

    async def late(ctx):
        assert await ask(ctx, Request(READ, 1, 7, 1)) == Word(Status.TIMED_OUT, 0)
        # The end of the read of 7 comes while the next request waits for it.
        assert await ask(ctx, Request(READ, 2, 8, 1)) == Word(Status.DONE, 0x0808_0808)

    board.run(late)
    assert words.log == [(False, 7, 0), (False, 8, 0)]


@pytest.mark.parametrize("value", [0, 1, True, 2.5])
@pytest.mark.parametrize("name", ["time_out", "gap_bits"])
def test_a_length_that_cannot_be_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"{name} is {value}"):
        SerialRegisters(ADDRESS_BITS, CLOCK_HZ, BAUD, **{name: value})


def test_address_bits_are_those_of_the_bus():
    with pytest.raises(ConfigError, match="address_bits is 31"):
        SerialRegisters(31, CLOCK_HZ, BAUD)
    assert isinstance(SerialRegisters(30, CLOCK_HZ, BAUD).elaborate(None), Module)
