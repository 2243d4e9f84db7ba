"""Requests as UPLI beats, and the bytes that come back in Read Responses (UALink_200 §2.8)."""

from collections.abc import Sequence

from .model.upli import transactions as upli
from .model.upli.transactions import BEAT_BYTES, OrigDataBeat, RdRspBeat, beats_of
from .request import Request

__all__ = ["orig_data_beats", "response_data", "upli_request"]


def upli_request(request: Request, tag: int = 0) -> upli.Request:
    """The Request beat that asks for ``request``."""
    length = request.len // 4 - 1
    beats = beats_of(request.addr, length) if request.has_data and not request.is_atomic else 1
    return upli.Request(
        cmd=request.cmd,
        addr=request.addr,
        len=length,
        attr=request.attr,
        num_beats=beats - 1,
        tag=tag,
        src_phys_acc_id=request.src,
        dst_phys_acc_id=request.dst,
    )


def orig_data_beats(request: Request) -> list[OrigDataBeat]:
    """The Originator Data beats of ``request``; the operands of a two-operand atomic begin at lane 0."""
    if not request.has_data:
        return []
    if request.has_two_operands:
        return [OrigDataBeat(data=request.data, byte_en=request.byte_en)]
    enables = bytes(request.byte_en >> n & 1 for n in range(request.len)) if _leaves_out(request) else None
    return upli.orig_data(upli_request(request), request.data, enables)


def response_data(request: Request, beats: Sequence[RdRspBeat]) -> bytes:
    """The ``len`` bytes from ``request.addr`` on that the Read Response ``beats`` bring, 00 where ``byte_en`` is 0.

    An atomic with two operands returns 32 bytes, whose lanes follow the address and not the operands; 32 zeros follow.
    """
    image = bytearray(2 * BEAT_BYTES + request.len)
    for beat in beats:
        image[BEAT_BYTES * beat.offset : BEAT_BYTES * (beat.offset + 1)] = beat.data
    start = request.addr % BEAT_BYTES
    size = 32 if request.has_two_operands else request.len
    returned = image[start : start + size].ljust(request.len, b"\0")
    if not _leaves_out(request):
        return bytes(returned)
    return bytes(byte if request.byte_en >> n & 1 else 0 for n, byte in enumerate(returned))


def _leaves_out(request: Request) -> bool:
    """Whether ``request`` has bytes that are not enabled."""
    return request.byte_en != (1 << request.len) - 1
