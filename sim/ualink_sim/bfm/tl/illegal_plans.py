"""Ways to spoil the plan of a flit: fields that the sender must not issue, with all the data that they bring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...model.tl_credits import BUCKETS, CLASSES, Account, combine
from ...model.tl_fields import (
    READ,
    WRITE_FULL,
    CompressedRequest,
    CompressedResponse,
    ControlField,
    Credit,
    FlowControl,
    Request,
    UncompressedRequest,
    UncompressedResponse,
)
from ...model.tl_sequence import INITIAL_CREDIT_RELEASE_COMPLETE, Issue, message_half_flit
from ...model.upli import ReqCmd
from .endpoint import Plan
from .illegalities import breaks_plan
from .options import NATURAL_LIMITS, limit_of

if TYPE_CHECKING:
    from .illegal import IllegalTraffic

__all__: list[str] = []


def _left(end: IllegalTraffic, account: Account) -> int:
    """Credits of ``account`` that the plan leaves."""
    kind, bucket = account
    shared = end.credits.shared_data_buffer and bucket is None and kind.endswith("data")
    return sum(end.credits.credits[part, bucket] for part in (("req_data", "rsp_data") if shared else (kind,)))


def _credit_of(bucket: int | None) -> dict[str, int]:
    return {"pool": int(bucket is None), "vchan": bucket or 0}


def _read(end: IllegalTraffic, bucket: int | None) -> Request:
    """A Read, compressed if some entry has been loaded: several of these have room."""
    if not end.view.fields.loaded:
        return UncompressedRequest(cmd=READ, **_credit_of(bucket))
    row, way = min(end.view.fields.loaded)
    return CompressedRequest(cway=way, **{end.options.tx_row_member: row}, **_credit_of(bucket))


def _write_response(bucket: int | None) -> CompressedResponse:
    return CompressedResponse(**_credit_of(bucket))


def _richest(end: IllegalTraffic, kind: str) -> int | None:
    return max(BUCKETS, key=lambda bucket: _left(end, (kind, bucket)))


def _count(fields: Sequence[ControlField], kind: str) -> int:
    return sum(getattr(control, kind) for control in fields)


def _place(taken: set[int], control: ControlField) -> int | None:
    for sector in range(0, 9 - control.sectors, control.sectors):
        footprint = {*range(sector, sector + control.sectors)}
        if not taken & footprint:
            taken |= footprint
            return sector
    return None


def _add(
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


# Credits, bucket by bucket.


def _overdraw_commands(kind: str, bucket: int | None):
    def overdraw(end: IllegalTraffic, plan: Plan) -> bool:
        field = _read(end, bucket) if kind == "req_cmd" else _write_response(bucket)
        return _add(end, plan, *[field] * (_left(end, (kind, bucket)) + 1))

    return overdraw


def _overdraw_data(kind: str, bucket: int | None):
    def overdraw(end: IllegalTraffic, plan: Plan) -> bool:
        left = _left(end, (kind, bucket))
        if left > 3 or not _left(end, (kind.replace("data", "cmd"), bucket)):
            return False
        beats = {"len": left, "rd_wr": 1} if kind == "rsp_data" else {"cmd": WRITE_FULL, "num_beats": left}
        form = CompressedResponse if kind == "rsp_data" else UncompressedRequest
        return _add(end, plan, form(**beats, **_credit_of(bucket)))

    return overdraw


def _return_too_many(kind: str, bucket: int | None):
    def give(end: IllegalTraffic, plan: Plan) -> bool:
        theirs, planned = end.view.credits.theirs, combine(issue.field for issue in plan.issues)
        count = theirs.outstanding((kind, bucket)) + 1
        data_pools = {("req_data", None), ("rsp_data", None)}
        related = data_pools if theirs.shared and (kind, bucket) in data_pools else {(kind, bucket)}
        if related & set(planned) or count >= 1 << FlowControl.COUNT_BITS[kind] or not theirs.released:
            return False
        return _add(end, plan, FlowControl(**{kind: Credit(count, bucket)}))

    return give


for _kind in CLASSES:
    for _bucket in BUCKETS:
        _where = f"{_kind} {'Pool' if _bucket is None else f'VC {_bucket}'}"
        _overdraw = (_overdraw_data if _kind.endswith("data") else _overdraw_commands)(_kind, _bucket)
        breaks_plan(f"credit_{_kind}", f"overdrawn {_where}")(_overdraw)
        breaks_plan("over_return", f"over-returned {_where}")(_return_too_many(_kind, _bucket))


@breaks_plan("fc_duplicate")
def returned_twice(end: IllegalTraffic, plan: Plan) -> bool:
    """The credits of one bucket are spread over two Flow Control fields."""
    for number, issue in enumerate(plan.issues):
        for kind in CLASSES if isinstance(issue.field, FlowControl) else ():
            credit = getattr(issue.field, kind)
            one = FlowControl(**{kind: Credit(1, credit.vc)})
            if credit.count > 1 and _add(end, plan, one, ready=end.credits.ready):
                less = replace(issue.field, **{kind: Credit(credit.count - 1, credit.vc)})
                plan.issues[number] = replace(issue, field=less)
                return True
    return False


@breaks_plan("before_release", early=True)
def request_before_release(end: IllegalTraffic, plan: Plan) -> bool:
    """A Read with a credit, but before both releases are complete."""
    bucket = _richest(end, "req_cmd")
    return _left(end, ("req_cmd", bucket)) > 0 and _add(end, plan, _read(end, bucket), ready=False)


@breaks_plan("initial_credits", early=True)
def release_without_credits(end: IllegalTraffic, plan: Plan) -> bool:
    """Initial Credit Release Complete, and nothing has been announced."""
    if end.view.flits or end.credits.release_sent:
        return False
    plan.issues, plan.upper = [], None
    plan.lower = message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE)
    end.credits.release_sent = True
    return True


# Source rate limits and backoff modes.


@breaks_plan("request_rate")
def too_many_requests(end: IllegalTraffic, plan: Plan) -> bool:
    """One Request more than the receiver can catch."""
    bucket = _richest(end, "req_cmd")
    more = end.request_rate.allowance - sum(issue.field.is_request for issue in plan.issues) + 1
    enough = _left(end, ("req_cmd", bucket)) >= more
    return enough and _add(end, plan, *[_read(end, bucket)] * more, rates=False)


@breaks_plan("response_rate")
def too_many_responses(end: IllegalTraffic, plan: Plan) -> bool:
    """One Response more than the receiver can catch."""
    bucket = _richest(end, "rsp_cmd")
    more = end.response_rate.allowance - sum(issue.field.is_response for issue in plan.issues) + 1
    enough = _left(end, ("rsp_cmd", bucket)) >= more
    return enough and _add(end, plan, *[_write_response(bucket)] * more, rates=False)


@breaks_plan("backoff")
def beyond_backoff(end: IllegalTraffic, plan: Plan) -> bool:
    """One Compressed Response more than the backoff mode allows."""
    name, bucket = "compressed_responses", _richest(end, "rsp_cmd")
    more = end.options.limits[name] - sum(limit_of(issue.field) == name for issue in plan.issues) + 1
    if end.options.limits[name] >= NATURAL_LIMITS[name] or _left(end, ("rsp_cmd", bucket)) < more:
        return False
    return _add(end, plan, *[_write_response(bucket)] * more, backoff=False)


# What fields say.


@breaks_plan("atomic_beats")
def atomic_of_two_beats(end: IllegalTraffic, plan: Plan) -> bool:
    """An AtomicNR with NUMBEATS 1."""
    for bucket in BUCKETS:
        if _left(end, ("req_cmd", bucket)) and _left(end, ("req_data", bucket)) >= 2:
            return _add(end, plan, UncompressedRequest(cmd=ReqCmd.ATOMIC_NR, num_beats=1, **_credit_of(bucket)))
    return False


@breaks_plan("response_members")
def last_of_write_response(end: IllegalTraffic, plan: Plan) -> bool:
    """A Write Response with LAST."""
    bucket = _richest(end, "rsp_cmd")
    enough = _left(end, ("rsp_cmd", bucket)) > 0
    return enough and _add(end, plan, UncompressedResponse(last=1, **_credit_of(bucket)))


@breaks_plan("compressed_meta_data")
def forbidden_meta_data(end: IllegalTraffic, plan: Plan) -> bool:
    """A Compressed Request with METADATA[2]."""
    for number, issue in enumerate(plan.issues):
        if isinstance(issue.field, CompressedRequest) and end.options.meta_data_mask & 4:
            plan.issues[number] = replace(issue, field=replace(issue.field, meta_data=4))
            return True
    return False


def _compressed_read(end: IllegalTraffic, plan: Plan, row: int, way: int) -> bool:
    bucket = _richest(end, "req_cmd")
    control = CompressedRequest(cway=way, **{end.options.tx_row_member: row}, **_credit_of(bucket))
    return _left(end, ("req_cmd", bucket)) > 0 and _add(end, plan, control)


@breaks_plan("never_loaded")
def entry_never_loaded(end: IllegalTraffic, plan: Plan) -> bool:
    """A Compressed Read of a row and way that no Request has loaded."""
    loaded = set(end.view.fields.loaded)
    for issue in plan.issues:
        if isinstance(issue.field, Request):
            loaded |= {(getattr(issue.field, end.options.tx_row_member), way) for way in range(4)}
    entries = [(row, way) for row in range(end.options.tx_rows) for way in range(end.options.tx_ways)]
    free = [entry for entry in entries if entry not in loaded]
    return bool(free) and _compressed_read(end, plan, *end.rng.choice(free))


@breaks_plan("cache_size")
def row_too_high(end: IllegalTraffic, plan: Plan) -> bool:
    """A Compressed Read of a row that the receiver's cache does not have."""
    return end.options.tx_rows < 1024 and _compressed_read(end, plan, end.options.tx_rows, 0)
