"""What crosses between TL and DL: 64-byte TL flits with their message bits (UALink_200 §1.3.2, §6.3.3.3)."""

from amaranth.lib import data, enum, stream

__all__ = ["TL_FLIT_LAYOUT", "LinkState", "tl_flit_signature"]

TL_FLIT_LAYOUT = data.StructLayout(
    {
        "data": 512,
        "message": 2,
        "port": 2,
        "error": 1,
    }
)
"""A TL flit: byte n is bits 8n+7..8n; ``message[0]`` belongs to bytes 0..31, ``message[1]`` to bytes 32..63 (M0, M1);
``error`` marks a flit that its sender found corrupt above the replay function (UALink_200 §6.7.4)."""


class LinkState(enum.Enum, shape=2):
    """DL link states (UALink_200 §6.7.1); the reset state is FAULT and the link is up in UP only."""

    FAULT = 0
    IDLE = 1
    NOP = 2
    UP = 3


def tl_flit_signature(*, always_ready: bool = False) -> stream.Signature:
    """Stream of TL flits; towards the TL it is always ready, because TL credits keep the room."""
    return stream.Signature(TL_FLIT_LAYOUT, always_ready=always_ready)
