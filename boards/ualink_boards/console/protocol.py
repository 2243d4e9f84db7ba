"""Requests and answers on a board's serial line, as ``ualink.csr.serial.SerialRegisters`` speaks them.

``Request``, ``encode_request`` and ``AnswerReader`` are the computer's side. ``Responder`` is the board's, in plain
Python: what a board is expected to do with any bytes at all.
"""

import binascii
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

__all__ = [
    "GAP_BITS",
    "LONGEST_BURST",
    "REQUEST_BYTES",
    "Answer",
    "AnswerReader",
    "Operation",
    "Request",
    "Responder",
    "Status",
    "Word",
    "answer_bytes",
    "encode_answer",
    "encode_request",
]

REQUEST_MARK, ANSWER_MARK = b"\x55", b"\xaa"
ANSWER_FLAG = 0x80
REQUEST_BYTES = 13
WORD_BYTES = 5
LONGEST_BURST = 64
GAP_BITS = 640


class Operation(IntEnum):
    """What is asked for."""

    READ = 1
    WRITE = 2


class Status(IntEnum):
    """What became of an access."""

    DONE = 0
    REFUSED = 1
    TIMED_OUT = 2
    UNKNOWN = 3


@dataclass(frozen=True)
class Request:
    """``address`` counts words of 32 bits; ``data`` is what to write, or how many words to read."""

    operation: int
    tag: int
    address: int
    data: int

    @property
    def words(self) -> int:
        """Words of the answer."""
        return self.data if self.operation == Operation.READ and 1 <= self.data <= LONGEST_BURST else 1


@dataclass(frozen=True)
class Word:
    """What one access gave."""

    status: int
    value: int


@dataclass(frozen=True)
class Answer:
    """The words of the request with ``tag``."""

    operation: int
    tag: int
    words: tuple[Word, ...]


def _sealed(mark: bytes, body: bytes) -> bytes:
    return mark + body + _crc(body).to_bytes(2, "big")


def _crc(body: bytes) -> int:
    return binascii.crc_hqx(body, 0xFFFF)


def encode_request(request: Request) -> bytes:
    """The bytes of ``request``."""
    body = bytes((request.operation, request.tag))
    return _sealed(REQUEST_MARK, body + request.address.to_bytes(4, "little") + request.data.to_bytes(4, "little"))


def encode_answer(answer: Answer) -> bytes:
    """The bytes of ``answer``."""
    body = bytes((answer.operation | ANSWER_FLAG, answer.tag))
    for word in answer.words:
        body += bytes((word.status,)) + word.value.to_bytes(4, "little")
    return _sealed(ANSWER_MARK, body)


def answer_bytes(words: int) -> int:
    """Length of an answer."""
    return 3 + WORD_BYTES * words + 2


class AnswerReader:
    """Finds the answer to one request in whatever arrives."""

    def __init__(self, request: Request):
        self._head = ANSWER_MARK + bytes((request.operation | ANSWER_FLAG, request.tag))
        self._length = answer_bytes(request.words)
        self._arrived = b""

    def feed(self, data: bytes) -> Answer | None:
        """The answer, once all of it has arrived; bytes that do not belong to it are passed over."""
        self._arrived += data
        at = self._arrived.find(self._head)
        while at >= 0 and len(self._arrived) - at >= self._length:
            body, crc = self._arrived[at + 1 : at + self._length - 2], self._arrived[at + self._length - 2 :][:2]
            if _crc(body) == int.from_bytes(crc, "big"):
                words = [body[n : n + WORD_BYTES] for n in range(2, len(body), WORD_BYTES)]
                return Answer(
                    body[0] & ~ANSWER_FLAG,
                    body[1],
                    tuple(Word(word[0], int.from_bytes(word[1:], "little")) for word in words),
                )
            at = self._arrived.find(self._head, at + 1)
        return None


class Responder:
    """A board: bytes in, bytes out.

    ``access`` makes one access, (write, address, data), and gives its status and, of a read, its word.
    """

    def __init__(self, access: Callable[[bool, int, int], Word]):
        self._access = access
        self._arrived: bytes | None = None
        self._last: tuple[int, Answer] | None = None
        self.dropped = 0

    def receive(self, byte: int) -> bytes:
        """What a byte that has arrived makes the board send."""
        if self._arrived is None:
            self._arrived = b"" if byte == REQUEST_MARK[0] else None
            return b""
        self._arrived += bytes((byte,))
        if len(self._arrived) < REQUEST_BYTES - 1:
            return b""
        arrived, self._arrived = self._arrived, None
        body = arrived[:-2]
        if _crc(body) != int.from_bytes(arrived[-2:], "big"):
            self.dropped += 1
            return b""
        data = int.from_bytes(body[6:10], "little")
        return encode_answer(self._answer(Request(body[0], body[1], int.from_bytes(body[2:6], "little"), data)))

    def give_up(self) -> None:
        """A byte without stop bit has arrived, or nothing for ``GAP_BITS``."""
        if self._arrived is not None:
            self.dropped += 1
        self._arrived = None

    def _answer(self, request: Request) -> Answer:
        single = request.words == 1
        if self._last is not None and single and request.tag and self._last[0] == request.tag:
            return Answer(request.operation & ~ANSWER_FLAG, request.tag, self._last[1].words)
        if request.operation == Operation.WRITE:
            words = [self._access(True, request.address, request.data)]
        elif request.operation == Operation.READ and 1 <= request.data <= LONGEST_BURST:
            words = [self._access(False, request.address + n & 0xFFFFFFFF, 0) for n in range(request.data)]
        else:
            words = [Word(Status.UNKNOWN, 0)]
        answer = Answer(request.operation & ~ANSWER_FLAG, request.tag, tuple(words))
        self._last = (request.tag, answer) if single else None
        return answer
