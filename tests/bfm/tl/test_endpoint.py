"""The endpoint of the link partner: order, credits, packing, restarts; options and coverage of those who watch."""

import random

import pytest

from support.bfm.tl.fake_link import LARGE, SMALL, FakeLink, random_link
from ualink_sim.bfm.tl.bins import BINS
from ualink_sim.bfm.tl.checker import LinkChecker
from ualink_sim.bfm.tl.coverage import LinkCoverage
from ualink_sim.bfm.tl.endpoint import TLEndpoint
from ualink_sim.bfm.tl.options import NATURAL_LIMITS, TLOptions
from ualink_sim.bfm.tl.random_items import RandomItems
from ualink_sim.model.tl.credits import BUCKETS, CLASSES
from ualink_sim.model.tl.reassembly import ReceivedReadResponse, ReceivedRequest, ReceivedWriteResponse
from ualink_sim.model.tl.sequence import NOP_MESSAGE, message_half_flit
from ualink_sim.model.upli.transactions import OrigDataBeat, Request


def greedy_link(**options):
    """Two endpoints that send what they are given."""
    device = TLOptions(**options)
    return FakeLink(TLEndpoint(device), TLEndpoint(device.partner()))


def write_full(tag, region=1):
    """A WriteFull of 256 bytes."""
    beats = tuple(OrigDataBeat(data=bytes([tag % 251, n]) * 32, offset=n, last=n == 3) for n in range(4))
    return ReceivedRequest(Request(cmd=0x29, tag=tag, addr=region << 20, len=63, num_beats=3), beats)


@pytest.mark.req("TL-154", "TL-155", "TL-156", "TL-157", "TL-161", "TL-167", "TL-221")
def test_nothing_goes_before_the_credits():
    link = greedy_link(buffers=SMALL)
    link.ends[0].send(write_full(1))
    sent = 0
    while not link.ends[0].issued:
        link.step()
        sent += 1
    assert sent > 2 and link.ends[0].credits.initial == {(k, b): 4 for k in CLASSES for b in BUCKETS}
    link.step(10)
    assert link.ends[1].received == [write_full(1)] and link.ends[0].idle and link.ends[0].flit() is None


@pytest.mark.req("TL-091", "TL-116", "TL-121", "TL-124", "TL-184", "TL-189", "TL-192")
def test_greedy_packing_compresses_and_fills_the_link():
    """WriteFull of 256 bytes one way: four Requests in 33 flits once the region is known (UALink_200 §5.4)."""
    link = greedy_link(buffers={account: 64 if account[0].endswith("data") else 32 for account in LARGE})
    link.step(20)
    start = len(link.trace)
    for tag in range(200):
        link.ends[0].send(write_full(tag))
    while len(link.ends[1].received) < 200:
        link.step()
    assert link.ends[1].received == [write_full(tag) for tag in range(200)]
    assert 200 * 256 / (64 * (len(link.trace) - start)) > 0.96
    hits = link.coverage.hits["§5.1.1 Requests", "compressed WriteFull, LEN 3"]
    assert hits == 199 and not link.found


@pytest.mark.req("TL-160", "TL-163")
def test_held_buffers_stop_the_partner():
    link = greedy_link(buffers=SMALL)
    link.ends[1].hold = True
    for tag in range(40):
        link.ends[0].send(write_full(tag))
    link.step(200)
    stopped = len(link.ends[1].received)
    assert stopped == 2 < len(link.ends[1].received) + len(link.ends[0].requests)
    link.ends[1].hold = False
    link.step(600)
    assert len(link.ends[1].received) == 40 and not link.found


@pytest.mark.req("TL-097", "TL-103", "TL-208", "UPLI-326")
@pytest.mark.parametrize(
    ("protection", "strict"),
    [({}, False), ({"encryption": True}, True), ({"encryption": True, "authentication": True}, True)],
    ids=["none", "encryption", "encryption and authentication"],
)
def test_strict_ordering_keeps_each_kind_of_response_in_order(protection, strict):
    link = random_link(4, buffers=LARGE, **protection)
    offered = []
    send = link.ends[0].send
    link.ends[0].send = lambda item: (offered.append(item), send(item))
    link.step(500)

    for kind in (ReceivedReadResponse, ReceivedWriteResponse):
        issued, given = ([item for item in items if isinstance(item, kind)] for items in (link.ends[0].issued, offered))
        assert len(issued) > 20
        assert (issued == given[: len(issued)]) is strict


@pytest.mark.req("TL-221")
def test_both_ends_restart_together():
    link = random_link(9, buffers=SMALL)
    for _ in range(3):
        link.step(100)
        for end in link.ends:
            end.reset()
        link.coverage.reset()
        link.partner_coverage.reset()
    link.step(100)
    assert not link.found and not link.others and not link.ends[0].errors and not link.ends[1].errors


def test_messages_can_be_sent():
    link = greedy_link()
    link.ends[0].messages.append(message_half_flit(NOP_MESSAGE))
    link.step(20)
    assert sum(link.coverage.hits["§5.1.2 messages", name] for name in BINS["§5.1.2 messages"][:1]) == 1


def test_items_can_be_heard():
    link = random_link(2)
    heard = []
    link.ends[1].on_item = heard.append
    link.step(150)
    assert heard == link.ends[1].received and len(heard) > 10


def test_coverage_reports():
    link = random_link(2)
    link.step(100)
    coverage = link.coverage
    report = coverage.report()
    assert list(report) == list(BINS) and all(tuple(report[group]) == BINS[group] for group in BINS)
    missed = coverage.missed()
    assert "§5.1.1 authentication: 4 tags" in missed
    assert len(missed) == sum(not count for bins in report.values() for count in bins.values())
    assert coverage.missed("§5.1.1 authentication") == [
        f"§5.1.1 authentication: {name}" for name in BINS["§5.1.1 authentication"]
    ]
    lines = coverage.text().splitlines()
    assert len(lines) == len(BINS) + len(missed) and "    missed: 4 tags" in lines
    with pytest.raises(KeyError, match="no bin is called 'sunshine'"):
        coverage.hit("§5.3 poison", "sunshine")


@pytest.mark.parametrize(
    "options, complaint",
    [
        ({"device": "toaster"}, "device is 'toaster'"),
        ({"tx_rows": 1025}, "the tx cache has 1025 rows"),
        ({"rx_ways": 5}, "the rx cache has 1024 rows of 5 ways"),
        ({"limits": {"flow_control": 1}}, "limits are"),
        ({"limits": NATURAL_LIMITS | {"flow_control": 0}}, "limits are"),
    ],
)
def test_options_are_checked(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        TLOptions(**options)


def test_the_other_end_of_a_link():
    options = TLOptions(tx_rows=7, rx_ways=2)
    other = options.partner(shared_data_buffer=True)
    assert (other.device, other.tx_rows, other.rx_rows, other.tx_ways) == ("switch", 1024, 7, 2)
    assert (options.tx_row_member, other.tx_row_member) == ("dst_acc_id", "src_acc_id")
    assert (options.rx_row_member, other.rx_row_member) == ("src_acc_id", "dst_acc_id")
    assert other.shared_data_buffer and not options.shared_data_buffer
    assert LinkCoverage(LinkChecker(options)).checker.options is options


def test_dataless_items():
    items = RandomItems(random.Random(1), TLOptions())
    items.data = False
    assert all(not items.request().beats for _ in range(50))
