"""TL transmitter and its partner: initial release, credits, fairness between kinds, restart of the link."""

import random

import pytest

from support.tl.stimulus import (
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
    write_response,
)
from support.tl.transmit import TRANSMIT, Partner, check, run
from ualink.config import Credits, TLConfig
from ualink_sim.model.tl.credits import BUCKETS
from ualink_sim.model.tl.fields import FlowControl
from ualink_sim.model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE

pytestmark = TRANSMIT

SMALL = TLConfig(**{name: Credits(pool=4) for name in CLASSES})


@pytest.mark.req("TL-002", "TL-058", "TL-065", "TL-153", "TL-154", "TL-155", "TL-157", "TL-161", "TL-167", "TL-169")
def test_initial_release_comes_before_traffic():
    config = TLConfig(req_cmd=Credits(pool=20, vc=(9, 1, 0, 3)), rsp_data=Credits(pool=100, vc=(0, 0, 0, 40)))
    partner = run(config, random_traffic(random.Random(10), 4), grant_probability=0.1).partner
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
    stimulus = random_traffic(random.Random(11), 4)
    run(SMALL, stimulus, partner=partner)
    check(stimulus, partner)
    assert partner.fields[0][0] > 150


@pytest.mark.req("TL-165", "TL-166", "TL-168")
def test_shared_data_buffer_of_one_class():
    buffers = {("req_cmd", None): 8, ("rsp_cmd", None): 8, ("rsp_data", None): 9}
    stimulus = random_traffic(random.Random(12), 16)
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


@pytest.mark.req("TL-215", "TL-163", "SW-042")
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


def test_credit_return_on_an_idle_link_takes_four_cycles():
    spent = request_field(request(READ, vc=0)[0], pool=1)
    pulses = []

    def releases(cycle, partner):
        if cycle < 60 or pulses:
            return []
        pulses.append(cycle)
        partner.transmit_credits.send(spent)
        return [("req_cmd", 1, 0, 1)]

    partner = run(SMALL, Stimulus(), releases=releases, also=80).partner
    assert partner.flow_control[-1][0] - pulses[0] == 4
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
    partner.plain = partner.plain[before["fields"] :]
    accepted = {channel: [c for c in cycles if c < down_at] for channel, cycles in result.accepted.items()}
    reads_begun = (len(accepted["rd_rsp"]) + 3) // 4
    left = Stimulus(
        stimulus.requests[len(accepted["req"]) :],
        stimulus.reads[reads_begun:],
        stimulus.writes[len(accepted["wr_rsp"]) :],
    )
    assert left.requests and left.reads
    check(left, partner)
    assert not any(down_at <= cycle <= down_at + 12 for cycle in result.accepted["req"] + result.accepted["wr_rsp"])


@pytest.mark.req("TL-221")
@pytest.mark.parametrize("kind", ["rd_rsp", "wr_rsp"])
@pytest.mark.parametrize("after", range(1, 7))
def test_a_response_is_sent_before_the_link_goes_down_or_never(kind, after):
    """The link goes down so many cycles after a Response was accepted, in whatever stage it is then: it is offered
    five cycles after that, and the next session knows nothing of it, nor of its credits."""
    rng = random.Random(17)
    read = kind == "rd_rsp"
    stimulus = Stimulus(
        reads=[read_response(1, rng=rng, tag=n) for n in range(2)] if read else [],
        writes=[] if read else [write_response(rng=rng, tag=n) for n in range(2)],
    )
    before = []

    def online(cycle):
        if cycle == 70 + after:
            before.extend(partner.fields)
            partner.data.clear()
        return not 0 <= cycle - 70 - after <= 12

    def hold(channel, waiting, cycle, partner):
        return cycle < (70 if len(waiting) == 2 else 140)

    partner = Partner({(kind, None): 40 for kind in CLASSES})
    result = run(SMALL, stimulus, partner=partner, online=online, hold=hold, cycles=300)
    assert result.accepted[kind][0] == 70
    assert len(before) == (after > 5)
    assert [control.tag for _, control in partner.fields[len(before) :]] == [1]
