"""Words of a board's registers over a serial port."""

import errno
import os
import time
from collections.abc import Sequence

import serial
from serial.tools import list_ports

from .errors import BadInput, BoardError
from .protocol import (
    GAP_BITS,
    LONGEST_BURST,
    Answer,
    AnswerReader,
    Operation,
    Request,
    Status,
    Word,
    answer_bytes,
    encode_request,
)

__all__ = ["ATTEMPTS", "BAUD", "TIMEOUT", "SerialBus", "choose_port"]

BAUD = 115_200
TIMEOUT = 1.0
"""Seconds without the whole answer after which a request is repeated, on top of the time that its bytes take."""
ATTEMPTS = 3

_BYTE_BITS = 10
_LAST_TAG = 255


def choose_port(names: Sequence[str] | None = None) -> str:
    """The serial port of the machine, if there is one only."""
    found = sorted(port.device for port in list_ports.comports() if port.vid is not None) if names is None else names
    if not found:
        raise BadInput("no serial port is there; plug the board in, or name its port with --port")
    if len(found) > 1:
        raise BadInput(f"there are several serial ports: {', '.join(found)}; name one with --port")
    return found[0]


class SerialBus:
    """Reads and writes words; each access is made once, however often its request or its answer is lost.

    Raises BadInput when the port cannot be opened, and BoardError when the board is silent, gone, or refuses.
    """

    def __init__(self, port: str, *, baud: int = BAUD, timeout: float = TIMEOUT, attempts: int = ATTEMPTS):
        self.port = port
        self.repeated = 0
        self._attempts = attempts
        self._timeout = timeout
        self._byte_seconds = _BYTE_BITS / baud
        # Silence of this length makes the board give up a part of a request.
        self._gap_seconds = GAP_BITS / baud
        self._tag = 0
        try:
            self._serial = serial.Serial(port, baudrate=baud, timeout=0, exclusive=True)
            self._serial.reset_input_buffer()
        except (serial.SerialException, OSError, ValueError) as error:
            raise BadInput(f"port {port} cannot be opened: {_reason(error)}") from None

    def close(self) -> None:
        """Let go of the port."""
        try:
            self._serial.close()
        except OSError:
            return

    def __enter__(self) -> "SerialBus":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def read(self, address: int, count: int = 1) -> list[int]:
        """``count`` words from byte ``address`` on."""
        words: list[int] = []
        while len(words) < count:
            burst = min(count - len(words), LONGEST_BURST)
            at = address + 4 * len(words)
            answer = self._ask(Operation.READ, at, burst)
            words += [_checked("read", at + 4 * n, word) for n, word in enumerate(answer.words)]
        return words

    def write(self, address: int, value: int) -> None:
        """A word at byte ``address``."""
        (word,) = self._ask(Operation.WRITE, address, value).words
        _checked("write", address, word)

    def _ask(self, operation: Operation, address: int, data: int) -> Answer:
        """The answer to a request, which is repeated until it is there.

        The first request of all has tag 0, which the board never takes for a repetition of what another program asked.
        """
        request = Request(operation, self._tag, address // 4, data)
        self._tag = self._tag % _LAST_TAG + 1
        for attempt in range(self._attempts):
            self.repeated += attempt > 0
            try:
                answer = self._attempt(request)
            except (serial.SerialException, OSError) as error:
                raise BoardError(f"port {self.port} has gone: {_reason(error)}") from None
            if answer is not None:
                return answer
        raise BoardError(f"the board on {self.port} does not answer")

    def _attempt(self, request: Request) -> Answer | None:
        reader = AnswerReader(request)
        sent = encode_request(request)
        self._serial.write(sent)
        seconds = (len(sent) + answer_bytes(request.words)) * self._byte_seconds + self._gap_seconds + self._timeout
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._serial.timeout = left
            arrived = self._serial.read(1)
            if arrived:
                answer = reader.feed(arrived + self._serial.read(self._serial.in_waiting))
                if answer is not None:
                    return answer
        return None


def _checked(what: str, address: int, word: Word) -> int:
    match word.status:
        case Status.DONE:
            return word.value
        case Status.REFUSED:
            raise BoardError(f"the board refused to {what} at {address:#06x}")
        case Status.TIMED_OUT:
            raise BoardError(f"the {what} at {address:#06x} never ended on the board's register bus; reset the board")
    raise BoardError(f"the board does not know what it was asked at {address:#06x}")


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    if number in (errno.EAGAIN, errno.EBUSY):
        return "another program has it"
    return os.strerror(number) if number else " ".join(str(error).split()) or type(error).__name__
