"""A bit flips in what a TL receiver holds of a flit, a field or a beat: no wrong beat leaves with a right code.

``make soak`` (UALINK_SOAK=1) adds ``test_upsets_whole.py``: other configurations, and each store many times.
"""

import re
from functools import cache

import pytest

from support.tl.illegal import control, flow
from support.tl.receive import CHANNELS, RECEIVE
from support.tl.receive_upsets import CONFIG, NO_ITEMS, ReceiveUpsets
from support.upsets import Strike, name_of
from ualink.upli.channels import CHANNEL_LAYOUTS, WR_RSP_LAYOUT
from ualink_sim.model.tl.fields import UncompressedResponse

pytestmark = RECEIVE

LEAN = CONFIG.replace(catch_in_lines=True, lean=True, shared_data_buffer=True)
CONFIGS = {"usual": CONFIG, "lean": LEAN, "unhurried": CONFIG.replace(unhurried=True)}

RUNS = 60
"""So many at most; a place is struck no more when a strike of it was found."""


@cache
def bench_of(name):
    return ReceiveUpsets(CONFIGS[name], "e")


@pytest.mark.req("RAS-007", "RAS-009", "RAS-014", "RAS-015", "RAS-016", "RAS-107", "RAS-108")
@pytest.mark.parametrize("name", CONFIGS)
def test_each_store_of_items(name):
    """Any bit of any register or memory in which an item is, while it is there: a wrong control code where control is
    wrong, poison or a wrong code of data where data are, or an error that the receiver tells of."""
    bench = bench_of(name)
    usual = {name_of(place) for place in bench_of("usual").places}
    # Of the lean one those that the usual one does not have; the unhurried one reads others of these memories.
    places = [place for place in bench.places if name != "lean" or name_of(place) not in usual]
    assert len(places) > 7
    assert bench.strike_all(places, RUNS) == []


def test_nothing_is_left_out_that_is_not_there():
    names = [name_of(place) for name in CONFIGS for place in bench_of(name).left_out]
    assert not [rule for rule in NO_ITEMS if not any(re.search(rule, name) for name in names)]


@pytest.mark.req("RAS-108")
def test_no_write_response_becomes_an_isolate():
    """What an upset makes an ISOLATE is not dropped as one: it leaves, and its code is wrong."""
    response = UncompressedResponse(pool=1, rd_wr=0, status=0xE)
    bench = bench_of("usual")
    bench.begin("isolate", [flow(control((2, response)))])
    assert len(bench.right["wr_rsp"]) == 1
    status, isolates = WR_RSP_LAYOUT["status"].offset, 3
    for name, bit, cycle in (
        ("write", status, 5),
        ("write_queue.head_0", status, 6),
        *(("write_queue.early", mark, 6) for mark in (isolates, isolates + 1)),
    ):
        (place,) = (place for place in bench.places if name_of(place) == f"responses.{name}")
        assert bench.repeat(Strike(place, None, bit, cycle)) == {"wr_rsp": "control"}


def test_without_data_parity():
    """Nothing is protected then: the same beats come, and their code is zero."""
    protected, bare = bench_of("lean"), ReceiveUpsets(LEAN, "e", protected=False)
    protected.begin("e")
    for channel in CHANNELS:
        fields = (1 << CHANNEL_LAYOUTS[channel].size) - 1
        assert bare.right[channel] == [beat & fields for beat in protected.right[channel]]
        assert len(bare.right[channel]) > 3
