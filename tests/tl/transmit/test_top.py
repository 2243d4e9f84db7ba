"""TL transmitter as a whole: random traffic, the standard's grids, latency, full rate, credits, fairness, restart."""

import random
from dataclasses import replace

import pytest

from support.tl.stimulus import (
    ATOMIC_NR,
    ATOMIC_R,
    CLASSES,
    PLENTY,
    READ,
    WRITE,
    WRITE_FULL,
    Stimulus,
    random_traffic,
    read_response,
    request,
    request_field,
    response_field,
    write_response,
)
from support.tl.transmit import TRANSMIT, Partner, check, run
from ualink.config import Credits, TLConfig
from ualink_sim.model.tl.byte_enables import encode_byte_enables
from ualink_sim.model.tl.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT, RateLimit
from ualink_sim.model.tl.sequence import DataHalfFlit, Issue, ReceiveSequence, TransmitSequence

pytestmark = TRANSMIT

SMALL = TLConfig(**{name: Credits(pool=4) for name in CLASSES})
SCARCE = {(kind, bucket): 4 for kind in CLASSES for bucket in (None, 1, 3)}
SCARCE |= {(kind, 0): 1 for kind in CLASSES}


@pytest.mark.req(
    *("TL-001", "TL-003", "TL-004", "TL-005", "TL-006", "TL-007", "TL-008", "TL-010", "TL-012", "TL-013", "TL-014"),
    *("TL-015", "TL-026", "TL-027", "TL-028", "TL-029", "TL-030", "TL-031", "TL-032", "TL-033", "TL-034", "TL-035"),
    *("TL-036", "TL-038", "TL-039", "TL-040", "TL-041", "TL-042", "TL-043", "TL-044", "TL-045", "TL-055", "TL-056"),
    *("TL-057", "TL-062", "TL-063", "TL-076", "TL-077", "TL-078", "TL-079", "TL-081", "TL-082", "TL-083", "TL-084"),
    *("TL-098", "TL-146", "TL-147", "TL-148", "TL-151", "TL-162", "TL-164"),
    *("TL-172", "TL-173", "TL-174", "TL-175", "TL-176", "TL-177", "TL-178", "TL-179", "TL-180", "TL-182"),
    *("TL-208", "TL-217", "TL-218", "TL-222"),
    *("UPLI-025", "UPLI-056", "RAS-081"),
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
    stimulus = random_traffic(rng, 40, errors=0.2, **stalls)
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
    plan = [*lead, *[[]] * (owed // 2)]
    limit = RateLimit(REQUEST_LIMIT)
    for issues in plan:
        limit.flit(len(issues))
    # Behind them come empty flits for as long as a catch buffer that moves with flits only holds something.
    flits = expected_flits([*plan, *[[]] * limit.outstanding])
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
    starts = {"req": (60, 62), "wr_rsp": (61, 63)}

    def hold(channel, waiting, cycle, partner):
        """The second of each kind comes too late for the first half-flit; a Response has a stage less to go."""
        return channel in starts and cycle < starts[channel][2 - len(waiting)]

    def releases(cycle, partner):
        if cycle == 65:  # behind the first half-flit, in front of the second
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


@pytest.mark.req("TL-132")
@pytest.mark.parametrize("seed", range(3))
def test_a_flit_that_waits_pushes_nothing_on(seed):
    """The DL takes nothing for a while, time and again, while flits of data stand before the next Control half-flit and
    more Responses wait than may follow those that have left."""
    rng = random.Random(seed)
    stimulus = Stimulus(
        reads=[read_response(rng.choice((1, 2)), rng=rng) for _ in range(40)],
        writes=[write_response(rng=rng) for _ in range(400)],
    )

    def hold(channel, waiting, cycle, partner):
        return channel == "rd_rsp" and rng.random() < 0.9

    partner = Partner(PLENTY, rng=rng)
    run(TLConfig(), stimulus, partner=partner, seed=seed, hold=hold, stall=lambda cycle, partner: cycle % 40 > 12)
    check(stimulus, partner)
    # The limit was reached, again and again: a flit held as many as it might.
    limit, reached = RateLimit(RESPONSE_LIMIT), 0
    for _, fields, _ in partner.flits:
        issued = sum(field.is_response for _, field in fields)
        reached += issued == limit.allowance
        limit.flit(issued)
    assert reached > 5


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


@pytest.mark.parametrize("kind, cycles", [("read", 6), ("write_full", 6), ("read_response", 5), ("write_response", 5)])
def test_cycles_on_an_idle_link(kind, cycles):
    """From acceptance to a flit that is offered, with data or without: a Request has one more, for its cache."""
    rng = random.Random(9)
    stimulus = {
        "read": lambda: Stimulus([request(READ, beats=4, rng=rng)]),
        "write_full": lambda: Stimulus([request(WRITE_FULL, beats=4, rng=rng)]),
        "read_response": lambda: Stimulus(reads=[read_response(4, rng=rng)]),
        "write_response": lambda: Stimulus(writes=[write_response(rng=rng)]),
    }[kind]()
    result = run(SMALL, stimulus, hold=lambda channel, waiting, cycle, partner: cycle < 100)
    accepted = next(found for channel, found in result.accepted.items() if found and channel != "orig_data")
    assert result.partner.fields[0][0] - accepted[0] == cycles


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
