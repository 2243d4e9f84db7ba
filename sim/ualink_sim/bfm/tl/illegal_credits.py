"""Ways to overdraw credits, to return too many, and to begin without them (UALink_200 §5.8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...model.tl_credits import BUCKETS, CLASSES, combine
from ...model.tl_fields import WRITE_FULL, CompressedResponse, Credit, FlowControl, UncompressedRequest
from ...model.tl_sequence import INITIAL_CREDIT_RELEASE_COMPLETE, message_half_flit
from .endpoint import Plan
from .illegal_issues import a_read, a_write_response, add, credit_of, left, richest
from .illegalities import breaks_plan

if TYPE_CHECKING:
    from .illegal import IllegalTraffic

__all__: list[str] = []


def _overdraw_commands(kind: str, bucket: int | None):
    def overdraw(end: IllegalTraffic, plan: Plan) -> bool:
        field = a_read(end, bucket) if kind == "req_cmd" else a_write_response(bucket)
        return add(end, plan, *[field] * (left(end, (kind, bucket)) + 1))

    return overdraw


def _overdraw_data(kind: str, bucket: int | None):
    def overdraw(end: IllegalTraffic, plan: Plan) -> bool:
        held = left(end, (kind, bucket))
        if held > 3 or not left(end, (kind.replace("data", "cmd"), bucket)):
            return False
        beats = {"len": held, "rd_wr": 1} if kind == "rsp_data" else {"cmd": WRITE_FULL, "num_beats": held}
        form = CompressedResponse if kind == "rsp_data" else UncompressedRequest
        return add(end, plan, form(**beats, **credit_of(bucket)))

    return overdraw


def _return_too_many(kind: str, bucket: int | None):
    def give(end: IllegalTraffic, plan: Plan) -> bool:
        theirs, planned = end.view.credits.theirs, combine(issue.field for issue in plan.issues)
        count = theirs.outstanding((kind, bucket)) + 1
        data_pools = {("req_data", None), ("rsp_data", None)}
        related = data_pools if theirs.shared and (kind, bucket) in data_pools else {(kind, bucket)}
        if related & set(planned) or count >= 1 << FlowControl.COUNT_BITS[kind] or not theirs.released:
            return False
        return add(end, plan, FlowControl(**{kind: Credit(count, bucket)}))

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
            if credit.count > 1 and add(end, plan, one, ready=end.credits.ready):
                less = replace(issue.field, **{kind: Credit(credit.count - 1, credit.vc)})
                plan.issues[number] = replace(issue, field=less)
                return True
    return False


@breaks_plan("before_release", early=True)
def request_before_release(end: IllegalTraffic, plan: Plan) -> bool:
    """A Read with a credit, but before both releases are complete."""
    bucket = richest(end, "req_cmd")
    return left(end, ("req_cmd", bucket)) > 0 and add(end, plan, a_read(end, bucket), ready=False)


@breaks_plan("initial_credits", early=True)
def release_without_credits(end: IllegalTraffic, plan: Plan) -> bool:
    """Initial Credit Release Complete, and nothing has been announced."""
    if end.view.flits or end.credits.release_sent:
        return False
    plan.issues, plan.upper = [], None
    plan.lower = message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE)
    end.credits.release_sent = True
    return True
