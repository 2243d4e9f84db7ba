"""TL transmitter as a whole: random traffic, the standard's grids, latency, full rate, credits, fairness, restart."""

import random
from dataclasses import replace

import pytest

from tl_transmit import (
    ATOMIC_NR,
    ATOMIC_R,
    CLASSES,
    COMMANDS,
    PLENTY,
    READ,
    WRITE,
    WRITE_FULL,
    Partner,
    Stimulus,
    check,
    read_response,
    request,
    request_field,
    response_field,
    run,
    write_response,
)
from ualink.config import Credits, TLConfig
from ualink_sim.model.tl_byte_enables import encode_byte_enables
from ualink_sim.model.tl_credits import BUCKETS
from ualink_sim.model.tl_fields import FlowControl
from ualink_sim.model.tl_sequence import (
    INITIAL_CREDIT_RELEASE_COMPLETE,
    DataHalfFlit,
    Issue,
    ReceiveSequence,
    TransmitSequence,
)

SMALL = TLConfig(**{name: Credits(pool=4) for name in CLASSES})
SCARCE = {(kind, bucket): 4 for kind in CLASSES for bucket in (None, 1, 3)}
SCARCE |= {(kind, 0): 1 for kind in CLASSES}


def traffic(rng, count, *, errors=0.0, **stalls):
    """Random transfers of all kinds."""

    def bad(beats):
        return [n for n in range(beats) if rng.random() < errors]

    requests = []
    for _ in range(count):
        beats = rng.randint(1, 4)
        requests.append(request(rng.choice(COMMANDS), beats=beats, errors=bad(beats), rng=rng))
    reads = []
    for _ in range(count // 2):
        beats = rng.randint(1, 4)
        reads.append(read_response(beats, errors=bad(beats), rng=rng))
    return Stimulus(requests, reads, [write_response(rng=rng) for _ in range(count // 2)], **stalls)


@pytest.mark.req(
    *("TL-001", "TL-003", "TL-004", "TL-005", "TL-006", "TL-007", "TL-008", "TL-010", "TL-012", "TL-013", "TL-014"),
    *("TL-015", "TL-026", "TL-027", "TL-028", "TL-029", "TL-030", "TL-031", "TL-032", "TL-033", "TL-034", "TL-035"),
    *("TL-036", "TL-038", "TL-039", "TL-040", "TL-041", "TL-042", "TL-043", "TL-044", "TL-045", "TL-055", "TL-056"),
    *("TL-057", "TL-062", "TL-063", "TL-076", "TL-077", "TL-078", "TL-079", "TL-081", "TL-082", "TL-083", "TL-084"),
    *("TL-098", "TL-130", "TL-131", "TL-134", "TL-145", "TL-146", "TL-147", "TL-148", "TL-151", "TL-162", "TL-164"),
    *("TL-172", "TL-173", "TL-174", "TL-175", "TL-176", "TL-177", "TL-178", "TL-179", "TL-180", "TL-182", "TL-185"),
    *("TL-090", "TL-198", "TL-208", "TL-217", "TL-218", "TL-222"),
)
@pytest.mark.parametrize(
    "seed, buffers, stalls",
    [
        (1, PLENTY, {}),
        (2, PLENTY, {"valid": 0.4, "ready": 0.6}),
        (3, SCARCE, {"valid": 0.8}),
        (4, SCARCE, {"ready": 0.3}),
    ],
)
def test_random_traffic(seed, buffers, stalls):
    rng = random.Random(seed)
    stimulus = traffic(rng, 40, errors=0.2, **stalls)
    partner = Partner(buffers, free_delay=40, rng=rng)
    result = run(SMALL, stimulus, partner=partner, seed=seed, grant_probability=0.5)
    check(stimulus, partner)
    assert not result.protocol_error
    if buffers is SCARCE:
        assert {f.pool for _, f in partner.fields} == {0, 1}


def expected_flits(issues_per_flit):
    """Flits that the model's transmit sequence makes of ``issues_per_flit``."""
    sequence = TransmitSequence()
    flits = []
    for issues in issues_per_flit:
        flits.append(sequence.send(issues))
    return flits


def request_issue(sector, transfer):
    req, data = transfer
    control = request_field(req, pool=1)
    return Issue(
        sector,
        control,
        b"".join(beat["data"].to_bytes(64, "little") for beat in data),
        encode_byte_enables(req["addr"], [beat["byte_en"] for beat in data]) if control.has_byte_enables() else b"",
        frozenset(n for n, beat in enumerate(data) if beat["error"]),
    )


def events_of(flits):
    sequence = ReceiveSequence()
    return [event for data, message in flits for event in sequence.receive(data, message)]


def sent(partner):
    """Events of all flits from the first Request or Response on."""
    first = next(n for n, (_, fields, _) in enumerate(partner.flits) if any(f.is_request for _, f in fields))
    return [event for _, _, events in partner.flits[first:] for event in events]


GRIDS = {
    "5-5": [request(READ)],
    "5-6": [request(WRITE_FULL, beats=4)],
    "5-7": [request(WRITE, beats=3)],
    "5-9": [request(WRITE, beats=4), request(ATOMIC_NR), request(ATOMIC_R)],
    "5-13": [request(WRITE_FULL, beats=4, errors=[1])],
}


@pytest.mark.req("TL-066", "TL-067", "TL-042", "TL-045", "TL-079", "TL-082")
@pytest.mark.parametrize("table", GRIDS)
def test_grids_of_the_standard(table):
    """Same fields, same slots; a lone Request stands in 7654, two that wait together in 3210 and 7654."""
    transfers = GRIDS[table]
    partner = run(SMALL, Stimulus(transfers), seed=1).partner
    lead = [[request_issue(4, transfers[0])]]
    if len(transfers) == 3:  # two wait while the first, which ends in an upper half-flit, goes out
        lead += [[]] * 4 + [[request_issue(0, transfers[1]), request_issue(4, transfers[2])]]
    owed = sum(issue.field.half_flits() for issue in lead[-1])
    flits = expected_flits([*lead, *[[]] * (owed // 2)])
    assert sent(partner) == events_of(flits)
    assert len(partner.flits) - first_with_request(partner) == len(flits)


def first_with_request(partner):
    return next(n for n, (_, fields, _) in enumerate(partner.flits) if any(f.is_request for _, f in fields))


@pytest.mark.req("TL-068")
def test_table_5_15():
    """A WriteFull and a Write Response at a time: 512 bytes in 9 flits, the Response in sectors 32, FC in 0."""
    rng = random.Random(6)
    stimulus = Stimulus([request(WRITE_FULL, beats=4, rng=rng)], writes=[write_response(rng=rng)])
    second = request(WRITE_FULL, beats=4, rng=rng), write_response(rng=rng)
    stimulus.requests.append(second[0])
    stimulus.writes.append(second[1])
    late = {"at": 0}

    def hold(channel, waiting, cycle, partner):
        """The second of each kind comes after the first flit of the first."""
        if channel in ("req", "wr_rsp") and len(waiting) == 1:
            late["at"] = late["at"] or (cycle if partner.fields else 0)
            return not late["at"]
        return False

    released = set()

    def releases(cycle, partner):
        if len(partner.fields) == 2 and "x" not in released:
            released.add("x")
            partner.transmit_credits.send(request_field(request(WRITE_FULL, beats=1, rng=rng, vc=0)[0], pool=1))
            return [("req_cmd", 1, 0, 1), ("req_data", 1, 0, 1)]
        return []

    partner = run(SMALL, stimulus, seed=1, hold=hold, releases=releases).partner
    check(stimulus, partner)
    flits = partner.flits[first_with_request(partner) :]
    assert len(flits) == 9 and flits[-1][0] - flits[0][0] == 8
    controls = [
        (n, [(sector, type(f).__name__) for sector, f in fields]) for n, (_, fields, _) in enumerate(flits) if fields
    ]
    both = [(2, "UncompressedResponse"), (4, "UncompressedRequest")]
    assert controls == [(0, both), (4, [(0, "FlowControl"), *both])]


def saturated(stimulus, **options):
    """Fraction of data bytes and flits per cycle, in the middle of a long run."""
    partner = run(TLConfig(), stimulus, seed=1, **options).partner
    check(stimulus, partner)
    busy = [
        n for n, (_, fields, _) in enumerate(partner.flits) if any(f.is_request or f.is_response for _, f in fields)
    ]
    start, end = busy[len(busy) // 5], busy[-len(busy) // 5]
    middle = partner.flits[start:end]
    data = sum(isinstance(e, DataHalfFlit) and not e.owed.is_be for _, _, events in middle for e in events)
    return data / 2 / len(middle), len(middle) / (partner.flits[end][0] - middle[0][0])


@pytest.mark.req("TL-068")
def test_saturated_writes_and_responses():
    rng = random.Random(7)
    transfers = [request(WRITE_FULL, beats=4, rng=rng) for _ in range(40)]
    responses = [write_response(rng=rng) for _ in range(40)]

    def paced(channel, waiting, cycle, partner):
        """As many Responses as Requests."""
        sent_requests = sum(f.is_request for _, f in partner.fields)
        return channel == "wr_rsp" and 40 - len(waiting) > sent_requests

    efficiency, rate = saturated(Stimulus(transfers, writes=responses), hold=paced)
    assert efficiency > 0.8889 and rate == 1.0


@pytest.mark.parametrize("kind", ["write", "write_full", "read_response", "atomic"])
def test_no_slot_is_lost(kind):
    rng = random.Random(8)
    stimulus = {
        "write": lambda: Stimulus([request(WRITE, beats=4, rng=rng) for _ in range(20)]),
        "write_full": lambda: Stimulus([request(WRITE_FULL, beats=4, rng=rng) for _ in range(20)]),
        "read_response": lambda: Stimulus(reads=[read_response(4, rng=rng) for _ in range(30)]),
        "atomic": lambda: Stimulus([request(ATOMIC_R, rng=rng) for _ in range(20)]),
    }[kind]()
    limit = {"write": 16 / 19, "write_full": 16 / 17, "read_response": 8 / 9, "atomic": 4 / 7}[kind]
    efficiency, rate = saturated(stimulus)
    assert rate == 1.0 and efficiency >= limit - 0.01


def test_lone_request_takes_three_cycles():
    rng = random.Random(9)
    for cmd in (READ, WRITE_FULL):
        hold = lambda channel, waiting, cycle, partner: cycle < 100  # noqa: E731
        result = run(SMALL, Stimulus([request(cmd, beats=4, rng=rng)]), hold=hold)
        assert result.partner.fields[0][0] - result.accepted["req"][0] == 3


@pytest.mark.req("TL-002", "TL-058", "TL-065", "TL-153", "TL-154", "TL-155", "TL-157", "TL-161", "TL-167", "TL-169")
def test_initial_release_comes_before_traffic():
    config = TLConfig(req_cmd=Credits(pool=20, vc=(9, 1, 0, 3)), rsp_data=Credits(pool=100, vc=(0, 0, 0, 40)))
    partner = run(config, traffic(random.Random(10), 4), grant_probability=0.1).partner
    ((message_at, kind, payload),) = partner.messages
    assert (kind, payload) == (INITIAL_CREDIT_RELEASE_COMPLETE, bytes(31))
    given = partner.transmit_credits.initial
    for kind in CLASSES:
        credits = getattr(config, kind)
        assert [given[kind, bucket] for bucket in BUCKETS] == [credits.pool, *credits.vc]
    assert message_at < partner.fields[0][0]


@pytest.mark.req("TL-161")
def test_nothing_leaves_without_the_partners_release():
    class Silent(Partner):
        def grant(self, cycle, limit=2):
            return super().grant(cycle, limit) if cycle > 150 else {}

    partner = Silent(PLENTY)
    stimulus = traffic(random.Random(11), 4)
    run(SMALL, stimulus, partner=partner)
    check(stimulus, partner)
    assert partner.fields[0][0] > 150


@pytest.mark.req("TL-165", "TL-166", "TL-168")
def test_shared_data_buffer_of_one_class():
    buffers = {("req_cmd", None): 8, ("rsp_cmd", None): 8, ("rsp_data", None): 9}
    stimulus = traffic(random.Random(12), 16)
    partner = Partner(buffers, shared=True, free_delay=20, rng=random.Random(12))
    result = run(SMALL, stimulus, partner=partner)
    check(stimulus, partner)
    assert not result.protocol_error


@pytest.mark.req("TL-215", "TL-150")
@pytest.mark.parametrize("stalled", ["req", "rd_rsp", "wr_rsp"])
def test_a_stalled_kind_does_not_block_the_others(stalled):
    """No credit for one kind: VC 2 has none, and only that kind uses it."""
    rng = random.Random(13)
    vc = {kind: 2 if kind == stalled else 0 for kind in ("req", "rd_rsp", "wr_rsp")}
    stimulus = Stimulus(
        [request(WRITE, beats=2, rng=rng, vc=vc["req"]) for _ in range(8)],
        [read_response(3, rng=rng, vc=vc["rd_rsp"]) for _ in range(8)],
        [write_response(rng=rng, vc=vc["wr_rsp"]) for _ in range(8)],
    )
    partner = run(SMALL, stimulus, {(kind, 0): 8 for kind in CLASSES}, cycles=400).partner
    arrived = {"req": 0, "rd_rsp": 0, "wr_rsp": 0}
    for _, f in partner.fields:
        arrived["req" if f.is_request else "rd_rsp" if f.is_read else "wr_rsp"] += 1
    assert arrived == {kind: 0 if kind == stalled else 8 for kind in arrived}


@pytest.mark.req("TL-215", "TL-163")
def test_nothing_starves_under_load():
    """Saturated with all kinds: every Control half-flit moves a Request, Responses and FC wait for three at most."""
    rng = random.Random(14)
    stimulus = Stimulus(
        [request(WRITE_FULL, beats=rng.randint(1, 4), rng=rng) for _ in range(60)],
        [read_response(rng.randint(1, 4), rng=rng) for _ in range(30)],
        [write_response(rng=rng) for _ in range(30)],
    )
    spent = request_field(request(READ, rng=rng, vc=0)[0], pool=1)

    def releases(cycle, partner):
        if not partner.transmit_credits.can_send(spent):
            return []
        partner.transmit_credits.send(spent)
        return [("req_cmd", 1, 0, 1)]

    partner = run(TLConfig(), stimulus, releases=releases).partner
    check(stimulus, partner)
    kinds = [
        {"fc" if isinstance(f, FlowControl) else "req" if f.is_request else "rsp" for _, f in fields}
        for _, fields, _ in partner.flits
        if any(f.is_request or f.is_response for _, f in fields)
    ]
    middle = kinds[2:25]
    assert all("req" in kind for kind in middle)
    for n in range(len(middle) - 2):
        assert any("rsp" in kind for kind in middle[n : n + 2])
        assert any("fc" in kind for kind in middle[n : n + 3])


def test_credit_return_on_an_idle_link_takes_three_cycles():
    spent = request_field(request(READ, vc=0)[0], pool=1)
    pulses = []

    def releases(cycle, partner):
        if cycle < 60 or pulses:
            return []
        pulses.append(cycle)
        partner.transmit_credits.send(spent)
        return [("req_cmd", 1, 0, 1)]

    partner = run(SMALL, Stimulus(), releases=releases, also=80).partner
    assert partner.flow_control[-1][0] - pulses[0] == 3
    assert partner.flow_control[-1][1].req_cmd.count == 1


@pytest.mark.req("TL-219")
def test_credit_beyond_the_initial_total_is_reported():
    class Generous(Partner):
        def grant(self, cycle, limit=2):
            return {("req_cmd", 1): 1} if cycle == 60 else super().grant(cycle, limit)

    assert run(SMALL, Stimulus(), partner=Generous({(k, None): 4 for k in CLASSES}), also=70).protocol_error


@pytest.mark.req("TL-221")
@pytest.mark.parametrize("down_at", range(64, 76, 2))
def test_restart_after_the_link_was_down(down_at):
    """The link goes down amid transfers: their rest is dropped, everything starts anew, later transfers are whole."""
    rng = random.Random(15)
    stimulus = Stimulus(
        [request(WRITE, beats=4, rng=rng, tag=n) for n in range(10)],
        [read_response(4, rng=rng, tag=n) for n in range(10)],
        [write_response(rng=rng, tag=n) for n in range(10)],
    )
    before = {}

    def online(cycle):
        up = cycle < down_at or cycle > down_at + 12
        if cycle == down_at:
            before["fields"], before["data"] = len(partner.fields), dict(partner.data)
            partner.data.clear()
        return up

    def hold(channel, waiting, cycle, partner):
        return cycle < 50 or (channel in ("orig_data", "rd_rsp") and rng.random() < 0.3)

    partner = Partner({(kind, None): 40 for kind in CLASSES})
    result = run(SMALL, stimulus, partner=partner, online=online, hold=hold, cycles=400)
    assert len(partner.messages) == 2 and before["fields"]
    after = [f for _, f in partner.fields[before["fields"] :]]
    accepted = {channel: [c for c in cycles if c < down_at] for channel, cycles in result.accepted.items()}
    reads_begun = (len(accepted["rd_rsp"]) + 3) // 4
    left = Stimulus(
        stimulus.requests[len(accepted["req"]) :],
        stimulus.reads[reads_begun:],
        stimulus.writes[len(accepted["wr_rsp"]) :],
    )
    assert left.requests and left.reads
    rest = replace_fields(partner, after)
    check(left, rest)
    assert not any(down_at <= cycle <= down_at + 12 for cycle in result.accepted["req"] + result.accepted["wr_rsp"])


def replace_fields(partner, fields):
    partner.fields = [(0, f) for f in fields]
    return partner


@pytest.mark.req("TL-177", "TL-178", "TL-179", "TL-180")
def test_members_of_responses_that_are_not_valid_are_zero():
    rng = random.Random(16)
    reads = [read_response(1, rng=rng), read_response(3, rng=rng)]
    reads[1][0]["offset"] = 2
    partner = run(SMALL, Stimulus(reads=reads, writes=[write_response(rng=rng)])).partner
    single, burst = [f for _, f in partner.fields if f.is_read]
    assert (single.len, single.offset, single.last) == (0, reads[0][0]["offset"], reads[0][0]["last"])
    assert (burst.len, burst.offset, burst.last) == (2, 0, 1)
    (write,) = [f for _, f in partner.fields if not f.is_read]
    assert (write.len, write.offset, write.last) == (0, 0, 0)
    assert replace(write, pool=0) == response_field(write_response_of(write))


def write_response_of(control):
    return {
        "vc": control.vchan,
        "tag": control.tag,
        "status": control.status,
        "src_phys_acc_id": control.src_acc_id,
        "dst_phys_acc_id": control.dst_acc_id,
    }
