"""Classes, types and first dwords of DL messages (UALink_200 §6.4, Tables 6-3 to 6-12).

Bit i of a dword is bit i mod 8 of sector byte B(i div 8) (ruling A-07 (DL)). Reserved bits are sent 0 and ignored.
"""

from amaranth.lib import data, enum

__all__ = [
    "DEVICE_ID_MESSAGE_LAYOUT",
    "MESSAGE_HEADER_LAYOUT",
    "MESSAGE_TYPES",
    "PORT_NUMBER_MESSAGE_LAYOUT",
    "TL_RATE_MESSAGE_LAYOUT",
    "TRANSPORT_HEADER_LAYOUT",
    "BasicType",
    "ControlType",
    "MessageClass",
    "UARTType",
]


class MessageClass(enum.Enum, shape=4):
    """mclass; other codes are not defined."""

    BASIC = 0b0000
    UART = 0b0001
    CONTROL = 0b1000


class BasicType(enum.Enum, shape=3):
    """mtype of the Basic class."""

    NO_OP = 0b000
    TL_RATE = 0b100
    DEVICE_ID = 0b101
    PORT_NUMBER = 0b110


class ControlType(enum.Enum, shape=3):
    """mtype of the Control class."""

    CHANNEL_NEGOTIATION = 0b100


class UARTType(enum.Enum, shape=3):
    """mtype of the UART class."""

    TRANSPORT = 0b000
    CREDIT_UPDATE = 0b001
    RESET_REQUEST = 0b110
    RESET_RESPONSE = 0b111


MESSAGE_TYPES = {
    MessageClass.BASIC: BasicType,
    MessageClass.CONTROL: ControlType,
    MessageClass.UART: UARTType,
}
"""The codes of UALink_200 Table 6-3."""

COMMON = {"compressed": 1, "reserved_1": 1, "mclass": 4, "mtype": 3}
BASIC_COMMON = COMMON | {"reserved_9": 3, "ack": 1, "reserved_13": 3}

MESSAGE_HEADER_LAYOUT = data.StructLayout(COMMON | {"fields": 23})
"""What the first dwords of all messages share; ``compressed`` is not supported, and so a reserved bit."""

TL_RATE_MESSAGE_LAYOUT = data.StructLayout(BASIC_COMMON | {"rate": 16})
"""TL Rate Notification (Table 6-4): ``rate`` in units of 50 kHz, reserved in the answer (``ack`` 1)."""

DEVICE_ID_MESSAGE_LAYOUT = data.StructLayout(BASIC_COMMON | {"id": 10, "reserved_26": 3, "type": 2, "valid": 1})
"""Device ID Request and its answer (Table 6-5)."""

PORT_NUMBER_MESSAGE_LAYOUT = data.StructLayout(BASIC_COMMON | {"number": 12, "reserved_28": 3, "valid": 1})
"""Port Number Request and its answer (Table 6-6)."""

TRANSPORT_HEADER_LAYOUT = data.StructLayout(COMMON | {"stream_id": 3, "reserved_12": 15, "length": 5})
"""UART Stream Transport Message (Table 6-12): ``length`` payload dwords minus one follow."""
