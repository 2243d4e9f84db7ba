"""What the Rx Address Cache holds outlives a link down, and every load that was received counts."""

import pytest

from support.tl.receive import CACHE, OFFLINE, RECEIVE, _bench, run
from ualink.config import Credits, TLConfig
from ualink.tl.receive.error import ReceiveError
from ualink_sim.model.tl.fields import READ, CompressedRequest, UncompressedRequest
from ualink_sim.model.tl.sequence import Issue, TransmitSequence

pytestmark = RECEIVE

CONFIG = TLConfig(
    rx_cache=CACHE,
    req_cmd=Credits(pool=16),
    rsp_cmd=Credits(pool=4),
    req_data=Credits(pool=8),
    rsp_data=Credits(pool=8),
)
ENTRIES = [(row, way) for row in (1, 6) for way in (0, 3)]
BEGINS = 12
"""Cycles of a session after which Requests may come."""


def region(row, way):
    return 0x12_3456_7000 + 16 * row + way


def load(sector, row, way, tag=0):
    addr = region(row, way) << 18
    return Issue(sector, UncompressedRequest(cmd=READ, pool=1, tag=tag, addr=addr, src_acc_id=row, cload=1, cway=way))


def use(sector, row, way, tag):
    return Issue(sector, CompressedRequest(pool=1, tag=tag, addr=tag, src_acc_id=row, cway=way))


def flits(*half_flits):
    """One flit for each list of issues, in a session of its own."""
    sequence = TransmitSequence()
    return [sequence.send(issues) for issues in half_flits]


def uses(first=100):
    """The entries are read, and what must come of it."""
    issues = [use(2 * n, *entry, first + n) for n, entry in enumerate(ENTRIES)]
    expected = [(first + n, region(*entry) << 20 | first + n << 6) for n, entry in enumerate(ENTRIES)]
    return flits(issues), expected


def found(got, first=100):
    return [(beat["tag"], beat["addr"]) for beat in got.beats("req") if beat["tag"] >= first]


LOADS = flits([load(0, *ENTRIES[0]), load(4, *ENTRIES[1])], [load(0, *ENTRIES[2]), load(4, *ENTRIES[3])])


@pytest.mark.req("TL-225", "TL-121", "TL-124")
@pytest.mark.parametrize("down", [1, 2, 5, 20])
@pytest.mark.parametrize("after", range(8))
def test_every_load_that_came_before_a_link_down_counts(after, down):
    """The link goes down ``after`` cycles behind the flits with the loads: two are in the catch buffer then, or one
    flit is still being looked at."""
    again, expected = uses()
    idle = [None] * BEGINS
    got = run(CONFIG, [*idle, *LOADS, *[None] * after, *[OFFLINE] * down, *idle, *again])
    assert got.errors == []
    assert found(got) == expected


@pytest.mark.req("TL-225")
def test_a_link_down_costs_no_time_to_clear_anything():
    """With nothing to finish the buffers are free as soon as no flit of before can be on its way."""
    got = run(CONFIG, [*[None] * BEGINS, *LOADS, *[None] * 9, *[OFFLINE] * 3, *[None] * 5])
    up = BEGINS + len(LOADS) + 9 + 3
    assert got.buffers_free[up : up + 6] == [0, 0, 0, 0, 1, 1]


@pytest.mark.req("TL-225", "TL-088", "TL-220")
@pytest.mark.parametrize("after", range(8))
def test_a_load_behind_an_error_does_not_count(after):
    """The first Request reads an entry that was never loaded; the one behind it, in the same half-flit, is not heard,
    whenever the link goes down."""
    bad = flits([use(0, 7, 2, 1), load(4, *ENTRIES[0], 2)])
    again, _ = uses()
    idle = [None] * BEGINS
    got = run(CONFIG, [*idle, *bad, *[None] * after, *[OFFLINE] * 3, *idle, *again])
    assert got.errors[-1][1] is ReceiveError.ADDRESS_CACHE
    assert found(got) == []


@pytest.mark.req("TL-225", "TL-216", "SW-105")
@pytest.mark.parametrize("after", range(-3, 8))
def test_loads_count_in_drop_mode_though_nothing_is_delivered(after):
    """Drop Mode begins ``after`` cycles behind the first flit of loads and lasts until the link has gone down."""
    dut = _bench(CONFIG).dut

    def discard(level):
        return lambda ctx: ctx.set(dut.discard, level)

    idle = [None] * BEGINS
    before = [*idle, LOADS[0]]
    if after < 0:
        before[after - 1] = discard(1)
        middle = [LOADS[1]]
    else:
        middle = [*[None] * after, discard(1), LOADS[1]]
    again, expected = uses()
    got = run(CONFIG, [*before, *middle, *[None] * 6, *[OFFLINE] * 2, discard(0), *idle, *again])
    assert got.errors == []
    assert found(got) == expected
    # Nothing comes out of Drop Mode but what had been offered before.
    delivered = len(got.beats("req")) - len(expected)
    assert delivered == max(0, min(2, after - 4))


@pytest.mark.req("TL-225", "TL-207")
def test_a_disabled_cache_has_what_the_partner_believes_when_it_is_used_again():
    dut = _bench(CONFIG).dut

    def disable(level):
        return lambda ctx: ctx.set(dut.disable_rx_cache, level)

    idle = [None] * BEGINS
    again, expected = uses()
    got = run(CONFIG, [disable(1), *idle, *LOADS, *idle, OFFLINE, disable(0), *idle, *again])
    assert got.errors == []
    assert found(got) == expected
