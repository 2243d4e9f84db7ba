"""Credits and source rate limits of the TL."""

import random

import pytest

from support.packing_grids import control_items, is_control, rows
from ualink_sim.model.tl.credits import (
    BUCKETS,
    CLASSES,
    CreditError,
    ReceiveCredits,
    TransmitCredits,
    check_flow_control,
    combine,
    cost_of,
)
from ualink_sim.model.tl.fields import (
    CompressedRequest,
    CompressedResponse,
    Credit,
    FieldError,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
)
from ualink_sim.model.tl.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT, CatchBuffer, RateLimit, RateLimitError

COSTS = [
    (UncompressedRequest(cmd=3, pool=1), {("req_cmd", None): 1}),
    (UncompressedRequest(cmd=3, vchan=2), {("req_cmd", 2): 1}),
    (UncompressedRequest(cmd=0x28, vchan=3, num_beats=2), {("req_cmd", 3): 1, ("req_data", 3): 3}),
    (UncompressedRequest(cmd=0x30, pool=1, vchan=3), {("req_cmd", None): 1, ("req_data", None): 1}),
    (CompressedRequest(cmd=6, len=3, pool=1), {("req_cmd", None): 1, ("req_data", None): 4}),
    (CompressedResponse(rd_wr=1, len=3, vchan=1), {("rsp_cmd", 1): 1, ("rsp_data", 1): 4}),
    (CompressedResponse(rd_wr=0, pool=1), {("rsp_cmd", None): 1}),
    (UncompressedResponse(rd_wr=1, len=0, status=2), {("rsp_cmd", 0): 1, ("rsp_data", 0): 1}),
    (FlowControl(req_cmd=Credit(1)), {}),
]


@pytest.mark.req("TL-017", "TL-018", "TL-019", "TL-020", "TL-147", "TL-148", "TL-151", "TL-162", "TL-164")
@pytest.mark.parametrize(("field", "cost"), COSTS)
def test_cost(field, cost):
    assert cost_of(field) == cost


@pytest.mark.req("TL-025")
def test_combining_is_an_or():
    fields = [
        FlowControl(req_cmd=Credit(5), rsp_data=Credit(9, 0)),
        FlowControl(req_cmd=Credit(2, 1), rsp_data=Credit(0, 0)),
    ]
    assert combine(fields) == {("req_cmd", None): 5, ("req_cmd", 1): 2, ("rsp_data", 0): 9}
    check_flow_control(fields)
    with pytest.raises(FieldError, match="req_cmd"):
        check_flow_control([*fields, FlowControl(req_cmd=Credit(1))])
    assert combine([FlowControl(req_cmd=Credit(5)), FlowControl(req_cmd=Credit(3))]) == {("req_cmd", None): 7}


def test_no_bucket_starves():
    receive = ReceiveCredits({(kind, bucket): 700 for kind in CLASSES for bucket in BUCKETS})
    served = [receive.flow_control_fields(limit=1)[0].rsp_data.vc for _ in range(10)]
    assert served == [*BUCKETS, *BUCKETS]


BUFFERS = {
    ("req_cmd", None): 10,
    ("rsp_cmd", None): 9,
    ("req_data", None): 40,
    ("rsp_data", None): 64,
    ("req_cmd", 1): 3,
    ("req_data", 1): 33,
    ("rsp_data", 3): 1,
}


def link(buffers=BUFFERS, shared=False):
    receive, transmit = ReceiveCredits(buffers), TransmitCredits()
    half_flits = 0
    while receive.any_pending:
        fields = receive.flow_control_fields()
        assert 0 < len(fields) <= 8
        check_flow_control(fields)
        transmit.receive([FlowControl.decode(field.encode()) for field in fields])
        half_flits += 1
    transmit.release_complete(shared)
    transmit.release_sent = True
    return receive, transmit, half_flits


@pytest.mark.req("TL-022", "TL-153", "TL-154", "TL-155", "TL-156", "TL-158", "TL-221")
def test_initial_release():
    transmit = TransmitCredits()
    assert set(transmit.credits.values()) == {0} and len(transmit.credits) == 20 and not transmit.ready
    assert not transmit.can_send(CompressedResponse(pool=1))
    receive, transmit, half_flits = link()
    assert half_flits == 3
    assert {account: n for account, n in transmit.credits.items() if n} == BUFFERS
    assert receive.granted == transmit.credits
    transmit.reset()
    assert set(transmit.credits.values()) == {0}


@pytest.mark.req("TL-157", "TL-161")
def test_traffic_waits_for_both_releases():
    _, transmit, _ = link()
    transmit.release_sent = False
    assert not transmit.can_send(CompressedResponse(pool=1))
    transmit.release_sent = True
    assert transmit.can_send(CompressedResponse(pool=1))
    transmit.release_received = False
    assert not transmit.can_send(CompressedResponse(pool=1))


