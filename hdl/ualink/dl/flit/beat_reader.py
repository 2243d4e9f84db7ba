"""Collects the sectors of half segments from beats (UALink_200 §6.3.1, Figure 6-4)."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit.format import (
    BEAT_BYTES,
    BYTE_MAP,
    FIRST_SECTOR,
    HALF_SEGMENT_SECTORS,
    SECTOR_BYTES,
    SECTORS_PER_TL_FLIT,
    SEGMENT_HEADER_OFFSETS,
    Place,
)
from ualink.dl.flit.half_segment import FRAME_BITS, frame_dword, one_of
from ualink.lib.parity import PROTECTED_BYTE_BITS
from ualink.phy.interface import BEATS_PER_FLIT

__all__ = ["SEGMENT_HEADER_BYTE", "BeatReader", "frame_sources"]

SEGMENT_HEADER_BYTE = SEGMENT_HEADER_OFFSETS[0] % BEAT_BYTES
assert all(n % BEAT_BYTES == SEGMENT_HEADER_BYTE for n in SEGMENT_HEADER_OFFSETS)


def frame_sources(half: int) -> dict[int, tuple[int, int]]:
    """Per byte of the frame of ``half`` its beat, 0 for the own and 1 for the next, and byte there."""
    sources = {}
    for sector in range(HALF_SEGMENT_SECTORS[half]):
        for byte in range(SECTOR_BYTES):
            offset = BYTE_MAP.index(Place("S", FIRST_SECTOR[half] + sector, byte)) - half * BEAT_BYTES
            sources[frame_dword(half, sector) * SECTOR_BYTES + byte] = divmod(offset, BEAT_BYTES)
    return sources


class BeatReader(wiring.Component):
    """Turns a beat, and the one after it for what was split, into the frame of the half segment. Combinational.

    Members
    -------
    half : number of the half segment, which is that of ``beat``, one-hot.
    first_half : it is the first of its segment.
    beat, next_beat : 64 protected bytes in wire order, byte n in bits 9n+7..9n and its parity in bit 9n+8; the last
        half segment needs no ``next_beat``.
    frame : 16 dwords, turned as ``half_segment`` says; dwords without a sector have no meaning.
    header : segment header of the segment of ``half``, with its parity in bit 8.
    header_of_first, header_of_second : the same if ``half`` is the first half of its segment, or the second.
    """

    def __init__(self):
        super().__init__(
            {
                "half": In(BEATS_PER_FLIT),
                "first_half": In(1),
                "beat": In(FRAME_BITS),
                "next_beat": In(FRAME_BITS),
                "frame": Out(FRAME_BITS),
                "header": Out(PROTECTED_BYTE_BITS),
                "header_of_first": Out(PROTECTED_BYTE_BITS),
                "header_of_second": Out(PROTECTED_BYTE_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()

        beats = (self.beat, self.next_beat)
        sources = [frame_sources(half) for half in range(BEATS_PER_FLIT)]
        for byte in range(SECTORS_PER_TL_FLIT * SECTOR_BYTES):
            halves: dict[tuple[int, int], list[int]] = {}
            for half in range(BEATS_PER_FLIT):
                halves.setdefault(sources[half].get(byte, (0, byte)), []).append(half)
            # Where most half segments have it, unless this one has it elsewhere.
            (later, n), *others = sorted(halves, key=lambda source: -len(halves[source]))
            word = beats[later].word_select(n, PROTECTED_BYTE_BITS)
            for later, n in others:
                elsewhere = beats[later].word_select(n, PROTECTED_BYTE_BITS)
                word = Mux(one_of(halves[later, n], self.half), elsewhere, word)
            m.d.comb += self.frame.word_select(byte, PROTECTED_BYTE_BITS).eq(word)

        # The header comes with the second beat of its segment.
        m.d.comb += [
            self.header_of_first.eq(self.next_beat.word_select(SEGMENT_HEADER_BYTE, PROTECTED_BYTE_BITS)),
            self.header_of_second.eq(self.beat.word_select(SEGMENT_HEADER_BYTE, PROTECTED_BYTE_BITS)),
            self.header.eq(Mux(self.first_half, self.header_of_first, self.header_of_second)),
        ]

        return m
