"""Compressed Requests through the whole receiver, against the model with its Address Cache."""

import random

import pytest
from amaranth.hdl import Value

from support.tl.illegal import check_illegal, control, flow
from support.tl.receive import CACHE, CHANNELS, NO_CACHE, OFFLINE, RECEIVE, ROOMY, SMALL, run
from support.tl.received import received
from support.tl.traffic import Traffic, check
from ualink.config import AddressCacheConfig, Credits, TLConfig
from ualink.tl.receive import request_reconstruction
from ualink.tl.receive.error import ReceiveError
from ualink_sim.model.tl.fields import CompressedRequest, UncompressedRequest

pytestmark = RECEIVE

CACHED = ROOMY.replace(rx_cache=CACHE)


@pytest.mark.req(
    *("TL-096", "TL-099", "TL-100", "TL-101", "TL-102", "TL-114", "TL-115", "TL-116", "TL-117", "TL-118", "TL-119"),
    *("TL-120", "TL-121", "TL-127", "TL-128", "TL-129", "TL-186", "TL-192", "TL-212", "TL-009", "TL-013", "TL-104"),
)
@pytest.mark.parametrize(
    "device, is_switch, row_of, authentication, consumer",
    [
        ("accelerator", 1, "accelerator", False, "agent"),
        ("switch", 0, "switch", True, "random"),
        ("either", 0, "accelerator", True, "free"),
        ("either", 1, "switch", False, "random"),
    ],
)
def test_random_traffic(device, is_switch, row_of, authentication, consumer):
    """The row is ReqSrcPhysAccID at an accelerator and ReqDstPhysAccID at a switch, whose input is ignored unless the
    configuration leaves it open."""
    config = SMALL.replace(rx_cache=AddressCacheConfig(rows=3, ways=3), device=device)
    model = config.replace(device=row_of)
    traffic = Traffic(model, f"{device} {consumer}", idle=0.1, requests=0.5, authentication=authentication)
    flits = []
    keep = (flits.append(flit) or flit for flit in traffic.flits(220))
    levels = {"authentication": int(authentication), "is_switch": is_switch}
    got = run(config, keep, consumer=consumer, drain=150, watch=traffic.release, **levels)
    check(got, traffic.expected)
    assert {channel: got.beats(channel) for channel in CHANNELS} == received(model, flits, authentication)
    assert len(got.req) > 30 and len(got.rd_rsp) > 20
    assert traffic.compressed > 10


def compressed(row, way, tag, cmd=0, **members):
    return CompressedRequest(cmd=cmd, src_acc_id=row, cway=way, tag=tag, pool=1, **members)


def loading(row, way, region, tag, **members):
    return UncompressedRequest(cmd=3, addr=region << 18, src_acc_id=row, cload=1, cway=way, tag=tag, pool=1, **members)


def regions(got):
    return [(beat["tag"], beat["addr"] >> 20) for beat in got.beats("req")]


@pytest.mark.req("TL-121", "TL-128", "TL-143", "TL-129")
@pytest.mark.parametrize("distance", range(5))
def test_a_load_counts_for_the_next_request_and_until_it_is_replaced(distance):
    """In the Control half-flit of the load and ``distance`` flits later; another way of the row keeps its own."""
    flits = [
        flow(control((0, loading(7, 1, 0x1_2345_6789, 0)))),
        flow(control((0, loading(7, 2, 0x0_0F0F_0F0F, 1)), (4, compressed(7, 1, 2)))),
        *[flow()] * 4,
        flow(control((0, loading(7, 1, 0x1F_0000_0001, 3)), (4, compressed(7, 1, 4)), (6, compressed(7, 2, 5)))),
        *[flow()] * distance,
        flow(control((2, compressed(7, 1, 6)))),
    ]
    got = run(CACHED, flits, drain=10)
    assert got.errors == []
    old, other, new = 0x1_2345_6789, 0x0_0F0F_0F0F, 0x1F_0000_0001
    assert regions(got) == [(0, old), (1, other), (2, old), (3, new), (4, new), (5, other), (6, new)]


@pytest.mark.req("TL-122", "TL-119", "TL-127")
def test_without_cload_nothing_is_loaded():
    plain = UncompressedRequest(cmd=3, addr=0x77 << 18, src_acc_id=7, cway=1, tag=1, pool=1)
    flits = [flow(control((0, loading(7, 1, 0x11, 0)), (4, plain))), flow(control((0, compressed(7, 1, 2))))]
    assert regions(run(CACHED, flits, drain=8)) == [(0, 0x11), (1, 0x77), (2, 0x11)]


