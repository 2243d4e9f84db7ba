"""Full-size fields that keep arriving at the source rate limits, and the order in which everything leaves."""

import random

import pytest

from support.tl.receive import CACHE, RECEIVE, ROOMY, run
from support.tl.traffic import ISOLATE, Expected, check
from ualink.config import Credits
from ualink_sim.model.tl.compression import AddressCache
from ualink_sim.model.tl.fields import (
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
)
from ualink_sim.model.tl.sequence import Issue, TransmitSequence

pytestmark = RECEIVE

CONFIG = ROOMY.replace(rx_cache=CACHE, req_cmd=Credits(pool=300), rsp_cmd=Credits(pool=300))
ENTRY = {"src_acc_id": 3, "cway": 1}


class Sender:
    """Flits of issues made here, and what they must give; tags of the fields count up."""

    def __init__(self, authentication=False, seed=0):
        self.authentication = authentication
        self.sequence, self.expected, self.flits = TransmitSequence(authentication), Expected(), []
        self.cache = AddressCache("src_acc_id", CACHE.rows, CACHE.ways)
        self.random = random.Random(seed)
        self.count = 0

    def issue(self, sector, kind, **members):
        self.count += 1
        control = kind(tag=self.count % 2048, pool=1, **members)
        tag = self.random.randrange(1, 1 << 64) if self.authentication else 0
        issue = Issue(sector, control, self.random.randbytes(64 * control.data_beats()), tag=tag)
        self.expected.add(issue, expanded=self.cache.receive(control) if control.is_request else None)
        return issue

    def send(self, *issues):
        self.flits.append(self.sequence.send(issues))

    def request(self, sector, **members):
        address = {"addr": self.random.randrange(1 << 55), "meta_data": self.random.randrange(256)}
        return self.issue(sector, UncompressedRequest, cmd=0x08, **address, **members)

    def response(self, sector):
        ids = {"src_acc_id": self.random.randrange(1 << 10), "dst_acc_id": self.random.randrange(1 << 10)}
        return self.issue(sector, UncompressedResponse, status=self.random.randrange(ISOLATE), **ids)

    def compressed(self, sector):
        return self.issue(sector, CompressedRequest, **ENTRY, addr=self.random.randrange(1 << 14) & ~3)

    def check(self, drain=16, **options):
        got = run(CONFIG, self.flits, drain=drain, authentication=int(self.authentication), **options)
        check(got, self.expected)
        return got


@pytest.mark.req("TL-142", "TL-132", "TL-135", "TL-133", "TL-136", "TL-140", "TL-141")
@pytest.mark.parametrize("authentication", [False, True])
def test_a_request_and_a_response_of_full_size_in_every_flit(authentication):
    """The catch buffers are filled as far as the limits allow, and then every flit brings one more of each kind."""
    sender = Sender(authentication)
    sender.send(sender.request(0), sender.request(4))
    sender.send(sender.request(0), sender.request(4))
    sender.send(sender.request(0), sender.request(4))
    for sectors in ((0, 2, 4, 6), (0, 2, 4, 6), (0, 2)):
        sender.send(*map(sender.response, sectors))
    for n in range(80):
        high, low = (4, 0) if n % 2 else (0, 6)
        sender.send(sender.request(high), sender.response(low))
    got = sender.check()
    # One of each kind leaves in every cycle, without a gap to the last.
    assert len(got.req) == 86 and len(got.wr_rsp) == 90
    last = [cycle for cycle, _ in got.req][-80:]
    assert last == list(range(last[0], last[0] + 80))


@pytest.mark.req("TL-142", "TL-144", "TL-131", "TL-134", "TL-137", "TL-139", "TL-109", "TL-121")
@pytest.mark.parametrize("authentication", [False, True])
def test_bursts_as_soon_as_the_limits_have_recovered(authentication):
    """Four Requests every fourth flit; eight Responses every eighth, or with tags four every fourth."""
    sender = Sender(authentication)
    sender.send(sender.request(4, **ENTRY, cload=1))
    for _ in range(4):
        sender.send()
    for n in range(12):
        sender.send(*map(sender.compressed, (0, 2, 4, 6)))
        if authentication:
            sender.send(*(sender.issue(sector, CompressedResponse) for sector in (1, 2, 5, 7)))
        elif n % 2:
            sender.send(*(sender.issue(sector, CompressedResponse) for sector in range(8)))
        else:
            sender.send()
        sender.send()
        sender.send()
    got = sender.check()
    assert len(got.req) == 49 and len(got.wr_rsp) == 48


@pytest.mark.req("TL-024", "TL-025", "TL-022")
def test_eight_flow_control_fields_in_every_flit():
    """Their counts reach the transmitter in every cycle, ORed per class and bucket."""
    sender = Sender()
    names = ("req_cmd", "rsp_cmd", "req_data", "rsp_data")
    for n in range(20):
        chosen = {name: sender.random.sample((None, 0, 1, 2, 3, None, 0, 1), 8) for name in names}
        totals = {name: [0] * 5 for name in names}
        fields = []
        for sector in range(8):
            credits = {}
            for name in names:
                bucket = chosen[name][sector]
                place = 0 if bucket is None else 1 + bucket
                most = 7 if name.endswith("cmd") else 31
                count = 0 if totals[name][place] else (n + sector) % (most + 1)
                totals[name][place] |= count
                credits[name] = Credit(count, bucket)
            fields.append(Issue(sector, FlowControl(**credits)))
        sender.send(*fields)
        sender.expected.fc.append({name: tuple(counts) for name, counts in totals.items()})
    sender.check()


@pytest.mark.req("TL-097", "TL-103", "TL-208")
def test_responses_keep_the_order_of_their_arrival_in_each_kind():
    """Whatever order the partner chose: single beats of a Read in any order, their OFFSET and LAST as they are."""
    sender = Sender()
    for offsets in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1), (1, 1, 1, 1)):
        issues = []
        for sector, offset in enumerate(offsets):
            last = int(sector == 1)
            issues.append(sender.issue(2 * sector, CompressedReadResponse, offset=offset, last=last))
            issues.append(sender.issue(2 * sector + 1, CompressedResponse, rd_wr=sector % 2, len=0))
        sender.send(*issues)
        while not sender.sequence.control_slot:
            sender.send()
        for _ in range(8):
            sender.send()
    got = sender.check()
    singles = [(beat["offset"], beat["last"]) for beat in got.beats("rd_rsp") if beat["tag"] % 2]
    assert singles[:8] == [(0, 0), (1, 1), (2, 0), (3, 0), (3, 0), (2, 1), (1, 0), (0, 0)]


@pytest.mark.req("TL-102", "TL-101", "TL-210")
def test_requests_leave_in_their_order_though_some_wait_for_data():
    """A Read behind a Write of four beats is offered after it, compressed or not."""
    sender = Sender()
    sender.send(sender.request(0, **ENTRY, cload=1))
    for _ in range(6):
        write = sender.issue(0, UncompressedRequest, cmd=0x29, num_beats=3)
        sender.send(write, sender.compressed(4), sender.compressed(6))
        while not sender.sequence.control_slot:
            sender.send()
    sender.send()
    got = sender.check(drain=150, consumer="agent", seed=3)
    assert [beat["tag"] for beat in got.beats("req")] == list(range(1, 20))
