"""What crosses inside the PCS, and the numbers that it is built with."""

from amaranth.lib import data, stream

from ualink.checks import ConfigError, check_integer
from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_BEAT
from ualink.phy.serdes.interface import check_width

__all__ = [
    "PCS_BEAT_LAYOUT",
    "check_framing",
    "lane_word_layout",
    "pcs_beat_signature",
]

PCS_BEAT_LAYOUT = data.StructLayout(
    {"blocks": data.ArrayLayout(BLOCK_BITS, BLOCKS_PER_BEAT), "codeword": 1, "marker": 1}
)
"""Eight blocks, ``blocks[0]`` sent first. ``codeword``: the first beat of the 80 blocks of a codeword; ``marker``:
the first beat of a Start flit (transmit), or the beat with which a marker begins or should begin (receive)."""


def pcs_beat_signature(always_ready: bool = False) -> stream.Signature:
    """A stream of ``PCS_BEAT_LAYOUT``, which is also what an encoder or decoder of FEC takes and gives."""
    return stream.Signature(PCS_BEAT_LAYOUT, always_ready=always_ready)


def lane_word_layout(lanes: int) -> data.StructLayout:
    """A lane's share of a received beat: 8 / ``lanes`` blocks; a marker begins with its first block; number of the lane
    in its marker."""
    return data.StructLayout({"blocks": data.ArrayLayout(BLOCK_BITS, BLOCKS_PER_BEAT // lanes), "marker": 1, "lane": 2})


def check_framing(*, lanes: int = 1, width: int = 20, marker_blocks: int = 16, marker_interval: int = 4096) -> None:
    """``ConfigError`` where the PCS cannot work with these numbers."""
    if lanes not in (1, 2, 4):
        raise ConfigError(f"lanes is {lanes!r}; it must be 1, 2 or 4")
    check_width(width)
    if marker_blocks not in (16, 20, 32, 64):
        raise ConfigError(f"marker_blocks is {marker_blocks!r}; it must be 16, 20, 32 or 64 (UALink_200 §7.2.4.6)")
    check_integer("marker_interval", marker_interval, 2)
