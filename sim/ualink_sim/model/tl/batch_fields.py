"""Control fields of many half-flits at once: what ``tl_fields``, ``tl_compression`` and ``tl_credits`` make of each."""

from dataclasses import dataclass

import numpy as np

from .compression import REGION_BITS
from .credits import BUCKETS, CLASSES
from .fields import READ, UPLI_WRITE_MESSAGE, WRITE, WRITE_FULL, FlowControl

__all__ = [
    "WHOLE_CACHE",
    "Array",
    "CacheShape",
    "Credits",
    "Fields",
    "Parsed",
    "fields_of",
    "parse",
    "recall",
    "returned_by",
    "spread",
]

Array = np.ndarray

SECTORS_OF = np.array([1, 4, 2, 2, 1, 1] + [0] * 10)
"""Sectors of each FTYPE, 0 where there is none."""
COMMAND_OF = np.array([READ, 0, 0, 0, WRITE, 0, WRITE_FULL, 0])
COUNT_BITS = tuple(FlowControl.COUNT_BITS[kind] for kind in CLASSES)


@dataclass(frozen=True)
class CacheShape:
    """An address cache of the receiver: the field that chooses the row, and its rows and ways."""

    row_member: str = "dst_acc_id"
    rows: int = 1024
    ways: int = 4


WHOLE_CACHE = CacheShape()


@dataclass
class Fields:
    """Requests, or Responses, with everything that the receiver knows of them; ``row`` is the flit, ``sector`` the
    lowest sector, ``ftype`` as sent, ``first`` the number of its first Data half-flit and ``halves`` how many it owes.

    Members that a field does not have are what ``tl_compression`` rebuilds, or 0.
    """

    row: Array
    sector: Array
    ftype: Array
    vchan: Array
    tag: Array
    pool: Array
    dst_acc_id: Array
    src_acc_id: Array
    auth_tag: Array
    beats: Array
    first: Array
    halves: Array
    # Requests
    cmd: Array
    asi: Array
    attr: Array
    len: Array
    meta_data: Array
    addr: Array
    num_beats: Array
    cload: Array
    cway: Array
    # Responses
    is_read: Array
    status: Array
    offset: Array
    last: Array

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: Array) -> "Fields":
        """The fields of ``rows``."""
        return Fields(**{name: column[rows] for name, column in vars(self).items()})


@dataclass
class Credits:
    """Credits, one row per flit and account that has some; ``account`` counts through ``CLASSES`` x ``BUCKETS``."""

    row: Array
    account: Array
    count: Array


@dataclass
class Parsed:
    """Fields of the lower half-flits, as if all were Control half-flits, but for NOP fields; ``bad`` tells why a
    half-flit cannot be one. Per half-flit: the Data half-flits ``owed`` to it, and its Requests and Responses."""

    row: Array
    top: Array
    ftype: Array
    beats: Array
    enables: Array
    owed: Array
    tagged: Array
    bad: dict[int, str]


