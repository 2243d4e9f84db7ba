"""UPLI transactions: commands, status codes, beats, lanes and byte enables (UALink_200 §2.7.4-2.7.8, §2.8).

Members are named like the signals, without the channel prefix. ``len`` and ``num_beats`` are counts minus one; ``data``
is 64 bytes, byte n on lane n; ``byte_en`` and lane masks are 64-bit integers, bit n for lane n.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

__all__ = [
    "ALL_LANES",
    "BEAT_BYTES",
    "ELEMENT_BYTES",
    "VENDOR_MESSAGES",
    "OrigDataBeat",
    "RdRspBeat",
    "ReqCmd",
    "Request",
    "Status",
    "WrRspBeat",
    "beats_of",
    "element_bytes",
    "has_orig_data",
    "is_reserved",
    "is_vendor_defined",
    "lane_masks",
    "op_type",
    "orig_data",
    "read_data",
    "read_masks",
    "responds_on_rd_rsp",
    "violations",
]

BEAT_BYTES = 64
ALL_LANES = (1 << BEAT_BYTES) - 1
ELEMENT_BYTES = {0b00: 4, 0b01: 8, 0b10: 2, 0b11: 1}
"""Bytes of an element for each OpSize, ReqAttr[3:2] of an Atomic (UALink_200 Table 2-5)."""


class ReqCmd(IntEnum):
    """Predefined commands (UALink_200 Table 2-6)."""

    READ = 0x03
    WRITE = 0x28
    WRITE_FULL = 0x29
    UPLI_WRITE_MESSAGE = 0x2A
    ATOMIC_R = 0x30
    ATOMIC_NR = 0x32


class Status(IntEnum):
    """RdRspStatus and WrRspStatus of predefined commands (UALink_200 Tables 2-9 and 2-12)."""

    OKAY = 0x0
    TARGET_ABORT = 0x2
    DECODE_ERROR = 0x3
    PROTECTION_VIOLATION = 0x6
    CMPTO = 0x8
    ISOLATE = 0xF


KEY_ROLL_RD_RSP_CHANNEL = 0x02
"""The UPLI Write Message type that is answered on RdRsp (UALink_200 Table 2-7)."""

KEY_ROLL_WR_RSP_CHANNEL = 0x03
"""The last of the predefined UPLI Write Message types, each of which has one null beat (UALink_200 Table 2-7)."""

VENDOR_MESSAGES = range(0xF0, 0x100)
"""Vendor Defined UPLI Write Message types (UALink_200 §2.7.4.6)."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One Request beat; ``addr`` is a byte address of 57 bits."""

    cmd: int
    addr: int = 0
    len: int = 0
    attr: int = 0
    num_beats: int = 0
    tag: int = 0
    src_phys_acc_id: int = 0
    dst_phys_acc_id: int = 0
    asi: int = 0
    meta_data: int = 0
    vc: int = 0
    auth_tag: int = 0


@dataclass(frozen=True, kw_only=True)
class OrigDataBeat:
    """One Originator Data beat."""

    data: bytes
    byte_en: int = ALL_LANES
    offset: int = 0
    last: bool = True
    error: bool = False
    vc: int = 0


@dataclass(frozen=True, kw_only=True)
class RdRspBeat:
    """One Read Response beat."""

    tag: int
    data: bytes
    status: int = Status.OKAY
    offset: int = 0
    num_beats: int = 0
    last: bool = True
    data_error: bool = False
    src_phys_acc_id: int = 0
    dst_phys_acc_id: int = 0
    vc: int = 0
    auth_tag: int = 0


@dataclass(frozen=True, kw_only=True)
class WrRspBeat:
    """One Write Response beat."""

    tag: int
    status: int = Status.OKAY
    src_phys_acc_id: int = 0
    dst_phys_acc_id: int = 0
    vc: int = 0
    auth_tag: int = 0


def has_orig_data(cmd: int) -> bool:
    """True when a Request brings OrigData beats: ReqCmd[5]."""
    return bool(cmd & 0x20)


def is_vendor_defined(cmd: int) -> bool:
    """True for the Vendor Defined Commands 08h-0Fh, 2Ch-2Fh and 3Ch-3Fh."""
    return 0x08 <= cmd <= 0x0F or 0x2C <= cmd <= 0x2F or 0x3C <= cmd <= 0x3F


def is_reserved(cmd: int) -> bool:
    """True for the codes that Rev 1.0 gives no meaning."""
    return not is_vendor_defined(cmd) and cmd not in set(ReqCmd)


def responds_on_rd_rsp(request: Request) -> bool:
    """True when the Response comes on RdRsp; vendor defined atomics and messages are taken to answer on WrRsp."""
    if request.cmd == ReqCmd.UPLI_WRITE_MESSAGE:
        return request.meta_data == KEY_ROLL_RD_RSP_CHANNEL
    return not has_orig_data(request.cmd) or request.cmd == ReqCmd.ATOMIC_R


def beats_of(addr: int, length: int) -> int:
    """64-byte blocks that ``length`` + 1 doublewords from ``addr`` touch."""
    return ((addr >> 2 & 0xF) + length >> 4) + 1


def lane_masks(addr: int, length: int) -> list[int]:
    """Lanes of each beat that the range of ``length`` + 1 doublewords from ``addr`` covers."""
    covered = (1 << 4 * (length + 1)) - 1 << (addr & 0x3C)
    return [covered >> BEAT_BYTES * beat & ALL_LANES for beat in range(beats_of(addr, length))]


