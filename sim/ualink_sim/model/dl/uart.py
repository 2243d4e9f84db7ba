"""DL UART: stream 0 between two firmwares, and its reset (UALink_200 §6.4.4; rulings A-13 and A-35 (DL)).

One ``Uart`` is one side. ``send`` gives the dwords that its class UART puts into alternative sectors, one a call;
``receive`` takes the dwords of the partner, whatever their class, and does the framing of Transport Messages itself.
"""

from collections import deque
from collections.abc import Iterator
from enum import Enum

from .messages import (
    MessageError,
    NoOp,
    UARTCreditUpdate,
    UARTResetRequest,
    UARTResetResponse,
    UARTTransport,
    decode_message,
)
from .uart_credits import COUNTER_MODULUS, UPDATE_INTERVAL_FLITS, Receiver, Transmitter

__all__ = [
    "COUNTER_MODULUS",
    "NO_OPS",
    "UPDATE_INTERVAL_FLITS",
    "Receiver",
    "ResetStep",
    "Transmitter",
    "Uart",
    "UartEvent",
]

NO_OPS = 40


class UartEvent(Enum):
    """What a side reports."""

    DISCARDED = "payload dropped: channel offline or stream disabled"
    OVERFLOW = "payload beyond the credits given"
    PROTOCOL_ERROR = "message that the rules do not permit"
    RESET_DONE = "own reset answered"
    RESET_TIMED_OUT = "own reset not answered in time"
    RESET_RECEIVED = "partner resets the stream"


class ResetStep(Enum):
    """Where an own reset stands."""

    NONE = "no own reset"
    SEND = "No-Ops and Reset Request to be sent (steps 7 to 10)"
    WAIT = "Response awaited (step 11)"