def parse(lower: Array, uwm_has_byte_enables: bool) -> Parsed:
    kinds = lower >> 28
    tops = np.zeros(lower.shape, dtype=bool)
    bad: dict[int, str] = {}

    def refuse(rows: Array, reason: str) -> None:
        for row in rows.tolist():
            bad.setdefault(row, reason)

    # FTYPE is at the top of a field, so fields are found from sector 7 down.
    expected = np.full(len(lower), 7)
    for sector in range(7, -1, -1):
        top = expected == sector
        size = SECTORS_OF[kinds[:, sector]]
        refuse(np.flatnonzero(top & (size == 0)), f"FTYPE in sector {sector} is not legal")
        size = np.maximum(size, 1)
        lowest = sector - size + 1
        refuse(np.flatnonzero(top & ((lowest < 0) | (lowest % size != 0))), f"a field cannot end in sector {sector}")
        tops[:, sector] = top & (lower[:, sector] != 0)
        expected = np.where(top, lowest - 1, expected)
    row, top = np.nonzero(tops)
    ftype = kinds[row, top].astype(np.int64)

    word = lower[row, top].astype(np.int64)
    below = lower[row, np.maximum(top - 1, 0)].astype(np.int64)
    lowest = lower[row, np.maximum(top - 3, 0)].astype(np.int64)
    short = ftype == 3
    cmd = np.select([ftype == 1, short], [word >> 22 & 63, COMMAND_OF[word >> 25 & 7]], 0)
    blocks = (word >> 7 & 3) + 1
    refuse(row[short & (cmd == 0)], "CMD of a Compressed Request is reserved")
    refuse(row[short & ((below >> 22 & 3) + blocks > 4)], "a Compressed Request crosses 256 bytes")
    beats = np.select(
        [ftype == 1, short, ftype == 2, ftype == 4, ftype == 5],
        [
            np.where(cmd & 0x20, (lowest & 3) + 1, 0),
            np.where(cmd & 0x20, blocks, 0),
            np.where(word & 1 << 5, (word >> 12 & 3) + 1, 0),
            1,
            np.where(word & 1 << 1, (word >> 2 & 3) + 1, 0),
        ],
        0,
    )
    without = (cmd == WRITE_FULL) | ((cmd == UPLI_WRITE_MESSAGE) & np.bool_(not uwm_has_byte_enables))
    enables = (cmd & 0x20 != 0) & ~without
    count = len(lower)
    owed = np.bincount(row, 2 * beats + enables, count).astype(np.int64)
    tagged = np.bincount(row, ftype != 0, count).astype(np.int64)
    return Parsed(row, top, ftype, beats, enables, owed, tagged, bad)


def spread(counts: Array) -> tuple[Array, Array]:
    """Row and number within the row of each of ``counts`` things."""
    of = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    return of, np.arange(len(of)) - starts[of]


def _bits(words: Array, high: int, low: int) -> Array:
    return (words >> np.uint64(low) & np.uint64((1 << (high - low + 1)) - 1)).astype(np.int64)


def fields_of(sectors: Array, parsed: Parsed, here: Array) -> Fields:
    """The Requests and Responses among the fields that are ``here``."""
    here = here & (parsed.ftype != 0)
    row, top, ftype, beats = parsed.row[here], parsed.top[here], parsed.ftype[here], parsed.beats[here]
    halves = 2 * beats + parsed.enables[here]
    words = [sectors[row, np.maximum(top - n, 0)].astype(np.uint64) for n in range(4)]
    high = words[0] << np.uint64(32) | words[1]
    low = words[2] << np.uint64(32) | words[3]
    short = words[0]
    kinds = [ftype == 1, ftype == 2, ftype == 3, ftype == 4, ftype == 5]
    zero = np.zeros(len(row), dtype=np.int64)

    def pick(*columns: Array | int) -> Array:
        """Of each field the column of its FTYPE, 1 to 5."""
        return np.select(kinds, columns, 0)  # type: ignore[arg-type]

    cmd = pick(_bits(high, 59, 54), 0, COMMAND_OF[_bits(high, 59, 57)], 0, 0)
    read = (cmd == READ).astype(np.int64)
    blocks = _bits(high, 40, 39)
    length = pick(_bits(high, 29, 24), _bits(high, 45, 44), blocks << 4 | 0xF, 0, _bits(short, 3, 2))
    is_read = pick(0, _bits(high, 37, 37), 0, 1, _bits(short, 1, 1))
    # A Compressed Response to a Read is the whole of a burst, or one beat alone (ruling D07).
    return Fields(
        row=row,
        sector=top - SECTORS_OF[ftype] + 1,
        ftype=ftype,
        vchan=pick(_bits(high, 53, 52), _bits(high, 59, 58), _bits(high, 56, 55), *[_bits(short, 27, 26)] * 2),
        tag=pick(_bits(high, 49, 39), _bits(high, 57, 47), _bits(high, 52, 42), *[_bits(short, 25, 15)] * 2),
        pool=pick(_bits(high, 38, 38), _bits(high, 46, 46), _bits(high, 41, 41), *[_bits(short, 14, 14)] * 2),
        dst_acc_id=pick(_bits(low, 14, 5), _bits(high, 25, 16), _bits(high, 11, 2), *[_bits(short, 13, 4)] * 2),
        src_acc_id=pick(_bits(low, 24, 15), _bits(high, 35, 26), _bits(high, 21, 12), 0, 0),
        auth_tag=np.zeros(len(row), dtype=np.uint64),
        beats=beats,
        first=np.cumsum(halves) - halves,
        halves=halves,
        cmd=cmd,
        asi=pick(_bits(high, 51, 50), 0, _bits(high, 54, 53), 0, 0),
        attr=pick(_bits(high, 37, 30), 0, read * 0xFF, 0, 0),
        len=length,
        meta_data=pick(_bits(high, 23, 16), 0, _bits(high, 38, 36), 0, 0),
        addr=pick(_bits(high, 15, 0) << 41 | _bits(low, 63, 25) << 2, 0, _bits(high, 35, 22) << 6, 0, 0),
        num_beats=pick(_bits(low, 1, 0), 0, np.where(read, zero, blocks), 0, 0),
        cload=pick(_bits(low, 4, 4), 0, 0, 0, 0),
        cway=pick(_bits(low, 3, 2), 0, _bits(high, 1, 0), 0, 0),
        is_read=is_read,
        status=pick(0, _bits(high, 41, 38), 0, 0, 0),
        offset=pick(0, _bits(high, 43, 42), 0, _bits(short, 3, 2), 0),
        last=pick(0, _bits(high, 36, 36), 0, _bits(short, 1, 1), is_read),
    )


