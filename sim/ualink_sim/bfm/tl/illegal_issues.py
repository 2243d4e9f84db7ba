"""Fields that a sender must not issue, put into the plan of a flit with all the data that they bring."""

from collections import Counter
from collections.abc import Sequence

from ...model.tl.credits import BUCKETS, Account
from ...model.tl.fields import (
    COMPRESSED_COMMANDS,
    READ,
    WRITE_FULL,
    CompressedRequest,
    CompressedResponse,
    ControlField,
    Request,
    Response,
    UncompressedRequest,
    UncompressedResponse,
)
from ...model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, Issue
from .endpoint import Plan
from .illegalities import WatchedTraffic
from .options import limit_of

__all__ = ["a_read", "a_read_response", "a_write_full", "a_write_response", "add", "credit_of", "left", "richest"]


def left(end: WatchedTraffic, account: Account) -> int:
    """Credits of ``account`` that the plan leaves."""
    kind, bucket = account
    shared = end.credits.shared_data_buffer and bucket is None and kind.endswith("data")
    return sum(end.credits.credits[part, bucket] for part in (("req_data", "rsp_data") if shared else (kind,)))


def credit_of(bucket: int | None) -> dict[str, int]:
    return {"pool": int(bucket is None), "vchan": bucket or 0}


def _of_loaded_entry(end: WatchedTraffic) -> dict[str, int] | None:
    """Members that name a loaded entry: of Compressed Requests several have room. None if there is none."""
    if not end.view.fields.loaded:
        return None
    row, way = min(end.view.fields.loaded)
    return {"cway": way, end.options.tx_row_member: row}


def a_read(end: WatchedTraffic, bucket: int | None) -> Request:
    """A Read, compressed if some entry has been loaded."""
    entry = _of_loaded_entry(end)
    if entry is None:
        return UncompressedRequest(cmd=READ, **credit_of(bucket))
    return CompressedRequest(**entry, **credit_of(bucket))


def a_write_full(end: WatchedTraffic, bucket: int | None, beats: int) -> Request:
    """A WriteFull, compressed if some entry has been loaded."""
    entry = _of_loaded_entry(end)
    if entry is None:
        return UncompressedRequest(cmd=WRITE_FULL, num_beats=beats - 1, **credit_of(bucket))
    code = next(code for code, cmd in COMPRESSED_COMMANDS.items() if cmd == WRITE_FULL)
    return CompressedRequest(cmd=code, len=beats - 1, **entry, **credit_of(bucket))


def a_read_response(end: WatchedTraffic, bucket: int | None, beats: int) -> Response:
    """A Read Response, compressed unless the link may be encrypted."""
    if end.options.encryption:
        return UncompressedResponse(rd_wr=1, len=beats - 1, last=1, **credit_of(bucket))
    return CompressedResponse(rd_wr=1, len=beats - 1, **credit_of(bucket))


def a_write_response(end: WatchedTraffic, bucket: int | None) -> Response:
    """A Write Response, compressed unless the link may be encrypted."""
    form = UncompressedResponse if end.options.encryption else CompressedResponse
    return form(**credit_of(bucket))


def richest(end: WatchedTraffic, kind: str) -> int | None:
    return max(BUCKETS, key=lambda bucket: left(end, (kind, bucket)))


def _count(fields: Sequence[ControlField], kind: str) -> int:
    return sum(getattr(control, kind) for control in fields)


def _place(taken: set[int], control: ControlField) -> int | None:
    for sector in range(0, 9 - control.sectors, control.sectors):
        footprint = {*range(sector, sector + control.sectors)}
        if not taken & footprint:
            taken |= footprint
            return sector
    return None


def add(
    end: WatchedTraffic, plan: Plan, *fields: ControlField, ready: bool = True, rates: bool = True, backoff: bool = True
) -> bool:
    """Issue ``fields`` though a rule forbids it; False when they have no place, or would break another rule.

    ``ready``, ``rates``, ``backoff`` : traffic runs; the source rate limits and the backoff modes are kept.
    """
    options, together = end.options, [*(issue.field for issue in plan.issues), *fields]
    requests, responses = _count(together, "is_request"), _count(together, "is_response")
    if plan.lower is not None or not end.sequence.control_slot or end.credits.ready != ready or not fields:
        return False
    if ready and plan.upper is not None and plan.upper[0] == INITIAL_CREDIT_RELEASE_COMPLETE:
        return False
    tagged = options.authentication and _count(fields, "is_request") + _count(fields, "is_response")
    if tagged and (end.sequence.swap or plan.upper is not None or requests + responses > 4):
        return False
    if rates and (requests > end.request_rate.allowance or responses > end.response_rate.allowance):
        return False
    counts = Counter(map(limit_of, together))
    if backoff and any(count > options.limits[name] for name, count in counts.items()):
        return False
    taken = {issue.sector + n for issue in plan.issues for n in range(issue.field.sectors)}
    extra = []
    for control in fields:
        sector = _place(taken, control)
        if sector is None:
            return False
        enables = bytes(32) if control.has_byte_enables(options.uwm_has_byte_enables) else b""
        extra.append(Issue(sector, control, bytes(64 * control.data_beats()), enables))
    plan.extra += extra
    return True
