"""Ways to overdraw credits, to return too many, and to begin without them (UALink_200 §5.8)."""

from dataclasses import replace

from ...model.tl.credits import BUCKETS, CLASSES, combine
from ...model.tl.fields import Credit, FlowControl
from ...model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, message_half_flit
from .endpoint import Plan
from .illegal_issues import a_read, a_read_response, a_write_full, a_write_response, add, left, richest
from .illegalities import WatchedTraffic, breaks_plan

__all__: list[str] = []


def _overdraw_commands(kind: str, bucket: int | None):
    def overdraw(end: WatchedTraffic, plan: Plan) -> bool:
        field = a_read(end, bucket) if kind == "req_cmd" else a_write_response(end, bucket)
        return add(end, plan, *[field] * (left(end, (kind, bucket)) + 1))

    return overdraw


def _overdraw_data(kind: str, bucket: int | None):
    def overdraw(end: WatchedTraffic, plan: Plan) -> bool:
        # Transfers of four beats take all that is left, and the last one more than that.
        whole, rest = divmod(left(end, (kind, bucket)), 4)
        if left(end, (kind.replace("data", "cmd"), bucket)) <= whole:
            return False
        make = a_read_response if kind == "rsp_data" else a_write_full
        return add(end, plan, *[make(end, bucket, 4)] * whole, make(end, bucket, rest + 1))

    return overdraw


def _return_too_many(kind: str, bucket: int | None):
    def give(end: WatchedTraffic, plan: Plan) -> bool:
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
def returned_twice(end: WatchedTraffic, plan: Plan) -> bool:
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
def request_before_release(end: WatchedTraffic, plan: Plan) -> bool:
    """A Read with a credit, but before both releases are complete."""
    bucket = richest(end, "req_cmd")
    return left(end, ("req_cmd", bucket)) > 0 and add(end, plan, a_read(end, bucket), ready=False)


@breaks_plan("initial_credits", early=True)
def release_without_credits(end: WatchedTraffic, plan: Plan) -> bool:
    """Initial Credit Release Complete, and nothing has been announced."""
    if end.view.flits or end.credits.release_sent:
        return False
    plan.issues, plan.upper = [], None
    plan.lower = message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE)
    end.credits.release_sent = True
    return True
