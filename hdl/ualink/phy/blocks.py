"""64B/66B blocks of the reconciliation sublayer (UALink_200 §6.3.6, §7.2.5)."""

from amaranth.hdl import Cat, Const, Value

__all__ = ["BLOCKS_PER_BEAT", "BLOCK_BITS", "data_blocks"]

BLOCK_BITS = 66
BLOCKS_PER_BEAT = 8

DATA_SYNC = Const(0b10, 2)
"""Sync header 01, whose first bit on the wire is bit 0."""


def data_blocks(beat: Value) -> Value:
    """The eight data blocks of a beat of 64 bytes, the first one lowest, each with the bit that is sent first in bit 0.

    The ten beats of a DL flit are blocks 0 to 79; block k carries bytes 8k to 8k + 7 as D0 to D7.
    """
    if len(beat) != 64 * BLOCKS_PER_BEAT:
        raise ValueError(f"a beat has {64 * BLOCKS_PER_BEAT} bits, not {len(beat)}")
    return Cat(Cat(DATA_SYNC, beat.word_select(n, 64)) for n in range(BLOCKS_PER_BEAT))