CONFIG = TLConfig(
    rx_cache=AddressCacheConfig(rows=6, ways=3),
    req_cmd=Credits(pool=9),
    rsp_cmd=Credits(pool=9),
    req_data=Credits(pool=4),
    rsp_data=Credits(pool=4),
)
LOADED = flow(control((0, loading(4, 1, 0x1234, 0x100))))
CASES = {
    "way never loaded": [flow(control((0, compressed(4, 2, 1))))],
    "row never loaded": [flow(control((0, compressed(3, 1, 1))))],
    "row that does not exist": [flow(control((0, compressed(6, 1, 1))))],
    "way that does not exist": [flow(control((0, compressed(4, 3, 1))))],
    "load of a row that does not exist": [flow(control((0, loading(6, 1, 7, 1))))],
    "load of a way that does not exist": [flow(control((0, loading(4, 3, 7, 1))))],
    "write without an entry": [flow(control((0, compressed(2, 0, 1, cmd=4))), b"\x55" * 32)],
    "load in a higher sector": [flow(control((0, compressed(2, 0, 1)), (4, loading(2, 0, 9, 2))))],
}


@pytest.mark.req("TL-220", "TL-087", "TL-088", "TL-113", "TL-125")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("authentication", [False, True])
def test_entries_that_are_not_there(case, authentication):
    flits = CASES[case]
    if authentication:
        flits = [(data[:32] + bytes(range(32)), message) for data, message in flits]
    check_illegal(ReceiveError.ADDRESS_CACHE, flits, authentication, config=CONFIG)


@pytest.mark.req("TL-089", "TL-090", "TL-207")
@pytest.mark.parametrize("config, level", [(CONFIG, 1), (CONFIG.replace(rx_cache=NO_CACHE), 0)])
def test_without_the_cache_cload_is_ignored_and_compressed_requests_are_errors(config, level):
    flits = [LOADED, flow(control((0, loading(900, 3, 7, 1)))), flow(control((0, compressed(4, 1, 2))))]
    got = run(config, flits, drain=8, disable_rx_cache=level)
    assert regions(got) == [(0x100, 0x1234), (1, 7)]
    assert [code for _, code in got.errors] == [ReceiveError.ADDRESS_CACHE]
    got = run(config, [LOADED, *[flow()] * 6, OFFLINE, *[None] * 12, LOADED], drain=8, disable_rx_cache=level)
    assert got.errors == [] and len(got.req) == 2


@pytest.mark.req("TL-225", "TL-124", "TL-221")
def test_a_restart_keeps_all_entries_and_takes_no_time():
    offline = [OFFLINE, *[None] * 12]
    got = run(CONFIG, [LOADED, *[flow()] * 6, *offline, flow(control((0, compressed(4, 1, 2))))], drain=8)
    assert got.errors == []
    assert regions(got) == [(0x100, 0x1234), (2, 0x1234)]
    # The link is up again in cycle 8.
    assert got.buffers_free[8:14] == [0, 0, 0, 0, 1, 1]
    # A later load takes the place of what was kept.
    newer = flow(control((0, loading(4, 1, 99, 1))))
    again = [LOADED, *[flow()] * 6, *offline, newer, flow(control((0, compressed(4, 1, 2))))]
    assert [region for _, region in regions(run(CONFIG, again, drain=8))] == [0x1234, 99, 99]


@pytest.mark.req("TL-113", "TL-223", "TL-087", "TL-088", "TL-220")
def test_an_upset_in_the_cache_is_fatal(monkeypatch):
    """A bit of an entry that has flipped stops the receiver when the entry is read, and a restart cures it."""
    caches = []

    class Tracked(request_reconstruction.RxAddressCache):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            caches.append(self)

    monkeypatch.setattr(request_reconstruction, "RxAddressCache", Tracked)
    # A configuration of its own, because the benches of the others have been built.
    config = CONFIG.replace(rsp_cmd=Credits(pool=10))
    entry_bits = 39
    for bit in random.Random(5).sample(range(entry_bits), 4):

        def flip(ctx, bit=bit):
            row = Value.cast(caches[-1].storage.data[4])
            ctx.set(row, ctx.get(row) ^ 1 << entry_bits + bit)

        # Another load takes the place in the Address CAM, which would hide the array.
        other = flow(control((0, loading(2, 0, 7, 1))))
        flits = [LOADED, other, *[flow()] * 3, flip, flow(), flow(control((0, compressed(4, 1, 2)))), LOADED]
        got = run(config, [*flits, *[flow()] * 6, OFFLINE, *[None] * 12, LOADED], drain=8)
        assert [code for _, code in got.errors] == [ReceiveError.ADDRESS_CACHE_PARITY]
        assert got.log[:2] == (ReceiveError.ADDRESS_CACHE_PARITY, 1)
        assert regions(got) == [(0x100, 0x1234), (1, 7), (0x100, 0x1234)]
