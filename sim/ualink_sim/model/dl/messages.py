"""DL messages: one dword each, UART Stream Transport up to 33 (UALink_200 §6.4, Tables 6-3 to 6-13).

Bit i of a dword is bit i mod 8 of sector byte B(i div 8) (ruling A-07 (DL)). Reserved bits are sent as 0 and ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import ClassVar, Self

__all__ = [
    "BASIC",
    "CONTROL",
    "MAX_TRANSPORT_DWORDS",
    "MESSAGE_TYPES",
    "UART",
    "ChannelCommand",
    "ChannelNegotiation",
    "DLMessage",
    "DeviceId",
    "MessageError",
    "NoOp",
    "PortNumber",
    "TLRateNotification",
    "UARTCreditUpdate",
    "UARTResetRequest",
    "UARTResetResponse",
    "UARTTransport",
    "VendorDefinedPacket",
    "decode_message",
]

BASIC, CONTROL, UART = 0b0000, 0b1000, 0b0001
MAX_TRANSPORT_DWORDS = 32


class MessageError(ValueError):
    """A dword that is no message of Rev 1.0, or a value that does not fit in its field."""


def _decode(cls, dword: int):
    return cls(**{name: dword >> low & ((1 << width) - 1) for name, (low, width) in cls.BITS.items()})


class DLMessage:
    """Common part: ``BITS`` gives the lowest bit and the width of each member."""

    MCLASS: ClassVar[int]
    MTYPE: ClassVar[int]
    BITS: ClassVar[dict[str, tuple[int, int]]]

    def encode(self) -> int:
        """The first dword of the message."""
        dword = self.MCLASS << 2 | self.MTYPE << 6
        for name, (low, width) in self.BITS.items():
            value = getattr(self, name)
            if not 0 <= value < 1 << width:
                raise MessageError(f"{type(self).__name__}.{name} is {value}; it has {width} bits")
            dword |= value << low
        return dword

    @classmethod
    def decode(cls, dword: int) -> Self:
        """Take the dword apart without looking at class and type."""
        return _decode(cls, dword)


@dataclass(frozen=True)
class NoOp(DLMessage):
    """Only sent in a UART stream reset, 40 in a row; never acknowledged (Table 6-7)."""

    MCLASS: ClassVar[int] = BASIC
    MTYPE: ClassVar[int] = 0b000
    BITS: ClassVar[dict[str, tuple[int, int]]] = {}


@dataclass(frozen=True, kw_only=True)
class TLRateNotification(DLMessage):
    """Table 6-4: ``rate`` in units of 50 kHz, 0 in the response (``ack`` 1)."""

    ack: int = 0
    rate: int = 0
    MCLASS: ClassVar[int] = BASIC
    MTYPE: ClassVar[int] = 0b100
    BITS: ClassVar[dict[str, tuple[int, int]]] = {"ack": (12, 1), "rate": (16, 16)}


@dataclass(frozen=True, kw_only=True)
class DeviceId(DLMessage):
    """Table 6-5: ``type`` 0 switch, 1 accelerator; ``id`` is 0 when ``valid`` is 0."""

    ack: int = 0
    id: int = 0
    type: int = 0
    valid: int = 0
    MCLASS: ClassVar[int] = BASIC
    MTYPE: ClassVar[int] = 0b101
    BITS: ClassVar[dict[str, tuple[int, int]]] = {"ack": (12, 1), "id": (16, 10), "type": (29, 2), "valid": (31, 1)}


@dataclass(frozen=True, kw_only=True)
class PortNumber(DLMessage):
    """Table 6-6: the field has 12 bits, of which a transmitter uses 10 (ruling A-08 (DL))."""

    ack: int = 0
    port_number: int = 0
    valid: int = 0
    MCLASS: ClassVar[int] = BASIC
    MTYPE: ClassVar[int] = 0b110
    BITS: ClassVar[dict[str, tuple[int, int]]] = {"ack": (12, 1), "port_number": (16, 12), "valid": (31, 1)}


class ChannelCommand(IntEnum):
    """Channel.Command of Table 6-8; other codes are reserved."""

    REQUEST = 0b0100
    ACK = 0b0110
    NACK = 0b0111
    DECISION_PENDING = 0b1000


@dataclass(frozen=True, kw_only=True)
class ChannelNegotiation(DLMessage):
    """Table 6-8: ``target_state`` and ``response`` are 4 bits each, bit 3 online, bits 2..0 the channel."""

    target_state: int = 0
    command: int = 0
    response: int = 0
    MCLASS: ClassVar[int] = CONTROL
    MTYPE: ClassVar[int] = 0b100
    BITS: ClassVar[dict[str, tuple[int, int]]] = {"target_state": (16, 4), "command": (20, 4), "response": (24, 4)}


@dataclass(frozen=True, kw_only=True)
class UARTTransport(DLMessage):
    """Table 6-12, the header dword: ``length`` payload dwords minus one follow in the next segments."""

    stream_id: int = 0
    length: int = 0
    MCLASS: ClassVar[int] = UART
    MTYPE: ClassVar[int] = 0b000
    BITS: ClassVar[dict[str, tuple[int, int]]] = {"stream_id": (9, 3), "length": (27, 5)}

    @classmethod
    def dwords(cls, payload: Sequence[int], stream_id: int = 0) -> list[int]:
        """The whole message around 1 to 32 payload dwords."""
        if not 1 <= len(payload) <= MAX_TRANSPORT_DWORDS:
            raise MessageError(f"{len(payload)} payload dwords; a transport message has 1 to {MAX_TRANSPORT_DWORDS}")
        return [cls(stream_id=stream_id, length=len(payload) - 1).encode(), *payload]


@dataclass(frozen=True, kw_only=True)
class UARTCreditUpdate(DLMessage):
    """Table 6-13: ``data_fc_seq`` is the Receiver Credit Counter."""

    stream_id: int = 0
    data_fc_seq: int = 0
    MCLASS: ClassVar[int] = UART
    MTYPE: ClassVar[int] = 0b001
    BITS: ClassVar[dict[str, tuple[int, int]]] = {"stream_id": (9, 3), "data_fc_seq": (20, 12)}


@dataclass(frozen=True, kw_only=True)
class UARTResetRequest(DLMessage):
    """Table 6-10."""

    stream_id: int = 0
    all_streams: int = 0
    MCLASS: ClassVar[int] = UART
    MTYPE: ClassVar[int] = 0b110
    BITS: ClassVar[dict[str, tuple[int, int]]] = {"stream_id": (9, 3), "all_streams": (12, 1)}


@dataclass(frozen=True, kw_only=True)
class UARTResetResponse(DLMessage):
    """Table 6-11: ``status`` 0 is success."""

    stream_id: int = 0
    all_streams: int = 0
    status: int = 0
    MCLASS: ClassVar[int] = UART
    MTYPE: ClassVar[int] = 0b111
    BITS: ClassVar[dict[str, tuple[int, int]]] = {"stream_id": (9, 3), "all_streams": (12, 1), "status": (13, 3)}


MESSAGE_TYPES: dict[tuple[int, int], type[DLMessage]] = {
    (kind.MCLASS, kind.MTYPE): kind
    for kind in (
        NoOp,
        TLRateNotification,
        DeviceId,
        PortNumber,
        ChannelNegotiation,
        UARTTransport,
        UARTCreditUpdate,
        UARTResetRequest,
        UARTResetResponse,
    )
}


def decode_message(dword: int) -> DLMessage:
    """The message that starts with ``dword``; MessageError for codes not defined (A-38 (DL)).

    Reserved bits are ignored, bit 0 (Compressed) among them.
    """
    code = dword >> 2 & 0xF, dword >> 6 & 7
    if code not in MESSAGE_TYPES:
        raise MessageError(f"no message has mclass 0b{code[0]:04b}, mtype 0b{code[1]:03b}")
    return MESSAGE_TYPES[code].decode(dword)


@dataclass(frozen=True)
class VendorDefinedPacket:
    """TL dword of a packet inside the UART payload stream (Table 6-9): ``length`` payload dwords minus one."""

    length: int
    type: int
    vendor_id: int
    BITS: ClassVar[dict[str, tuple[int, int]]] = {"length": (0, 8), "type": (8, 8), "vendor_id": (16, 16)}

    def encode(self) -> int:
        """The dword; Vendor ID FFFFh is UALink's own."""
        return sum(getattr(self, f.name) << self.BITS[f.name][0] for f in fields(self))

    @classmethod
    def decode(cls, dword: int) -> Self:
        """Take the dword apart."""
        return _decode(cls, dword)
