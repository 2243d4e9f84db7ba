"""The 640-byte DL flit: byte map, segment headers, header, CRC (UALink_200 §6.3.1, §6.3.4, §6.3.7, Figure 6-4).

A sector is an integer of 32 bits, its byte B0 in bits 7..0. The grid of the figure is the wire order: A-01 (DL).
"""

import struct
import zlib
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import NamedTuple

__all__ = [
    "BEAT_BYTES",
    "CRC_OFFSET",
    "DL_FLIT_BYTES",
    "HALF_SEGMENT_SECTORS",
    "SECTORS",
    "SEGMENT_SECTORS",
    "SEGMENT_START",
    "DLFlit",
    "Place",
    "byte_map",
    "crc_bytes",
    "crc_ok",
]

DL_FLIT_BYTES = 640
BEAT_BYTES = 64
SEGMENT_SECTORS = (32, 32, 32, 31, 30)
SEGMENT_START = (0, 32, 64, 96, 127)
HALF_SEGMENT_SECTORS = 16
"""Sectors of the first half of every segment; the second halves hold what is left of SEGMENT_SECTORS."""
SECTORS = sum(SEGMENT_SECTORS)
CRC_OFFSET = 636

_WHOLE_BEATS = (0, 8)
"""Beats of sixteen unbroken sectors: the others give dword 0 to a segment header and to bytes of moved sectors."""


class Place(NamedTuple):
    """What stands at one byte offset: byte ``byte`` of sector ``number``, or byte ``number`` of SH, FH or CRC."""

    kind: str
    number: int
    byte: int = 0


@cache
def byte_map() -> tuple[Place, ...]:
    """The content of each of the 640 byte offsets in wire order (UALink_200 Figure 6-4)."""
    places: dict[int, Place] = {}

    def put_sector(offset: int, sector: int) -> None:
        for y in range(4):
            places[offset + y] = Place("S", sector, y)

    sector = 0
    waiting: list[Place] = []  # bytes of the sector that the beat before could not place whole
    for beat in range(DL_FLIT_BYTES // BEAT_BYTES):
        base = beat * BEAT_BYTES
        if beat in _WHOLE_BEATS:
            for dword in range(16):
                put_sector(base + 4 * dword, sector)
                sector += 1
            continue
        free = list(range(base, base + 4))
        if beat % 2:
            places[free.pop()] = Place("SH", beat // 2)
        for dword in range(1, 12 if beat == 9 else 16):
            put_sector(base + 4 * dword, sector)
            sector += 1
        if beat == 9:
            put_sector(base + 52, sector)
            put_sector(base + 56, sector + 1)
            moved = [Place("S", sector + 2, y) for y in range(4)]
            for y in range(3):
                places[base + 48 + y] = Place("FH", y)
            places[base + 51] = moved.pop()
            for y in range(4):
                places[CRC_OFFSET + y] = Place("CRC", y)
        elif beat == 7:
            moved = []
        else:
            moved = [Place("S", sector, y) for y in range(4)]
            sector += 1
        here = len(free) - len(waiting)
        for offset, place in zip(free, moved[:here] + waiting):
            places[offset] = place
        waiting = moved[here:]
    return tuple(places[offset] for offset in range(DL_FLIT_BYTES))


@cache
def _permutations() -> tuple[itemgetter, itemgetter]:
    # Plain order is 628 sector bytes, SH0..4, FH0..2, CRC0..3.
    start = {"SH": 4 * SECTORS, "FH": 4 * SECTORS + 5, "CRC": 4 * SECTORS + 8}
    plain_of = [4 * p.number + p.byte if p.kind == "S" else start[p.kind] + p.number for p in byte_map()]
    wire_of = sorted(range(DL_FLIT_BYTES), key=plain_of.__getitem__)
    return itemgetter(*plain_of), itemgetter(*wire_of)


def crc_bytes(first636: bytes, covers_zero_field: bool = True) -> bytes:
    """CRC0..CRC3 over the first 636 bytes of a flit (UALink_200 §6.3.7).

    ``covers_zero_field`` is ruling A-05 (DL): the four CRC bytes enter the computation as zeros (True) or not at all.
    Coefficient x^i of the complemented remainder is bit i of the field, the reverse of what an Ethernet FCS does.
    """
    if len(first636) != CRC_OFFSET:
        raise ValueError(f"{len(first636)} bytes given; the CRC covers the first {CRC_OFFSET} bytes of a flit")
    # zlib keeps the register reflected: its bit 31-i is the coefficient of x^i.
    reflected = zlib.crc32(bytes(first636) + (bytes(4) if covers_zero_field else b""))
    return int(f"{reflected:032b}"[::-1], 2).to_bytes(4, "little")


def crc_ok(flit: bytes, covers_zero_field: bool = True) -> bool:
    """True when the last four bytes of a 640-byte flit are the CRC of the others."""
    if len(flit) != DL_FLIT_BYTES:
        raise ValueError(f"{len(flit)} bytes given; a DL flit has {DL_FLIT_BYTES}")
    return crc_bytes(flit[:CRC_OFFSET], covers_zero_field) == bytes(flit[CRC_OFFSET:])


@dataclass
class DLFlit:
    """One DL flit apart from its CRC: 5 segment headers of 8 bit, 157 sectors of 32 bit, a header of 24 bit.

    FH0 carries header bits 7..0 and is first on the wire (ruling A-14 (DL)).
    """

    segment_headers: list[int] = field(default_factory=lambda: [0] * len(SEGMENT_SECTORS))
    sectors: list[int] = field(default_factory=lambda: [0] * SECTORS)
    header: int = 0

    def encode(self, crc_covers_zero_field: bool = True, invert_crc: bool = False) -> bytes:
        """The 640 bytes in wire order; ``invert_crc`` complements the CRC (error containment, UALink_200 §6.7.4.2)."""
        if len(self.segment_headers) != len(SEGMENT_SECTORS) or len(self.sectors) != SECTORS:
            raise ValueError(
                f"{len(self.segment_headers)} segment headers and {len(self.sectors)} sectors given; "
                f"a flit has {len(SEGMENT_SECTORS)} and {SECTORS}"
            )
        plain = struct.pack(f"<{SECTORS}I5B", *self.sectors, *self.segment_headers) + self.header.to_bytes(3, "little")
        to_wire, _ = _permutations()
        body = bytes(to_wire(plain + bytes(4)))[:CRC_OFFSET]
        crc = crc_bytes(body, crc_covers_zero_field)
        return body + (bytes(b ^ 0xFF for b in crc) if invert_crc else crc)

    @classmethod
    def decode(cls, flit: bytes) -> "DLFlit":
        """Take 640 bytes apart; the CRC is not looked at (see :func:`crc_ok`)."""
        if len(flit) != DL_FLIT_BYTES:
            raise ValueError(f"{len(flit)} bytes given; a DL flit has {DL_FLIT_BYTES}")
        _, to_plain = _permutations()
        plain = bytes(to_plain(flit))
        *sectors, sh0, sh1, sh2, sh3, sh4 = struct.unpack(f"<{SECTORS}I5B", plain[: 4 * SECTORS + 5])
        header = int.from_bytes(plain[4 * SECTORS + 5 : 4 * SECTORS + 8], "little")
        return cls([sh0, sh1, sh2, sh3, sh4], list(sectors), header)
