"""The PCS of boards, bit by bit: scrambler, lane markers, distribution, locks, deskew (UALink_200 §7.3, IEEE 802.3
clauses 49 and 82).

A block is an integer of 66 bits, bit 0 sent first; a lane is a list of bits, first one first. FEC and the alignment
markers of IEEE 802.3 are not here: blocks go to the lanes in turn, and lanes are told apart by board lane markers.
"""

from collections.abc import Iterable, Iterator
from functools import cache

__all__ = [
    "ALIGNMENT_BLOCK",
    "LANE_MARKER_MISSES",
    "LOCAL_FAULT_BLOCK",
    "START_BLOCK",
    "BitErrorRate",
    "Descrambler",
    "HeaderLock",
    "MarkerLock",
    "Scrambler",
    "lane_blocks",
    "lane_marker",
    "receive",
    "transmit",
]

BLOCK_BITS, HEADER_BITS, BLOCKS_PER_FLIT, START_BLOCKS = 66, 2, 80, 8
LANE_MARKER_MISSES = 5


def block_of(header: tuple[int, int], octets: Iterable[int]) -> int:
    """The block of two header bits, the first sent first, and eight octets, each sent lowest bit first."""
    return header[0] | header[1] << 1 | int.from_bytes(bytes(octets), "little") << HEADER_BITS


CONTROL = (1, 0)
START_BLOCK = block_of(CONTROL, [0x78] + [0x00] * 7)
ALIGNMENT_BLOCK = block_of(CONTROL, [0x78] + [0xFF] * 7)
LOCAL_FAULT_BLOCK = block_of(CONTROL, [0x4B, 0, 0, 1, 0, 0, 0, 0])


def bits_of(value: int, count: int) -> list[int]:
    """The ``count`` bits of a number, lowest first."""
    return [value >> n & 1 for n in range(count)]


def number_of(bits: Iterable[int]) -> int:
    """The number of which these are the bits, lowest first."""
    return sum(bit << n for n, bit in enumerate(bits))


class Scrambler:
    """out[n] = in[n] ^ out[n - 39] ^ out[n - 58], from 58 ones (IEEE 802.3 49.2.6)."""

    def __init__(self) -> None:
        self.sent = [1] * 58

    def bit(self, value: int) -> int:
        """One bit of a payload."""
        out = value ^ self.sent[-39] ^ self.sent[-58]
        self.sent = [*self.sent[1:], out]
        return out

    def block(self, block: int) -> int:
        """One block; its sync header stays."""
        return block & 3 | number_of(self.bit(bit) for bit in bits_of(block >> 2, 64)) << 2


class Descrambler(Scrambler):
    """out[n] = in[n] ^ in[n - 39] ^ in[n - 58]."""

    def bit(self, value: int) -> int:
        """One received bit of a payload."""
        out = value ^ self.sent[-39] ^ self.sent[-58]
        self.sent = [*self.sent[1:], value]
        return out


@cache
def lane_marker(lane: int, lanes: int, index: int) -> int:
    """Block ``index`` of the marker of a lane: a control block of type 0x78, as many ones as zeros in its octets."""
    octets = [0x78, lanes << 4 | lane, index, 0x65]
    return block_of(CONTROL, [*octets, *(octet ^ 0xFF for octet in (octets[1], octets[2], octets[3], octets[0]))])


