"""Random legal traffic: a receiver takes all of it, the checker finds nothing, and between them runs show every bin."""

from collections import Counter

import pytest

from support.bfm.tl.fake_link import LARGE, ONE_CLASS, SMALL, random_link
from ualink_sim.bfm.tl.bins import BINS
from ualink_sim.bfm.tl.follower import Follower
from ualink_sim.bfm.tl.legal import Weights
from ualink_sim.bfm.tl.options import NATURAL_LIMITS, limit_of
from ualink_sim.bfm.tl.random_items import ItemWeights
from ualink_sim.model.tl.compression import AddressCache
from ualink_sim.model.tl.reassembly import Reassembler, ReceivedReadResponse, ReceivedRequest, ReceivedWriteResponse
from ualink_sim.model.tl.sequence import ProtocolError, ReceiveSequence


def _tl(*numbers):
    return [f"TL-{number:03}" for number in numbers]


SETTINGS = {
    "plain": {"buffers": SMALL},
    "many credits": {"buffers": LARGE},
    "shared data buffer": {"buffers": ONE_CLASS, "shared_data_buffer": True},
    "authentication": {"buffers": LARGE, "authentication": True},
    "switch with small caches": {"buffers": SMALL, "device": "switch", "tx_rows": 5, "tx_ways": 2, "rx_rows": 3},
    "no caches": {"buffers": LARGE, "tx_rows": 0, "rx_rows": 0},
    "backoff": {"buffers": LARGE, "limits": dict.fromkeys(NATURAL_LIMITS, 1)},
    "UWM without byte enables": {"buffers": SMALL, "uwm_has_byte_enables": False},
}
FLITS = 300


def kinds(items):
    """Items of each kind, in order."""
    forms = (ReceivedRequest, ReceivedReadResponse, ReceivedWriteResponse)
    return [[item for item in items if isinstance(item, form)] for form in forms]


# What would come out otherwise at the far end, or be found by the checker, if it were broken.
SEQUENCE = _tl(1, 2, 3, 4, 5, 6, 7, 13, 14, 15, *range(26, 31), 32, 33, 34, 35, 37, *range(38, 46), *range(55, 65))
FLOW_CONTROL = _tl(*range(16, 26), *range(146, 152), *range(153, 157), *range(158, 166))


@pytest.mark.req(*SEQUENCE, *FLOW_CONTROL, *_tl(76, 79, 80, 82, 85, 101, 104, 131, 134, 145, 173, 177, 214))
@pytest.mark.parametrize("setting", SETTINGS)
def test_random_traffic_arrives(setting):
    link = random_link(seed=sorted(SETTINGS).index(setting), **SETTINGS[setting])
    link.step(FLITS)
    for end in link.ends:
        end.quiet = True
        end.hold = False
    for _ in range(3000):
        if all(end.idle for end in link.ends):
            break
        link.step()
    device, partner = link.ends
    assert not link.found and not link.others and not device.errors and not partner.errors
    for sender, receiver in ((device, partner), (partner, device)):
        assert sender.idle and len(sender.issued) > 100
        sent, got = kinds(sender.issued), kinds(receiver.received)
        assert got[0] == sent[0] and got[2] == sent[2]
        assert sorted(map(repr, got[1])) == sorted(map(repr, sent[1]))


@pytest.mark.req(*_tl(46, 47, 48, 49, 50, 51, 52, 53, 54))
def test_every_tag_arrives_with_its_field():
    link = random_link(authentication=True, buffers=LARGE)
    link.step(FLITS)
    assert not link.found and not link.ends[1].errors
    received = link.ends[1].received
    assert len(received) > 100
    tags = [item.request.auth_tag for item in received if isinstance(item, ReceivedRequest)]
    assert tags == [i.request.auth_tag for i in link.ends[0].issued if isinstance(i, ReceivedRequest)][: len(tags)]
    assert sum(map(bool, tags)) > 30


