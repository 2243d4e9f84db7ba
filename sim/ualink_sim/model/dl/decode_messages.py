"""What the dwords of alternative sectors are: messages, or payload of a UART message (UALink_200 §6.4.1)."""

from dataclasses import dataclass

from .messages import DLMessage, MessageError, UARTTransport, decode_message

__all__ = ["Message", "MessageStream", "Payload", "Unknown"]


@dataclass(frozen=True)
class Message:
    """The first dword of a message."""

    message: DLMessage
    dword: int


@dataclass(frozen=True)
class Payload:
    """A dword out of a UART Stream Transport Message; ``last`` of it."""

    dword: int
    stream_id: int
    last: bool


@dataclass(frozen=True)
class Unknown:
    """A message that is not defined: dropped as a single dword (ruling A-38 (DL))."""

    dword: int


class MessageStream:
    """Follows the framing: after a transport header come ``length`` + 1 dwords that are payload, whatever they hold."""

    def __init__(self):
        self.flush()

    def flush(self) -> None:
        """Link down: the next dword starts a message."""
        self._expected = 0
        self._stream_id = 0

    def receive(self, dword: int) -> Message | Payload | Unknown:
        """What the next dword is."""
        if self._expected:
            self._expected -= 1
            return Payload(dword, self._stream_id, self._expected == 0)
        try:
            message = decode_message(dword)
        except MessageError:
            return Unknown(dword)
        if isinstance(message, UARTTransport):
            self._expected, self._stream_id = message.length + 1, message.stream_id
        return Message(message, dword)
