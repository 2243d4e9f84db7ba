"""The receiver in Shared Data Buffer mode: the Pool credits of both data classes serve either."""

import pytest

from support.tl.illegal import Late
from support.tl.receive import CACHE, CHANNELS, NO_CACHE, OFFLINE, RECEIVE, SMALL, run
from support.tl.received import received
from support.tl.traffic import Expected, Traffic, check
from ualink.config import Credits, TLConfig
from ualink.tl.receive.error import ReceiveError
from ualink_sim.model.tl.fields import CompressedResponse, UncompressedRequest
from ualink_sim.model.tl.sequence import Issue, TransmitSequence

pytestmark = RECEIVE

SHARED = SMALL.replace(shared_data_buffer=True, rx_cache=CACHE)


class SharedTraffic(Traffic):
    """Spends a joint account of Pool data credits; releases of either class go into it."""

    def __init__(self, config, seed, **options):
        super().__init__(config, seed, **options)
        self.highest = {"req_data": 0, "rsp_data": 0}
        self.held = dict(self.highest)

    def _try(self, sector, control):
        pools = self.credits["req_data"], self.credits["rsp_data"]
        joint = pools[0][4] + pools[1][4]
        if control is None or not (control.is_request or control.is_response):
            return super()._try(sector, control)
        own = pools[0] if control.is_request else pools[1]
        other = pools[1] if control.is_request else pools[0]
        own[4], other[4] = joint, 0
        issue = super()._try(sector, control)
        if issue and control.pool:
            name = "req_data" if control.is_request else "rsp_data"
            self.held[name] += control.data_beats()
            self.highest[name] = max(self.highest[name], self.held[name])
        return issue

    def release(self, name, pool, vc, count):
        super().release(name, pool, vc, count)
        if pool and name in self.held:
            self.held[name] -= count


@pytest.mark.req("TL-165", "TL-148", "TL-164", "TL-082", "TL-085", "TL-214", "TL-210")
@pytest.mark.parametrize("consumer, authentication", [("agent", False), ("random", True)])
def test_random_traffic_uses_the_credits_of_both_pools(consumer, authentication):
    traffic = SharedTraffic(SHARED, f"shared {consumer}", idle=0.05, authentication=authentication)
    flits = []
    keep = (flits.append(flit) or flit for flit in traffic.flits(250))
    level = int(authentication)
    got = run(SHARED, keep, consumer=consumer, drain=150, watch=traffic.release, authentication=level)
    check(got, traffic.expected)
    assert {channel: got.beats(channel) for channel in CHANNELS} == received(SHARED, flits, authentication)
    # More than the Pool of the class alone.
    assert traffic.highest["req_data"] > SHARED.req_data.pool
    assert traffic.highest["rsp_data"] > SHARED.rsp_data.pool


POOLS = TLConfig(
    rx_cache=NO_CACHE,
    req_cmd=Credits(pool=10),
    rsp_cmd=Credits(pool=10),
    req_data=Credits(pool=4),
    rsp_data=Credits(pool=8),
    shared_data_buffer=True,
)


def transfers(*issues):
    sequence, expected, flits = TransmitSequence(), Expected(), []
    for issue in issues:
        expected.add(issue)
        flits.append(sequence.send([issue]))
        while not sequence.control_slot:
            flits.append(sequence.send())
    flits.append(sequence.send())
    return flits, expected


def data_of(tag, beats):
    return b"".join(bytes([tag, beat]) * 32 for beat in range(beats))


def full_write(tag, beats=4):
    return Issue(0, UncompressedRequest(cmd=0x29, num_beats=beats - 1, tag=tag, pool=1), data_of(tag, beats))


def full_read(tag, beats=4):
    return Issue(0, CompressedResponse(rd_wr=1, len=beats - 1, tag=tag, pool=1), data_of(tag, beats))


@pytest.mark.req("TL-165", "TL-166", "TL-148", "TL-220")
@pytest.mark.parametrize("kinds", ["ww" + "w", "rrr", "wrw", "rwr"])
def test_all_of_both_pools_and_not_one_more(kinds):
    """Nothing leaves: twelve beats fit, of one class or mixed; the thirteenth is one credit too much."""
    issues = [full_write(n + 1) if kind == "w" else full_read(n + 1) for n, kind in enumerate(kinds)]
    flits, expected = transfers(*issues)
    got = run(POOLS, flits, consumer=Late(len(flits) + 4), drain=40)
    check(got, expected)

    for make, code in ((full_write, ReceiveError.REQ_DATA_CREDIT), (full_read, ReceiveError.RSP_DATA_CREDIT)):
        more, _ = transfers(*issues, make(9, beats=1))
        got = run(POOLS, more, consumer=Late(len(more) + 12), drain=60)
        assert [found for _, found in got.errors] == [code]
        assert {channel: got.beats(channel) for channel in CHANNELS} == {
            channel: getattr(expected, channel) for channel in CHANNELS
        }


@pytest.mark.req("TL-221", "TL-210")
@pytest.mark.parametrize("held", ["orig_data", "rd_rsp"])
def test_restart_while_one_class_is_being_emptied(held):
    """A burst of one class goes on over the restart, the other class and the credits of both begin anew."""

    class Slow(Late):
        """One beat of the held channel, then none for a long time."""

        moved = 0

        def readies(self):
            self.start -= 1
            stopped = self.moved and self.start > 0
            return {channel: int(not stopped or channel not in (held, "req")) for channel in CHANNELS}

        def saw(self, channel, beat):
            self.moved += channel == held

    first, _ = transfers(full_read(1), full_write(2))
    second, expected = transfers(full_write(3), full_write(4), full_read(5))
    gap = [*[None] * 8, OFFLINE, *[None] * 40]
    got = run(POOLS, [*first, *gap, *second], consumer=Slow(len(first) + 30), drain=40)
    assert got.errors == []
    tag = 2 if held == "orig_data" else 1
    assert [beat["data"] & 0xFFFF for beat in got.beats(held)[:4]] == [beat << 8 | tag for beat in range(4)]
    for channel in ("orig_data", "rd_rsp"):
        want = getattr(expected, channel)
        assert got.beats(channel)[-len(want) :] == want
    assert got.log == (ReceiveError.NONE, 0, 0, 0, 0)