@pytest.mark.req(*_tl(39, 40, 45, 65, 116, 117, 118, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129))
@pytest.mark.parametrize("authentication", [False, True])
def test_a_receiver_of_its_own_accepts_the_stream(authentication):
    """The model's receiving automaton and Reassembler, with a cache that belongs to neither end."""
    link = random_link(3, authentication=authentication, buffers=LARGE)
    link.step(FLITS)
    sequence, reassembler = ReceiveSequence(authentication), Reassembler(AddressCache("dst_acc_id"))
    items = []
    for flit in link.trace:
        events = sequence.receive(*flit)
        assert not any(isinstance(event, ProtocolError) for event in events)
        items += reassembler.push(events)
    requests = [item for item in items if isinstance(item, ReceivedRequest)]
    issued = [item for item in link.ends[0].issued if isinstance(item, ReceivedRequest)]
    assert len(requests) > 20 and requests == issued[: len(requests)]


@pytest.mark.req(
    *_tl(8, 9, 10, 11, 12, 13, 22, 23, 27, 50, 52, 59, 60, 61, 63, 133, 136, 137, 139, 144, 152, 158, 159, 165)
)
def test_runs_show_every_bin():
    hits = Counter()
    weights = Weights(items=ItemWeights(poison=0.3), hold=0.03, resume=0.03)
    for setting, flits in (
        ("plain", 1000),
        ("many credits", 2500),
        ("shared data buffer", 300),
        ("authentication", 800),
    ):
        link = random_link(11, weights, **SETTINGS[setting])
        link.coverage.hits = link.partner_coverage.hits = hits
        link.step(flits)
        assert not link.found and not link.others
    assert link.coverage.missed() == []
    assert set(hits) == {(group, name) for group, names in BINS.items() for name in names}


@pytest.mark.req("TL-090", "TL-206")
def test_without_a_cache_nothing_is_compressed():
    link = random_link(5, **SETTINGS["no caches"])
    link.step(FLITS)
    hits = link.coverage.hits
    assert not any(hits["§5.1.1 places of fields", f"Compressed Request in {sector}"] for sector in (0, 2, 4, 6))
    assert not any(hits["§5.6 address caches", f"load way {way}"] for way in range(4))
    assert hits["§5.1.1 places of fields", "Uncompressed Request in 0"] > 5


@pytest.mark.req("TL-094", "TL-095")
def test_entries_may_be_forgotten_at_any_time():
    weights = Weights(forget=0.3)
    link = random_link(6, weights, buffers=LARGE)
    link.step(FLITS)
    used = sum(link.coverage.hits["§5.6 address caches", f"use way {way}"] for way in range(4))
    loads = sum(link.coverage.hits["§5.6 address caches", f"load way {way}"] for way in range(4))
    assert used > 5 and loads > used / 4
    assert not link.found and not link.ends[1].errors


@pytest.mark.req("TL-200", "TL-201", "TL-202", "TL-203", "TL-204", "TL-205")
@pytest.mark.parametrize("name", NATURAL_LIMITS)
def test_backoff_modes(name):
    """An end keeps to a limit of one field, which it exceeds without it."""
    limits = NATURAL_LIMITS | {name: 1}
    limited, free = random_link(7, buffers=LARGE, limits=limits), random_link(7, buffers=LARGE)
    counts = []
    for link in (limited, free):
        link.step(FLITS)
        follower = Follower(pytest.fail, link.ends[0].options)
        flits = [follower.push(*flit) for flit in link.trace]
        counts.append(max(sum(limit_of(control) == name for _, control in seen.fields) for seen in flits))
    assert counts[0] == 1 < counts[1]
    assert not limited.found and not free.found


def test_streams_are_told_by_their_seed():
    traces = []
    for seed in (1, 1, 2):
        link = random_link(seed)
        link.step(50)
        traces.append(link.trace)
    assert traces[0] == traces[1] != traces[2]
