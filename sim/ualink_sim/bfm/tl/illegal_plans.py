"""Ways to issue too many fields, or fields that say what they must not (UALink_200 §5.6, §5.7, §5.9, §5.10)."""

from dataclasses import replace

from ...model.tl.credits import BUCKETS
from ...model.tl.fields import CompressedRequest, CompressedResponse, Request, UncompressedRequest, UncompressedResponse
from ...model.upli.transactions import ReqCmd
from .endpoint import Plan
from .illegal_issues import a_read, a_write_response, add, credit_of, left, richest
from .illegalities import WatchedTraffic, breaks_plan
from .options import NATURAL_LIMITS, limit_of

__all__: list[str] = []


# Source rate limits and backoff modes.


@breaks_plan("request_rate")
def too_many_requests(end: WatchedTraffic, plan: Plan) -> bool:
    """One Request more than the receiver can catch."""
    bucket = richest(end, "req_cmd")
    more = end.request_rate.allowance - sum(issue.field.is_request for issue in plan.issues) + 1
    enough = left(end, ("req_cmd", bucket)) >= more
    return enough and add(end, plan, *[a_read(end, bucket)] * more, rates=False)


@breaks_plan("response_rate")
def too_many_responses(end: WatchedTraffic, plan: Plan) -> bool:
    """One Response more than the receiver can catch."""
    bucket = richest(end, "rsp_cmd")
    more = end.response_rate.allowance - sum(issue.field.is_response for issue in plan.issues) + 1
    enough = left(end, ("rsp_cmd", bucket)) >= more
    return enough and add(end, plan, *[a_write_response(end, bucket)] * more, rates=False)


@breaks_plan("backoff")
def beyond_backoff(end: WatchedTraffic, plan: Plan) -> bool:
    """One Compressed Response more than the backoff mode allows."""
    name, bucket = "compressed_responses", richest(end, "rsp_cmd")
    more = end.options.limits[name] - sum(limit_of(issue.field) == name for issue in plan.issues) + 1
    if end.options.limits[name] >= NATURAL_LIMITS[name] or left(end, ("rsp_cmd", bucket)) < more:
        return False
    return add(end, plan, *[a_write_response(end, bucket)] * more, backoff=False)


# What fields say.


@breaks_plan("atomic_beats")
def atomic_of_two_beats(end: WatchedTraffic, plan: Plan) -> bool:
    """An AtomicNR with NUMBEATS 1."""
    for bucket in BUCKETS:
        if left(end, ("req_cmd", bucket)) and left(end, ("req_data", bucket)) >= 2:
            return add(end, plan, UncompressedRequest(cmd=ReqCmd.ATOMIC_NR, num_beats=1, **credit_of(bucket)))
    return False


@breaks_plan("response_members")
def last_of_write_response(end: WatchedTraffic, plan: Plan) -> bool:
    """A Write Response with LAST."""
    bucket = richest(end, "rsp_cmd")
    enough = left(end, ("rsp_cmd", bucket)) > 0
    return enough and add(end, plan, UncompressedResponse(last=1, **credit_of(bucket)))


@breaks_plan("encrypted_response")
def compressed_with_encryption(end: WatchedTraffic, plan: Plan) -> bool:
    """A Compressed Response on a link with encryption: it cannot say where it comes from."""
    bucket = richest(end, "rsp_cmd")
    enough = left(end, ("rsp_cmd", bucket)) > 0
    return end.options.encryption and enough and add(end, plan, CompressedResponse(**credit_of(bucket)))


@breaks_plan("compressed_meta_data")
def forbidden_meta_data(end: WatchedTraffic, plan: Plan) -> bool:
    """A Compressed Request with METADATA[2]."""
    for number, issue in enumerate(plan.issues):
        if isinstance(issue.field, CompressedRequest) and end.options.meta_data_mask & 4:
            plan.issues[number] = replace(issue, field=replace(issue.field, meta_data=4))
            return True
    return False


def _compressed_read(end: WatchedTraffic, plan: Plan, row: int, way: int) -> bool:
    bucket = richest(end, "req_cmd")
    control = CompressedRequest(cway=way, **{end.options.tx_row_member: row}, **credit_of(bucket))
    return left(end, ("req_cmd", bucket)) > 0 and add(end, plan, control)


@breaks_plan("never_loaded")
def entry_never_loaded(end: WatchedTraffic, plan: Plan) -> bool:
    """A Compressed Read of a row and way that no Request has loaded."""
    loaded = set(end.view.fields.loaded)
    for issue in plan.issues:
        if isinstance(issue.field, Request):
            loaded |= {(getattr(issue.field, end.options.tx_row_member), way) for way in range(4)}
    entries = [(row, way) for row in range(end.options.tx_rows) for way in range(end.options.tx_ways)]
    free = [entry for entry in entries if entry not in loaded]
    return bool(free) and _compressed_read(end, plan, *end.rng.choice(free))


@breaks_plan("cache_size")
def row_too_high(end: WatchedTraffic, plan: Plan) -> bool:
    """A Compressed Read of a row that the receiver's cache does not have."""
    return end.options.tx_rows < 1024 and _compressed_read(end, plan, end.options.tx_rows, 0)
