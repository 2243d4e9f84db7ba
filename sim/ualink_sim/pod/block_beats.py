"""Beats of eight 64B/66B blocks as numbers, the first block lowest (UALink_200 §7.3.4)."""

from ..model.phy.rs_blocks import ALIGNMENT, IDLE, LOCAL_FAULT, REMOTE_FAULT, START

__all__ = [
    "ALIGNMENT_BEAT",
    "BEAT_BITS",
    "BLOCKS",
    "BLOCK_BITS",
    "IDLE_BEAT",
    "INVALID_BEAT",
    "LOCAL_FAULT_BEAT",
    "REMOTE_FAULT_BEAT",
    "START_BEAT",
    "blocks_of",
    "bytes_of",
    "is_data",
]

BLOCK_BITS, BLOCKS = 66, 8
BEAT_BITS = BLOCKS * BLOCK_BITS


def _every(block: int) -> int:
    return sum(block << BLOCK_BITS * n for n in range(BLOCKS))


ALIGNMENT_BEAT, IDLE_BEAT, START_BEAT = _every(ALIGNMENT), _every(IDLE), _every(START)
LOCAL_FAULT_BEAT, REMOTE_FAULT_BEAT = _every(LOCAL_FAULT), _every(REMOTE_FAULT)

INVALID_BEAT = _every(0b11)
"""Blocks with an invalid sync header: what is left of those that FEC could not correct."""

HEADERS, DATA_HEADERS = _every(0b11), _every(0b10)


def _moves() -> list[tuple[int, int, int]]:
    """How words at a distance of 64 bits come to one of 66, all in three steps: by how much some move up in a step,
    where those that stay are before it, and where those that move."""
    word, places, moves = (1 << 64) - 1, [64 * n for n in range(BLOCKS)], []
    for bit in (4, 2, 1):
        stay = sum(word << place for n, place in enumerate(places) if not n & bit)
        move = sum(word << place for n, place in enumerate(places) if n & bit)
        moves.append((2 * bit, stay, move))
        places = [place + 2 * bit if n & bit else place for n, place in enumerate(places)]
    return moves


_APART = _moves()
_TOGETHER = [(shift, stay, move << shift) for shift, stay, move in reversed(_APART)]


def is_data(beat: int) -> bool:
    """All eight are data blocks."""
    return beat & HEADERS == DATA_HEADERS


def blocks_of(data: int) -> int:
    """The data blocks of 64 bytes."""
    for shift, stay, move in _APART:
        data = data & stay | (data & move) << shift
    return data << 2 | DATA_HEADERS


def bytes_of(beat: int) -> int:
    """The 64 bytes of eight data blocks."""
    data = beat >> 2
    for shift, stay, move in _TOGETHER:
        data = data & stay | (data & move) >> shift
    return data