@pytest.mark.req("TL-149", "TL-150", "TL-160", "TL-163", "TL-218", "TL-219")
def test_random_traffic_keeps_the_books():
    rng = random.Random(3)
    receive, transmit, _ = link()
    inside = []
    for _ in range(3000):
        field = UncompressedRequest(
            cmd=rng.choice([3, 0x28, 0x29, 0x30]),
            pool=rng.randrange(2),
            vchan=rng.randrange(4),
            num_beats=rng.randrange(4),
        )
        if rng.random() < 0.5:
            field = UncompressedResponse(
                rd_wr=rng.randrange(2), pool=rng.randrange(2), vchan=rng.randrange(4), len=rng.randrange(4)
            )
        enough = all(transmit.credits[account] >= n for account, n in cost_of(field).items())
        assert transmit.can_send(field) == enough
        if enough:
            transmit.send(field)
            receive.receive(field)
            inside.append(field)
        else:
            with pytest.raises(CreditError):
                transmit.send(field)
        while inside and rng.random() < 0.4:
            receive.free(inside.pop(rng.randrange(len(inside))))
        if rng.random() < 0.5:
            fields = receive.flow_control_fields(rng.randint(1, 8))
            check_flow_control(fields)
            transmit.receive(fields)
        held = {account: 0 for account in receive.buffers}
        for waiting in inside:
            for account, count in cost_of(waiting).items():
                held[account] += count
        for account, total in receive.buffers.items():
            assert transmit.credits[account] == receive.granted[account] >= 0
            assert transmit.credits[account] + held[account] + receive.pending[account] == total


@pytest.mark.req("TL-219", "TL-220")
def test_cheating_is_found():
    receive, transmit, _ = link()
    with pytest.raises(CreditError, match="more than were announced"):
        transmit.receive([FlowControl(req_cmd=Credit(1))])
    for _ in range(3):
        receive.receive(CompressedRequest(cmd=0, vchan=1))
    with pytest.raises(CreditError, match="spends 1 of 0"):
        receive.receive(CompressedRequest(cmd=0, vchan=1))


@pytest.mark.req("TL-165", "TL-166", "TL-168", "TL-169")
def test_shared_data_buffer():
    buffers = {("req_cmd", None): 4, ("rsp_cmd", None): 4, ("rsp_data", None): 6, ("rsp_data", 0): 4}
    with pytest.raises(CreditError, match="req_data"):
        link(buffers)
    receive, transmit, _ = link(buffers, shared=True)
    write = CompressedRequest(cmd=6, len=3, pool=1)
    burst = CompressedResponse(rd_wr=1, len=1, pool=1)
    assert transmit.can_send(write, burst) and not transmit.can_send(write, write)
    for field in (write, burst):
        transmit.send(field)
        receive.receive(field, shared_data_buffer=True)
    assert not transmit.can_send(burst) and not transmit.can_send(write)
    assert not transmit.can_send(CompressedRequest(cmd=6, vchan=0)), "VC credits are not shared"
    receive.free(write)
    transmit.receive(receive.flow_control_fields())
    assert transmit.can_send(burst)


@pytest.mark.req("TL-131", "TL-132", "TL-133", "TL-137", "TL-138", "TL-144")
@pytest.mark.parametrize("table", ["5-24", "5-25"])
def test_request_rate_limit_tables(table):
    limit = RateLimit(REQUEST_LIMIT)
    for lower, _, allowance in rows(table):
        assert limit.allowance == allowance
        limit.flit(len(list(control_items(lower))) if is_control(lower) else 0)
    limit.reset()
    assert limit.allowance == 4


@pytest.mark.req("TL-130", "TL-133", "TL-134", "TL-135", "TL-136", "TL-139", "TL-140", "TL-141", "TL-142", "TL-144")
@pytest.mark.parametrize("depth", [REQUEST_LIMIT, RESPONSE_LIMIT])
def test_rate_limit_is_what_the_catch_buffer_holds(depth):
    rng = random.Random(depth)
    limit, buffer = RateLimit(depth), CatchBuffer(depth)
    sent, retired = [], []
    for number in range(3000):
        assert limit.allowance >= 1
        room = depth - max(0, len(buffer.entries) - 1)
        assert limit.allowance == room
        issued = min(limit.allowance, rng.choice([0, 1, 1, 2, depth]))
        with pytest.raises(RateLimitError):
            RateLimit.flit(limit, limit.allowance + 1)
        limit.flit(issued)
        new = [(number, n) for n in range(issued)]
        sent += new
        entry = buffer.flit(new)
        retired += [entry] if entry else []
    assert retired == sent[: len(retired)]
    buffer.entries.clear()
    buffer.flit(list(range(depth)))
    with pytest.raises(RateLimitError, match="1 are free"):
        buffer.flit([1, 2])


@pytest.mark.req("TL-023", "TL-152")
def test_counts_of_one_half_flit():
    receive = ReceiveCredits({(kind, bucket): 100 for kind in CLASSES for bucket in BUCKETS})
    fields = receive.flow_control_fields()
    assert len(fields) == 5
    assert combine(fields) == {(k, b): 7 if k.endswith("cmd") else 31 for k in CLASSES for b in BUCKETS}
    assert len(receive.flow_control_fields(limit=2)) == 2
    before = receive.pending["req_cmd", 2]
    receive.free_buffer("req_cmd", 2, 5)
    assert receive.pending["req_cmd", 2] == before + 5
