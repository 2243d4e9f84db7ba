"""What crosses inside the PCS, and the numbers that it is built with."""

from amaranth.lib import data, stream

from ualink.checks import ConfigError, check_choice, check_integer
from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_BEAT
from ualink.phy.serdes.interface import check_width

__all__ = [
    "PCS_BEAT_LAYOUT",
    "check_framing",
    "lane_word_layout",
    "pcs_beat_layout",
    "pcs_beat_signature",
]


def pcs_beat_layout(blocks_per_word: int) -> data.StructLayout:
    """So many blocks, ``blocks[0]`` sent first: what is called a beat within the PCS. ``codeword``: the first beat of
    the 80 blocks of a codeword; ``marker``: the first beat of a Start flit (transmit), or the beat with which a marker
    begins or should begin (receive)."""
    return data.StructLayout({"blocks": data.ArrayLayout(BLOCK_BITS, blocks_per_word), "codeword": 1, "marker": 1})


PCS_BEAT_LAYOUT = pcs_beat_layout(BLOCKS_PER_BEAT)
"""Eight blocks a beat."""


def pcs_beat_signature(blocks_per_word: int = BLOCKS_PER_BEAT, *, always_ready: bool = False) -> stream.Signature:
    """A stream of ``pcs_beat_layout``, which is also what an encoder or decoder of FEC takes and gives."""
    return stream.Signature(pcs_beat_layout(blocks_per_word), always_ready=always_ready)


def lane_word_layout(lanes: int, blocks_per_word: int = BLOCKS_PER_BEAT) -> data.StructLayout:
    """A lane's share of a received beat: ``blocks_per_word`` / ``lanes`` blocks; a marker begins with its first block;
    number of the lane in its marker."""
    return data.StructLayout({"blocks": data.ArrayLayout(BLOCK_BITS, blocks_per_word // lanes), "marker": 1, "lane": 2})


def check_framing(
    *,
    lanes: int = 1,
    width: int = 20,
    marker_blocks: int = 16,
    marker_interval: int = 4096,
    blocks_per_word: int = BLOCKS_PER_BEAT,
) -> None:
    """``ConfigError`` where the PCS cannot work with these numbers."""
    if lanes not in (1, 2, 4):
        raise ConfigError(f"lanes is {lanes!r}; it must be 1, 2 or 4")
    check_choice("blocks_per_word", blocks_per_word, (1, 2, 4, 8))
    if blocks_per_word % lanes:
        raise ConfigError(f"blocks_per_word is {blocks_per_word}; it must be a multiple of the {lanes} lanes")
    check_width(width)
    if marker_blocks not in (16, 20, 32, 64):
        raise ConfigError(f"marker_blocks is {marker_blocks!r}; it must be 16, 20, 32 or 64 (UALink_200 §7.2.4.6)")
    check_integer("marker_interval", marker_interval, 2)