def read_masks(addr: int, length: int, attr: int) -> list[int]:
    """Lanes of each beat that a Read wants: ReqAttr masks the first and, of two or more, the last doubleword."""
    wanted = (1 << 4 * (length + 1)) - 1
    wanted &= ~0xF | attr & 0xF
    if length:
        wanted &= ~(0xF << 4 * length) | (attr >> 4) << 4 * length
    wanted <<= addr & 0x3C
    return [wanted >> BEAT_BYTES * beat & ALL_LANES for beat in range(beats_of(addr, length))]


def op_type(attr: int) -> int:
    """OpType[4:0] of an Atomic: {ReqAttr[0], ReqAttr[7:4]}."""
    return (attr & 1) << 4 | attr >> 4


def element_bytes(attr: int) -> int:
    """Bytes of an element of an Atomic: OpSize, ReqAttr[3:2] (UALink_200 Tables 2-4 and 2-5)."""
    return ELEMENT_BYTES[attr >> 2 & 3]


def violations(request: Request, operands: int | None = None) -> list[str]:
    """Rules for address, length and message type that ``request`` breaks (UALink_200 §2.7.4.6, §2.8).

    ``operands`` is 1 or 2 for an Atomic whose OpType is known; with None either reading makes it legal (ruling A-18).
    """
    if request.cmd == ReqCmd.UPLI_WRITE_MESSAGE:
        return _message(request)
    if request.cmd not in (ReqCmd.READ, ReqCmd.WRITE, ReqCmd.WRITE_FULL, ReqCmd.ATOMIC_R, ReqCmd.ATOMIC_NR):
        return []
    broken = []
    if request.addr % 4:
        broken.append("ReqAddr is not on a doubleword")
    if request.cmd in (ReqCmd.ATOMIC_R, ReqCmd.ATOMIC_NR):
        single, double = _single_operand(request), _double_operand(request)
        return broken + {1: single, 2: double, None: single and double}[operands]
    if (request.addr >> 2 & 0x3F) + request.len > 63:
        broken.append("the transfer crosses a 256-byte boundary")
    if request.cmd == ReqCmd.WRITE_FULL and (request.addr % BEAT_BYTES or request.len % 16 != 15):
        broken.append("WriteFull is not whole 64-byte blocks")
    beats = beats_of(request.addr, request.len) if has_orig_data(request.cmd) else 1
    if request.num_beats != beats - 1:
        broken.append(f"ReqNumBeats is {request.num_beats}; it must be {beats - 1}")
    return broken


def _message(request: Request) -> list[str]:
    if request.meta_data in VENDOR_MESSAGES:
        return []
    if request.meta_data > KEY_ROLL_WR_RSP_CHANNEL:
        return [f"UPLI Write Message type {request.meta_data:02X}h is Reserved"]
    return [f"ReqNumBeats is {request.num_beats}; a null message has one beat"] if request.num_beats else []


def _single_operand(request: Request) -> list[str]:
    size = element_bytes(request.attr)
    broken = []
    if (request.addr >> 2 & 0xF) + request.len > 15:
        broken.append("the Atomic crosses a 64-byte boundary")
    if request.addr % size or 4 * (request.len + 1) % size:
        broken.append(f"the Atomic is not whole elements of {size} bytes")
    return broken


def _double_operand(request: Request) -> list[str]:
    if request.len != 15 or request.addr % 32:
        return ["a double-operand Atomic has ReqLen 15 and a 32-byte aligned ReqAddr"]
    return []


def orig_data(request: Request, data: bytes, enables: bytes | None = None) -> list[OrigDataBeat]:
    """OrigData beats of a Write or WriteFull: ``data`` from ReqAddr on, ``enables`` 0 or 1 a byte (None: all 1)."""
    size = 4 * (request.len + 1)
    if len(data) != size or (enables is not None and len(enables) != size):
        raise ValueError(f"{len(data)} bytes given for a transfer of {size}")
    start, beats = request.addr % BEAT_BYTES, beats_of(request.addr, request.len)
    lanes = bytes(start) + data + bytes(BEAT_BYTES * beats - start - size)
    chosen = (1 << size) - 1 if enables is None else sum(bool(on) << n for n, on in enumerate(enables))
    chosen <<= start
    return [
        OrigDataBeat(
            data=lanes[BEAT_BYTES * n : BEAT_BYTES * (n + 1)],
            byte_en=chosen >> BEAT_BYTES * n & ALL_LANES,
            offset=n,
            last=n == beats - 1,
            vc=request.vc,
        )
        for n in range(beats)
    ]


def read_data(request: Request, beats: Sequence[RdRspBeat]) -> bytes:
    """The bytes of a Read from ReqAddr on, put together by offset; bytes that ReqAttr masks off are 0."""
    lanes = bytearray(BEAT_BYTES * beats_of(request.addr, request.len))
    for beat in beats:
        lanes[BEAT_BYTES * beat.offset : BEAT_BYTES * (beat.offset + 1)] = beat.data
    wanted = read_masks(request.addr, request.len, request.attr)
    for n in range(len(lanes)):
        if not wanted[n // BEAT_BYTES] >> n % BEAT_BYTES & 1:
            lanes[n] = 0
    start = request.addr % BEAT_BYTES
    return bytes(lanes[start : start + 4 * (request.len + 1)])
