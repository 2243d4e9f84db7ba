"""Half segments as packer and unpacker handle them: in frames of 16 dwords.

A frame is turned so that nearly every sector stands where its beat has it on the wire: sector n of the half segment
is dword n where the beat starts with it, and dword n + 1 (mod 16) where dword 0 holds header bytes, which brings the
sector that is split between two beats into dword 0. Every byte of a frame brings its parity bit along.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Mux, Value

from ualink.dl.flit.format import (
    BEAT_BYTES,
    BYTE_MAP,
    FIRST_SECTOR,
    HALF_SEGMENT_SECTORS,
    SECTOR_BYTES,
    SECTORS_PER_TL_FLIT,
    Place,
)
from ualink.lib.parity import PROTECTED_BYTE_BITS
from ualink.phy.interface import BEATS_PER_FLIT

__all__ = [
    "FIRST_HALF",
    "FRAME_BITS",
    "FRAME_SECTOR_BITS",
    "FRAME_STEP",
    "FRAME_TURN",
    "SHORT",
    "fits",
    "frame_dword",
    "of_half",
    "one_of",
    "rest_beyond",
    "sectors_beyond",
]

FRAME_SECTOR_BITS = SECTOR_BYTES * PROTECTED_BYTE_BITS
"""Bits of a sector in a frame: four protected bytes."""

FRAME_BITS = SECTORS_PER_TL_FLIT * FRAME_SECTOR_BITS

FRAME_TURN = tuple(
    int(BYTE_MAP[beat * BEAT_BYTES] != Place("S", sector, 0)) for beat, sector in enumerate(FIRST_SECTOR)
)
"""Dword of the frame in which each half segment starts."""

FRAME_STEP = tuple(
    (FRAME_TURN[(half + 1) % BEATS_PER_FLIT] - FRAME_TURN[half] - HALF_SEGMENT_SECTORS[half]) % SECTORS_PER_TL_FLIT
    for half in range(BEATS_PER_FLIT)
)
"""Turn from the frame of each half segment to that of the next that puts there what did not fit here."""


SHORT = tuple(SECTORS_PER_TL_FLIT - sectors for sectors in HALF_SEGMENT_SECTORS)
"""Sectors that each half segment lacks of a TL flit."""

FIRST_HALF = 1
"""Half segment 0, where the number of a half segment is one-hot: one bit for each, so that nothing decodes it."""


def of_half(values: Sequence[int], half: Value) -> Value:
    """That of ``values``, one a half segment, which belongs to ``half``, one-hot. No gate for what all have alike."""
    bits = max(values).bit_length()
    return Cat(one_of([n for n, value in enumerate(values) if value >> bit & 1], half) for bit in range(bits))


def one_of(numbers: Sequence[int], half: Value) -> Value:
    """Is ``half``, one-hot, one of ``numbers``? Or none of the others, if these are fewer."""
    others = set(range(BEATS_PER_FLIT)).difference(numbers)
    if len(others) < len(numbers):
        return ~one_of(sorted(others), half)
    return reduce(or_, (half[n] for n in numbers), Const(0, 1))


def fits(sectors: Value, spare: int, half: Value) -> Value:
    """Does ``half``, one-hot, have room for ``sectors`` and ``spare`` more?"""
    most = max(HALF_SEGMENT_SECTORS)
    answer = sectors <= most - spare
    for room in sorted(set(HALF_SEGMENT_SECTORS) - {most}):
        here = one_of([n for n, this in enumerate(HALF_SEGMENT_SECTORS) if this == room], half)
        answer = Mux(here, sectors <= room - spare, answer)
    return answer


def frame_dword(half: int, sector: int) -> int:
    """Dword of the frame that holds ``sector``, counted from the start of half segment ``half``."""
    return (sector + FRAME_TURN[half]) % SECTORS_PER_TL_FLIT


def sectors_beyond(position: Value, short: Value) -> tuple[Value, Value]:
    """Sectors, 0 to 15, that do not fit in a half segment of 16 less ``short`` sectors.

    ``position`` sectors are spoken for by what comes first. With the second value so many of these are left; without
    it none are, or so many of a TL flit that starts behind them.
    """
    total = position + short
    return total[:4], total[4]


def rest_beyond(form: Callable[[Value], Value], rest, moves: Value, starts: Value) -> tuple[Value, Value]:
    """What the next half segment begins with, without a message in this one and with one: that comes late.

    ``rest`` is what this one begins with, in ``form``, which makes it of its sectors: these, and in ``short`` what this
    half segment lacks of a TL flit. It ``moves`` on; a TL flit ``starts`` behind it.
    """
    ways = []
    for messages in (0, 1):
        sectors, left_over = sectors_beyond(rest.sectors + messages, rest.short)
        some = form(Mux(moves, sectors, rest.sectors))
        ways.append(Mux(left_over | ~moves, some, Mux(starts, some, form(Const(0, 4)))))
    return ways[0], ways[1]
