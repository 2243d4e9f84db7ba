"""UPLI-level transfers as control fields with their data, and the other way (UALink_200 §5.5, §5.9).

What an endpoint sends and receives are the items of ``model.tl_reassembly``: Requests with their OrigData beats, Read
Responses, Write Responses.
"""

from collections.abc import Sequence

from ...model.tl.byte_enables import encode_byte_enables
from ...model.tl.fields import ControlField, UncompressedRequest, UncompressedResponse
from ...model.tl.reassembly import ReceivedReadResponse, ReceivedRequest, ReceivedWriteResponse
from ...model.tl.sequence import Issue
from ...model.upli.transactions import OrigDataBeat, RdRspBeat
from .options import TLOptions

__all__ = ["Item", "ResponseItem", "issue_of", "request_field", "response_field"]

ResponseItem = ReceivedReadResponse | ReceivedWriteResponse
Item = ReceivedRequest | ResponseItem


def request_field(item: ReceivedRequest, pool: int = 0) -> UncompressedRequest:
    """The Uncompressed Request of ``item``, without CLOAD."""
    request = item.request
    return UncompressedRequest(
        cmd=request.cmd,
        vchan=request.vc,
        asi=request.asi,
        tag=request.tag,
        pool=pool,
        attr=request.attr,
        len=request.len,
        meta_data=request.meta_data,
        addr=request.addr >> 2,
        src_acc_id=request.src_phys_acc_id,
        dst_acc_id=request.dst_phys_acc_id,
        num_beats=request.num_beats,
    )


def response_field(item: ResponseItem, pool: int = 0) -> UncompressedResponse:
    """The Uncompressed Response of ``item``; a burst has OFFSET 0 and LAST 1 (ruling D07)."""
    first = item.beats[0] if isinstance(item, ReceivedReadResponse) else item.beat
    members = {
        "vchan": first.vc,
        "tag": first.tag,
        "pool": pool,
        "status": int(first.status),
        "src_acc_id": first.src_phys_acc_id,
        "dst_acc_id": first.dst_phys_acc_id,
    }
    if not isinstance(first, RdRspBeat):
        return UncompressedResponse(**members)
    if first.num_beats:
        return UncompressedResponse(**members, rd_wr=1, len=first.num_beats, last=1)
    return UncompressedResponse(**members, rd_wr=1, offset=first.offset, last=int(first.last))


def _corrupt(beat: OrigDataBeat | RdRspBeat) -> bool:
    return beat.error if isinstance(beat, OrigDataBeat) else beat.data_error


def issue_of(item: Item, control: ControlField, sector: int, options: TLOptions) -> Issue:
    """``control``, which stands for ``item``, at ``sector`` with all that it brings."""
    beats: Sequence[OrigDataBeat | RdRspBeat] = ()
    enables = b""
    if isinstance(item, ReceivedRequest):
        beats, tag = item.beats, item.request.auth_tag
        if control.has_byte_enables(options.uwm_has_byte_enables):
            of_beats = [beat.byte_en for beat in item.beats]
            enables = encode_byte_enables(item.request.addr, of_beats, item.request.cmd, options.byte_enable_slots)
    elif isinstance(item, ReceivedReadResponse):
        beats, tag = item.beats, item.beats[0].auth_tag
    else:
        tag = item.beat.auth_tag
    return Issue(
        sector,
        control,
        b"".join(beat.data for beat in beats),
        enables,
        frozenset(number for number, beat in enumerate(beats) if _corrupt(beat)),
        tag if options.authentication else 0,
    )
