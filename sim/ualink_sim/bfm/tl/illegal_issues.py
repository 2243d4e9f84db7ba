"""Fields that a sender must not issue, put into the plan of a flit with all the data that they bring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...model.tl_credits import BUCKETS, Account
from ...model.tl_fields import READ, CompressedRequest, CompressedResponse, ControlField, Request, UncompressedRequest
from ...model.tl_sequence import Issue
from .endpoint import Plan
from .options import limit_of

if TYPE_CHECKING:
    from .illegal import IllegalTraffic

__all__ = ["a_read", "a_write_response", "add", "credit_of", "left", "richest"]


def left(end: IllegalTraffic, account: Account) -> int:
    """Credits of ``account`` that the plan leaves."""
    kind, bucket = account
    shared = end.credits.shared_data_buffer and bucket is None and kind.endswith("data")
    return sum(end.credits.credits[part, bucket] for part in (("req_data", "rsp_data") if shared else (kind,)))


def credit_of(bucket: int | None) -> dict[str, int]:
    return {"pool": int(bucket is None), "vchan": bucket or 0}


def a_read(end: IllegalTraffic, bucket: int | None) -> Request:
    """A Read, compressed if some entry has been loaded: several of these have room."""
    if not end.view.fields.loaded:
        return UncompressedRequest(cmd=READ, **credit_of(bucket))
    row, way = min(end.view.fields.loaded)
    return CompressedRequest(cway=way, **{end.options.tx_row_member: row}, **credit_of(bucket))


def a_write_response(bucket: int | None) -> CompressedResponse:
    return CompressedResponse(**credit_of(bucket))


def richest(end: IllegalTraffic, kind: str) -> int | None:
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
    end: IllegalTraffic, plan: Plan, *fields: ControlField, ready: bool = True, rates: bool = True, backoff: bool = True
) -> bool:
    """Issue ``fields`` though a rule forbids it; False when they have no place, or would break another rule.

    ``ready``, ``rates``, ``backoff`` : traffic runs; the source rate limits and the backoff modes are kept.
    """
    options, together = end.options, [*(issue.field for issue in plan.issues), *fields]
    requests, responses = _count(together, "is_request"), _count(together, "is_response")
    if plan.lower is not None or not end.sequence.control_slot or end.credits.ready != ready or not fields:
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