class Uart:
    """One side of the stream.

    ``transmit``, ``receiving``: channel 4 permits to start messages, to take them in; ``offline``: it does not even
    permit payload any more. ``time_out_flits`` 0 waits for a Response for ever.
    """

    def __init__(self, tx_dwords: int = 128, rx_dwords: int = 128, time_out_flits: int = 0):
        self.transmitter = Transmitter(tx_dwords)
        self.receiver = Receiver(rx_dwords)
        self.time_out_flits = time_out_flits
        self.transmit = self.receiving = True
        self.offline = False
        self.events: list[UartEvent] = []
        self.link_down()

    def link_down(self) -> None:
        """Everything anew, messages in either direction given up (ruling A-22 (DL))."""
        self._restart()
        self.step = ResetStep.NONE
        self.waited = 0
        self._all_streams = False
        self._owed: UARTResetResponse | None = None
        self._sending: deque[int] = deque()
        self._sending_kind: type | None = None
        self._expected: deque[bool] = deque()
        self._turn = 0

    def _restart(self) -> None:
        self.transmitter.restart()
        self.receiver.restart()

    @property
    def disabled(self) -> bool:
        """The stream is being reset from this side or from the other."""
        return self.step is not ResetStep.NONE or self._owed is not None

    # Firmware

    def write(self, dword: int) -> bool:
        """Put a dword into the Tx buffer; False if it is full. Writes during a reset are discarded."""
        if self.disabled:
            return True
        if len(self.transmitter.buffer) == self.transmitter.dwords:
            return False
        self.transmitter.buffer.append(dword)
        return True

    def read(self) -> int | None:
        """Take a dword out of the Rx buffer."""
        return self.receiver.read()

    def start_reset(self, all_streams: bool = False) -> None:
        """Steps 1 to 6; nothing while an own reset is under way."""
        if self.step is ResetStep.NONE:
            self.step, self._all_streams = ResetStep.SEND, all_streams
            self._disable()

    def _disable(self) -> None:
        self._restart()
        self._spoil()

    def _spoil(self) -> None:
        """The rest of a Transport Message keeps its dwords, so that the partner's framing holds, but not its data."""
        if self._sending_kind is UARTTransport:
            self._sending = deque([NoOp().encode()] * len(self._sending))

    # Time

    def flit_sent(self) -> None:
        """A DL flit of any kind has been sent."""
        self.receiver.flits += 1

    def flit_time(self) -> None:
        """A flit time has passed (step 11: 10 ms)."""
        if self.step is ResetStep.WAIT:
            self.waited += 1
            if self.time_out_flits and self.waited >= self.time_out_flits:
                self.step = ResetStep.SEND
                self.events.append(UartEvent.RESET_TIMED_OUT)

    # Messages out

    def send(self) -> tuple[int, bool] | None:
        """The next dword and whether more of its message follow; None if there is nothing to send."""
        if self.offline:
            self._spoil()
        cut = self._sending and self._sending_kind is UARTTransport
        if cut and self.step is ResetStep.SEND and self.transmit:
            self._begin(UARTResetRequest, self._reset_sequence())
        if not self._sending and self.transmit:
            self._schedule()
        if not self._sending:
            return None
        dword = self._sending.popleft()
        if not self._sending and self._sending_kind is UARTResetRequest:
            if self.offline:
                return NoOp().encode(), False
            self.step, self.waited = ResetStep.WAIT, 0
        return dword, bool(self._sending)

    def _begin(self, kind: type, dwords: list[int]) -> None:
        self._sending_kind, self._sending = kind, deque(dwords)

    def _reset_sequence(self) -> list[int]:
        """Steps 8 and 9; no other message may come between (steps 7 and 10)."""
        return [NoOp().encode()] * NO_OPS + [UARTResetRequest(all_streams=self._all_streams).encode()]

    def _candidates(self) -> Iterator[tuple[type, bool]]:
        yield UARTTransport, not self.disabled
        yield UARTCreditUpdate, not self.disabled
        yield UARTResetRequest, self.step is ResetStep.SEND
        yield UARTResetResponse, self._owed is not None

    def _schedule(self) -> None:
        """Round robin over the messages of the class."""
        candidates = list(self._candidates())
        for n in range(len(candidates)):
            number = (self._turn + n) % len(candidates)
            kind, possible = candidates[number]
            dwords = self._message(kind) if possible else None
            if dwords:
                self._turn = number + 1
                self._begin(kind, dwords)
                return

    def _message(self, kind: type) -> list[int] | None:
        if kind is UARTTransport:
            return self.transmitter.transport()
        if kind is UARTCreditUpdate:
            return self.receiver.credit_update()
        if kind is UARTResetRequest:
            return self._reset_sequence()
        answer, self._owed = self._owed, None
        self._restart()
        return [answer.encode()] if answer else None

    # Messages in

    def receive(self, dword: int) -> None:
        """A dword from an alternative sector; classes other than UART do nothing here."""
        if self._expected:
            self._payload(dword, self._expected.popleft())
            return
        try:
            message = decode_message(dword)
        except MessageError:
            return
        if isinstance(message, UARTTransport):
            known = message.stream_id == 0
            self._expected = deque([known] * (message.length + 1))
            if self.receiving and not known and not self.disabled:
                self.events.append(UartEvent.PROTOCOL_ERROR)
        elif self.receiving and not self._heard(message):
            self.events.append(UartEvent.PROTOCOL_ERROR)

    def _payload(self, dword: int, known: bool) -> None:
        if not self.receiving or self.disabled:
            self.events.append(UartEvent.DISCARDED)
        elif known and not self.receiver.put(dword):
            self.events.append(UartEvent.OVERFLOW)

    def _heard(self, message) -> bool:
        """Obey a message of one dword; False if it is not permitted."""
        if isinstance(message, UARTCreditUpdate):
            return self.disabled or (message.stream_id == 0 and self.transmitter.update(message.data_fc_seq))
        if not isinstance(message, UARTResetRequest | UARTResetResponse):
            return True
        if message.stream_id and not message.all_streams:
            return False
        if isinstance(message, UARTResetRequest):
            self._owed = UARTResetResponse(stream_id=message.stream_id, all_streams=message.all_streams)
            self._disable()
            self.events.append(UartEvent.RESET_RECEIVED)
            return True
        if self.step is not ResetStep.WAIT:
            return self.step is ResetStep.SEND
        if message.status:
            return False
        self.step = ResetStep.NONE
        self.events.append(UartEvent.RESET_DONE)
        return True