def recall(requests: Fields, cache: CacheShape) -> int | None:
    """Complete the addresses of Compressed Requests from those loaded before; the first for which there is none."""
    loaded: dict[tuple[int, int], int] = {}
    short = requests.ftype == 3
    touching = np.flatnonzero(short | (requests.cload == 1))
    columns = (touching, short[touching], getattr(requests, cache.row_member)[touching], requests.cway[touching])
    regions = requests.addr[touching] >> REGION_BITS
    for n, (number, reads, row, way) in enumerate(zip(*(column.tolist() for column in columns))):
        if row >= cache.rows or way >= cache.ways or (reads and (row, way) not in loaded):
            return number
        if reads:
            regions[n] = loaded[row, way]
        else:
            loaded[row, way] = int(regions[n])
    requests.addr[touching] = regions << REGION_BITS | requests.addr[touching] & ((1 << REGION_BITS) - 1)
    return None


def returned_by(sectors: Array, parsed: Parsed, here: Array) -> tuple[Credits, int | None]:
    """All credits of Flow Control fields, the counts of one account in one Control half-flit ORed together; and the
    first flit in which there are two."""
    here = here & (parsed.ftype == 0)
    row, word = parsed.row[here], sectors[parsed.row[here], parsed.top[here]].astype(np.int64)
    rows, accounts, counts = [], [], []
    low = 28
    for n, bits in enumerate(COUNT_BITS):
        low -= bits + 3
        entry = word >> low
        count = entry & ((1 << bits) - 1)
        bucket = np.where(entry >> (bits + 2) & 1, 1 + (entry >> bits & 3), 0)
        some = count != 0
        rows.append(row[some])
        accounts.append(n * len(BUCKETS) + bucket[some])
        counts.append(count[some])
    keys = np.concatenate(rows) * 64 + np.concatenate(accounts)
    unique, place = np.unique(keys, return_inverse=True)
    total = np.zeros(len(unique), dtype=np.int64)
    np.bitwise_or.at(total, place, np.concatenate(counts))
    several = np.flatnonzero(np.bincount(place, minlength=len(unique)) > 1)
    return Credits(unique >> 6, unique & 63, total), int(unique[several[0]]) >> 6 if len(several) else None
