"""The DL flit: 640 bytes in ten beats of 64, where every byte stands, and the headers (UALink_200 §6.3, §6.6.3)."""

from typing import NamedTuple

from amaranth.lib import data, enum

from ualink.phy.interface import BEATS_PER_FLIT

__all__ = [
    "BEAT_BYTES",
    "BYTE_MAP",
    "COMMAND_HEADER_LAYOUT",
    "CRC_OFFSET",
    "DL_FLIT_BYTES",
    "EXPLICIT_HEADER_LAYOUT",
    "FIRST_SECTOR",
    "FLIT_BEAT_LAYOUT",
    "FLIT_HEADER_OFFSET",
    "HALF_SEGMENT_SECTORS",
    "SECTORS_PER_TL_FLIT",
    "SECTOR_BYTES",
    "SEGMENTS",
    "SEGMENT_HEADER_LAYOUT",
    "SEGMENT_HEADER_OFFSETS",
    "FlitOp",
    "Place",
]

BEAT_BYTES = 64
DL_FLIT_BYTES = BEATS_PER_FLIT * BEAT_BYTES
SECTOR_BYTES = 4
SECTORS_PER_TL_FLIT = 16
SEGMENTS = 5

HALF_SEGMENT_SECTORS = (16, 16, 16, 16, 16, 16, 16, 15, 16, 14)
"""Sectors of each half segment; half segment n is what the packer fills in beat n (UALink_200 Table 6-1)."""

FIRST_SECTOR = tuple(sum(HALF_SEGMENT_SECTORS[:n]) for n in range(BEATS_PER_FLIT))
"""Number of the first sector of each half segment."""

FLIT_BEAT_LAYOUT = data.StructLayout({"data": 512, "first": 1, "last": 1})
"""One of the ten beats of a DL flit: 64 bytes in wire order, byte n in bits 8n+7..8n."""


class Place(NamedTuple):
    """What a byte of the DL flit holds.

    ``kind`` is "S" for byte ``byte`` of sector ``number``, "SH" for segment header ``number``, "FH" or "CRC" for byte
    ``byte`` of the flit header or of the CRC.
    """

    kind: str
    number: int
    byte: int


def _byte_map() -> tuple[Place, ...]:
    """Figure 6-4 by its rule: header bytes displace a sector per beat into dword 0 of this beat and the next."""
    places: list[Place] = []
    left: list[Place] = []
    for beat, sectors in enumerate(HALF_SEGMENT_SECTORS):
        whole = [[Place("S", FIRST_SECTOR[beat] + n, byte) for byte in range(SECTOR_BYTES)] for n in range(sectors)]
        header = [Place("SH", beat // 2, 0)] if beat % 2 else []
        tail = []
        split: list[Place] = []
        if beat == BEATS_PER_FLIT - 1:
            split = whole.pop()
            tail = [[Place("FH", 0, byte) for byte in range(3)] + split[3:], whole.pop(-2), whole.pop()]
            tail.append([Place("CRC", 0, byte) for byte in range(4)])
            split = split[:3]
        elif header or left:
            split = whole.pop() if sectors == SECTORS_PER_TL_FLIT else []
        free = SECTOR_BYTES - len(header) - len(left)
        if split or left:
            places += split[:free] + left + header
            left = split[free:]
        for sector in whole + tail:
            places += sector
    return tuple(places)


BYTE_MAP = _byte_map()
"""What each of the 640 bytes of a DL flit holds, in wire order (UALink_200 Figure 6-4, ruling A-01 (DL))."""

SEGMENT_HEADER_OFFSETS = tuple(BYTE_MAP.index(Place("SH", n, 0)) for n in range(SEGMENTS))
FLIT_HEADER_OFFSET = BYTE_MAP.index(Place("FH", 0, 0))
"""Offset of FH0, which is header bits 7..0; FH1 and FH2 follow (ruling A-14 (DL))."""
CRC_OFFSET = BYTE_MAP.index(Place("CRC", 0, 0))

SEGMENT_HEADER_LAYOUT = data.StructLayout(
    {
        "alternative_sector": 1,
        "reserved": 1,
        "message_0": 2,
        "tl_flit_0": 1,
        "message_1": 2,
        "tl_flit_1": 1,
    }
)
"""Segment header (UALink_200 Table 6-2)."""


class FlitOp(enum.Enum, shape=3):
    """``op`` of a flit header (UALink_200 §6.6.3); codes 4 to 7 are reserved, and so is ``REPLAY`` on a NOP flit."""

    ORIGINAL = 0
    REPLAY = 1
    ACK = 2
    REPLAY_REQUEST = 3


EXPLICIT_HEADER_LAYOUT = data.StructLayout(
    {
        "reserved_lo": 8,
        "flit_seq_no": 9,
        "reserved_hi": 3,
        "payload": 1,
        "op": 3,
    }
)
"""Header of an Explicit Sequence Number Flit, op ORIGINAL (or NOP) and REPLAY (UALink_200 Table 6-14). ``op`` is a
plain number, because a received one may be reserved; compare it with ``FlitOp``."""

COMMAND_HEADER_LAYOUT = data.StructLayout(
    {
        "reserved_lo": 8,
        "flit_seq_lo": 3,
        "ack_req_seq": 9,
        "payload": 1,
        "op": 3,
    }
)
"""Header of a Command Flit, op ACK and REPLAY_REQUEST (UALink_200 Table 6-15)."""
