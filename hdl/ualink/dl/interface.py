"""What crosses between the DL and its neighbours, and between its blocks (UALink_200 §1.3.2, §6.3.3.3, §6.4)."""

from amaranth.lib import data, enum, stream

__all__ = [
    "DEVICE_ID_LAYOUT",
    "MESSAGE_DWORD_LAYOUT",
    "PORT_NUMBER_LAYOUT",
    "TL_FLIT_LAYOUT",
    "DeviceType",
    "LinkState",
    "tl_flit_signature",
]

TL_FLIT_LAYOUT = data.StructLayout(
    {
        "data": 512,
        "message": 2,
        "error": 1,
        "parity": 64,
        "control_parity": 1,
    }
)
"""A TL flit: byte n is bits 8n+7..8n; ``message[0]`` belongs to bytes 0..31, ``message[1]`` to bytes 32..63 (M0, M1);
``error`` marks a flit that its sender found corrupt above the replay function (UALink_200 §6.7.4). Bit n of ``parity``
is the even parity of byte n, ``control_parity`` that of ``message`` and ``error``; they are made where the flit is made
and checked where it is used (UALink_200 §6.7.3). Of several ports it belongs to the one whose slot it comes in."""


MESSAGE_DWORD_LAYOUT = data.StructLayout({"dword": 32, "more": 1})
"""A dword of a DL message on its way to the packer; ``more``: the next dword belongs to the same message, and no other
may come between (UALink_200 §6.4.1.2)."""


class DeviceType(enum.Enum, shape=2):
    """Type of a Device ID message; other codes are reserved (UALink_200 Table 6-5)."""

    SWITCH = 0
    ACCELERATOR = 1


DEVICE_ID_LAYOUT = data.StructLayout({"id": 10, "type": 2, "valid": 1})
"""What a Device ID message tells: ``id`` means nothing unless ``valid``; ``type`` is a ``DeviceType`` or reserved."""

PORT_NUMBER_LAYOUT = data.StructLayout({"number": 12, "valid": 1})
"""What a Port Number message tells; own numbers have 10 bits (ruling A-08 (DL))."""


class LinkState(enum.Enum, shape=2):
    """DL link states (UALink_200 §6.7.1); the reset state is FAULT and the link is up in UP only."""

    FAULT = 0
    IDLE = 1
    NOP = 2
    UP = 3


def tl_flit_signature(*, always_ready: bool = False) -> stream.Signature:
    """Stream of TL flits; towards the TL it is always ready, because TL credits keep the room."""
    return stream.Signature(TL_FLIT_LAYOUT, always_ready=always_ready)
