"""Places the sectors of half segments into beats (UALink_200 §6.3.1, Figure 6-4)."""

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit.format import BEAT_BYTES, BYTE_MAP, FIRST_SECTOR, SECTOR_BYTES
from ualink.dl.flit.half_segment import FRAME_BITS, FRAME_SECTOR_BITS, frame_dword, one_of
from ualink.lib.parity import PROTECTED_BYTE_BITS
from ualink.lib.select import select_one
from ualink.phy.interface import BEATS_PER_FLIT

__all__ = ["BeatWriter"]


def _source(beat: int, byte: int) -> tuple[str, int]:
    """Where ``byte`` of ``beat`` comes from: the frame, the sector that the beat before split, or the header."""
    place = BYTE_MAP[beat * BEAT_BYTES + byte]
    if place.kind == "SH":
        return "header", 0
    if place.kind != "S":
        return "zero", 0
    half = max(n for n in range(BEATS_PER_FLIT) if FIRST_SECTOR[n] <= place.number)
    dword = frame_dword(half, place.number - FIRST_SECTOR[half])
    if half == beat:
        return "frame", dword * SECTOR_BYTES + place.byte
    assert half == beat - 1 and dword == 0
    return "split", place.byte


class BeatWriter(wiring.Component):
    """Turns the frame of a half segment into the beat of 64 bytes, segment header in place, FH and CRC bytes zero.

    Combinational; the sector that is split between two beats is kept for the next one, so that bytes of it travel one
    beat late. All bytes are protected bytes: each keeps its parity bit wherever it goes.

    Members
    -------
    half : number of half segment and beat, one-hot.
    frame : 16 dwords, turned as ``half_segment`` says.
    header : segment header, used in the second beat of a segment.
    move : keep the split sector of this frame; the next ``half`` follows.
    beat : the beat in wire order, byte n in bits 9n+7..9n and its parity in bit 9n+8.
    """

    def __init__(self):
        super().__init__(
            {
                "half": In(BEATS_PER_FLIT),
                "frame": In(FRAME_BITS),
                "header": In(PROTECTED_BYTE_BITS),
                "move": In(1),
                "beat": Out(FRAME_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()

        split = Signal(FRAME_SECTOR_BITS, reset_less=True)
        with m.If(self.move):
            m.d.sync += split.eq(self.frame[:FRAME_SECTOR_BITS])

        bits = {"frame": self.frame, "split": split, "header": self.header, "zero": Const(0, PROTECTED_BYTE_BITS)}
        for byte in range(BEAT_BYTES):
            beats: dict[tuple[str, int], list[int]] = {}
            for beat in range(BEATS_PER_FLIT):
                beats.setdefault(_source(beat, byte), []).append(beat)
            words = [bits[kind].word_select(n, PROTECTED_BYTE_BITS) for kind, n in beats]
            here = [one_of(where, self.half) for where in beats.values()]
            target = self.beat.word_select(byte, PROTECTED_BYTE_BITS)
            m.d.comb += target.eq(select_one(here, words) if len(words) > 1 else words[0])

        return m
