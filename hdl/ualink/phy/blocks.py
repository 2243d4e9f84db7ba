"""64B/66B blocks of the reconciliation sublayer (UALink_200 §6.3.6, §7.2.5, Figure 7-2).

A block is a number of 66 bits, of which bit 0 is sent first: the sync header in bits 1..0, then D0 or the block type in
bits 9..2, then seven bytes more.
"""

from amaranth.hdl import Cat, Const, Value

__all__ = [
    "ALIGNMENT_BLOCK",
    "BLOCKS_PER_BEAT",
    "BLOCKS_PER_FLIT",
    "BLOCK_BITS",
    "CONTROL_SYNC",
    "DATA_SYNC",
    "ERROR_BLOCK",
    "IDLE_BLOCK",
    "IDLE_TYPE",
    "LINK_INTERRUPTION_BLOCK",
    "LOCAL_FAULT_BLOCK",
    "ORDERED_SET_TYPE",
    "REMOTE_FAULT_BLOCK",
    "START_BLOCK",
    "START_TYPE",
    "control_block",
    "data_blocks",
]

BLOCK_BITS = 66
BLOCKS_PER_BEAT = 8
"""Of 64 bytes, which are a word of the data link; words towards the PCS have as many blocks, or 4, 2 or 1."""
BLOCKS_PER_FLIT = 80

DATA_SYNC = Const(0b10, 2)
"""Sync header 01, whose first bit on the wire is bit 0."""
CONTROL_SYNC = Const(0b01, 2)
"""Sync header 10."""

IDLE_TYPE, START_TYPE, ORDERED_SET_TYPE = 0x1E, 0x78, 0x4B


def control_block(block_type: int, payload: int) -> int:
    """The control block of a type with the seven bytes behind it, D1 (or C0) lowest."""
    if not 0 <= block_type < 1 << 8 or not 0 <= payload < 1 << 56:
        raise ValueError(f"block type {block_type:#x} with payload {payload:#x}; they have 8 and 56 bits")
    return CONTROL_SYNC.value | block_type << 2 | payload << 10


def _sequence(code: int) -> int:
    """The sequence ordered set with D1 = D2 = 0 and D3 = ``code`` (UALink_200 Table 7-3)."""
    return control_block(ORDERED_SET_TYPE, code << 16)


IDLE_BLOCK = control_block(IDLE_TYPE, 0)
"""Eight /I/."""
ERROR_BLOCK = control_block(IDLE_TYPE, sum(0x1E << 7 * n for n in range(8)))
"""Eight /E/."""
START_BLOCK = control_block(START_TYPE, 0)
"""Of Idle Start and Fault Start."""
ALIGNMENT_BLOCK = control_block(START_TYPE, (1 << 56) - 1)
"""Of an AM flit, which only a receive PCS makes."""
LOCAL_FAULT_BLOCK, REMOTE_FAULT_BLOCK, LINK_INTERRUPTION_BLOCK = _sequence(1), _sequence(2), _sequence(3)


def data_blocks(word: Value, blocks_per_word: int = BLOCKS_PER_BEAT) -> Value:
    """The data blocks of a word, eight bytes each, the first one lowest, each with the bit that is sent first in bit 0.

    A DL flit is blocks 0 to 79; block k carries bytes 8k to 8k + 7 as D0 to D7.
    """
    if len(word) != 64 * blocks_per_word:
        raise ValueError(f"the data of {blocks_per_word} blocks have {64 * blocks_per_word} bits, not {len(word)}")
    return Cat(Cat(DATA_SYNC, word.word_select(n, 64)) for n in range(blocks_per_word))