def lane_blocks(blocks: list[int], lanes: int, marker_blocks: int) -> list[list[int]]:
    """What each lane carries: scrambled blocks, and markers in place of the first blocks of each Start flit.

    ``blocks`` begins with a beat of eight blocks; a Start flit begins with a beat.
    """
    scrambler = Scrambler()
    carried: list[list[int]] = [[] for _ in range(lanes)]
    since_start = marker_blocks
    for position, block in enumerate(blocks):
        if position % START_BLOCKS == 0 and blocks[position : position + START_BLOCKS] == [START_BLOCK] * START_BLOCKS:
            since_start = 0
        lane = position % lanes
        if since_start < marker_blocks:
            carried[lane].append(lane_marker(lane, lanes, since_start // lanes))
        else:
            carried[lane].append(scrambler.block(block))
        since_start += 1
    return carried


def transmit(blocks: list[int], lanes: int, marker_blocks: int) -> list[list[int]]:
    """The bits of each lane."""
    return [
        [bit for block in carried for bit in bits_of(block, BLOCK_BITS)]
        for carried in lane_blocks(blocks, lanes, marker_blocks)
    ]


class HeaderLock:
    """Block lock on sync headers: ``good`` of them in a row; lost with ``bad`` bad ones among ``window``."""

    def __init__(self, good: int = 64, window: int = 1024, bad: int = 65) -> None:
        self.good, self.window, self.bad = good, window, bad
        self.locked = False
        self.seen = self.wrong = 0

    def header(self, valid: bool) -> bool:
        """One header; True if one bit of the lane is to be dropped before the next."""
        self.seen += 1
        self.wrong += not valid
        if not self.locked:
            if self.wrong:
                self.seen = self.wrong = 0
                return True
            if self.seen == self.good:
                self.locked = True
                self.seen = self.wrong = 0
        elif self.wrong == self.bad:
            self.locked = False
            self.seen = self.wrong = 0
            return True
        elif self.seen == self.window:
            self.seen = self.wrong = 0
        return False


class MarkerLock:
    """Where a lane's markers are: two in ``interval`` blocks' distance; lost after five that are missing in a row."""

    def __init__(self, lanes: int, interval: int) -> None:
        self.lanes, self.interval = lanes, interval
        self.locked = False
        self.lane: int | None = None
        self.until = self.misses = 0

    def found(self, block: int) -> int | None:
        """The lane whose first marker block this is."""
        return next((lane for lane in range(self.lanes) if block == lane_marker(lane, self.lanes, 0)), None)

    def block(self, block: int) -> bool:
        """One block; True if a marker begins with it, or should."""
        lane = self.found(block)
        if self.lane is None:
            if lane is not None:
                self.lane, self.until = lane, self.interval
            return False
        self.until -= 1
        if self.until:
            return False
        self.until = self.interval
        if lane == self.lane:
            self.locked, self.misses = True, 0
        elif self.locked:
            self.misses += 1
            if self.misses == LANE_MARKER_MISSES:
                self.locked, self.lane, self.misses = False, None, 0
        else:
            self.lane = lane
        return self.locked


class BitErrorRate:
    """hi_ber: ``limit`` bad sync headers in a window of blocks; gone after a window with fewer (IEEE 802.3 82.2.19)."""

    def __init__(self, window: int, limit: int = 97) -> None:
        self.window, self.limit = window, limit
        self.high = False
        self.seen = self.bad = 0

    def block(self, block: int) -> bool:
        """hi_ber after one more block."""
        self.seen += 1
        self.bad += (block & 1) == (block >> 1 & 1)
        if self.bad >= self.limit:
            self.high = True
        if self.seen == self.window:
            if self.bad < self.limit:
                self.high = False
            self.seen = self.bad = 0
        return self.high


def aligned_lane(bits: list[int], lanes: int, interval: int) -> tuple[int, list[tuple[bool, int]]]:
    """A lane's number and its blocks from its first trusted marker on, each with whether a marker begins with it."""
    headers, markers = HeaderLock(), MarkerLock(lanes, interval)
    blocks: list[tuple[bool, int]] = []
    at = 0
    while at + BLOCK_BITS <= len(bits):
        block = number_of(bits[at : at + BLOCK_BITS])
        at += BLOCK_BITS
        if headers.header(bits[at - BLOCK_BITS] != bits[at - BLOCK_BITS + 1]):
            at += 1
        if not headers.locked:
            markers, blocks = MarkerLock(lanes, interval), []
            continue
        begins = markers.block(block)
        if not markers.locked:
            blocks = []
        elif begins or blocks:
            blocks.append((begins, block))
    if markers.lane is None:
        raise ValueError("no marker found on a lane")
    return markers.lane, blocks


def receive(lane_bits: list[list[int]], marker_blocks: int, marker_interval: int) -> list[int]:
    """What the reconciliation sublayer gets from lanes in any order and bit phase, from the first marker common to all.

    Lanes differ in skew by less than half a marker interval.
    """
    lanes = len(lane_bits)
    found = [aligned_lane(bits, lanes, marker_interval * BLOCKS_PER_FLIT // lanes) for bits in lane_bits]
    if sorted(lane for lane, _ in found) != list(range(lanes)):
        raise ValueError(f"the lanes say that they are {[lane for lane, _ in found]}")
    in_order = [blocks for _, blocks in sorted(found)]
    # The last marker that every lane still has whole counts backwards: lanes found their locks at different times.
    common = min(sum(begins for begins, _ in blocks) for blocks in in_order)
    in_order = [_from_marker(blocks, sum(begins for begins, _ in blocks) - common) for blocks in in_order]
    return list(_descrambled(in_order, marker_blocks))


def _from_marker(blocks: list[tuple[bool, int]], skipped: int) -> list[tuple[bool, int]]:
    starts = [n for n, (begins, _) in enumerate(blocks) if begins]
    return blocks[starts[skipped] :]


def _descrambled(lanes: list[list[tuple[bool, int]]], marker_blocks: int) -> Iterator[int]:
    descrambler = Descrambler()
    since_start = marker_blocks
    for row in zip(*lanes):
        if row[0][0]:
            since_start = 0
        for _, block in row:
            yield ALIGNMENT_BLOCK if since_start < marker_blocks else descrambler.block(block)
            since_start += 1
