"""Rules for the format of DL messages, and for Basic messages (UALink_200 §6.4, Tables 6-3 to 6-13)."""

from collections import deque

from ...model.dl.messages import (
    ChannelNegotiation,
    DeviceId,
    DLMessage,
    MessageError,
    NoOp,
    PortNumber,
    TLRateNotification,
    UARTCreditUpdate,
    UARTResetRequest,
    UARTResetResponse,
    UARTTransport,
    decode_message,
)
from ...model.dl.uart import NO_OPS
from .flit_rules import Report
from .options import CheckerOptions

__all__ = ["BasicRules", "check_message"]

UART_MESSAGES = (UARTCreditUpdate, UARTResetRequest, UARTResetResponse, UARTTransport)
BASIC_MESSAGES = (DeviceId, PortNumber, TLRateNotification)
OWN_PORT_NUMBERS = 1 << 10


def check_message(report: Report, dword: int) -> DLMessage | None:
    """The message that starts with ``dword``, None if there is none; its fixed fields are checked."""
    try:
        message = decode_message(dword)
    except MessageError as error:
        report("message_code", f"{dword:08x}: {error}")
        return None
    if message.encode() != dword:
        report("message_reserved", f"{type(message).__name__} {dword:08x}")
    match message:
        case DeviceId(type=kind) if kind > 1:
            report("message_reserved", f"device type {kind}")
        case DeviceId(valid=0, id=number) | PortNumber(valid=0, port_number=number) if number:
            report("basic_fields", f"{type(message).__name__} {number} is not valid")
        case PortNumber(port_number=number) if number >= OWN_PORT_NUMBERS:
            report("message_reserved", f"port number {number}")
        case TLRateNotification(ack=1, rate=rate) if rate:
            report("basic_fields", f"rate {rate} in a response")
        case UARTResetResponse(status=status) if status:
            report("message_reserved", f"status {status}")
        case UARTCreditUpdate(stream_id=stream) | UARTTransport(stream_id=stream) if stream:
            report("uart_stream", f"stream {stream}")
        case UARTResetRequest(stream_id=stream, all_streams=0) if stream:
            report("uart_stream", f"stream {stream}")
        case ChannelNegotiation():
            pass
    return message


class BasicRules:
    """Requests and responses of each type; ``now`` counts the flits in which the device could answer."""

    def __init__(self, report: Report, options: CheckerOptions):
        self._report = report
        self._options = options
        self.reset()

    def reset(self) -> None:
        """Link down."""
        self.now = 0
        self._owed: dict[type, deque[int]] = {kind: deque() for kind in BASIC_MESSAGES}
        self._no_ops = 0
        self._zeros = 0  # payload dwords before them that look like No-Ops: a reset cuts a Transport Message short

    @property
    def resetting_uart(self) -> bool:
        """No-Ops are under way, which block all other messages."""
        return self._no_ops > 0

    def tick(self, could_answer: bool) -> None:
        """A flit was sent."""
        self.now += could_answer
        for kind, owed in self._owed.items():
            if owed and self.now - owed[0] > self._options.answer:
                owed.popleft()
                self._report("basic_answer", kind.__name__)

    def received(self, message: DLMessage) -> None:
        """A message that reached the device."""
        if isinstance(message, BASIC_MESSAGES) and not message.ack:
            self._owed[type(message)].append(self.now)

    def sent_payload(self, dword: int) -> None:
        """A payload dword of the device."""
        self._zeros = self._zeros + 1 if dword == 0 else 0

    def sent(self, message: DLMessage, uart_online: bool = True) -> None:
        """A message of the device; with channel 4 offline No-Ops may end without the Reset Request."""
        if not uart_online:
            self._no_ops = self._zeros = 0
            return self._answer(message)
        if isinstance(message, NoOp):
            self._no_ops += 1
            if self._no_ops > NO_OPS:
                self._report("no_op", f"{self._no_ops} in a row")
                self._no_ops = 0
            return None
        reset = isinstance(message, UARTResetRequest)
        if self._no_ops + self._zeros < NO_OPS if reset else self._no_ops:
            self._report("no_op", f"{self._no_ops} before {type(message).__name__}")
        self._no_ops = self._zeros = 0
        return self._answer(message)

    def _answer(self, message: DLMessage) -> None:
        if isinstance(message, BASIC_MESSAGES) and message.ack:
            if self._owed[type(message)]:
                self._owed[type(message)].popleft()
            else:
                self._report("basic_unasked", type(message).__name__)
