"""A bit flips in what the transmitter holds of a beat: the flit that it leaves in has a wrong parity.

``make soak`` (UALINK_SOAK=1) adds ``test_upsets_whole.py``: other configurations, and each store many times.
"""

import functools

import pytest

from support.tl.transmit import TRANSMIT
from support.tl.transmit_upsets import CONFIG, OFFERED, TransmitBench, UpsetBench, flit_good
from support.upsets import name_of
from ualink.lib.parity import WithoutDataParity
from ualink.tl.transmit import Transmit

pytestmark = TRANSMIT

WIDE_DECISIONS = {"packer.choice", "responses.$signal", "packer.places"}
"""What is left out though it is as wide as an item, beside credits and the Address Cache."""

CYCLES, SEED = 2200, 3


@functools.cache
def upset_bench():
    return UpsetBench(SEED)


@functools.cache
def coded_flits():
    return upset_bench().bench.run(400)


def test_what_is_struck():
    """All that is wide enough for an item is struck but what decides."""
    bench = upset_bench()
    assert {place.path[0] for place in bench.places} == {
        "compression", "requests", "response_intake", "responses", "orig_data", "rd_data", "packer", "gearbox",
        "sequence",
    }  # fmt: skip
    wide = {name_of(place) for place in bench.left_out if place.bits >= 40}
    assert {name for name in wide if not name.startswith(("credits.", "compression.cache."))} <= WIDE_DECISIONS


@pytest.mark.req("RAS-107", "RAS-108")
def test_each_store_and_each_bit_of_the_code():
    """An upset in each store of items, and each bit of the code that comes with a beat, shows in the parity of a flit;
    no flit of right parity is another than without upsets."""
    bench = upset_bench()
    assert not bench.campaign([*bench.places, *OFFERED], CYCLES)


def test_the_code_changes_no_flit():
    """With codes that come, with codes that begin here: the same flits, in the same cycles, of right parity."""
    flits = TransmitBench(Transmit(CONFIG), SEED).run(400)
    assert len(flits) > 200 and all(map(flit_good, flits.values()))
    assert flits == coded_flits()


def test_without_parity_over_data():
    """No parity over data, and none over control that depends on a code; the same flits."""
    dut = Transmit(CONFIG, coded=True)
    flits = TransmitBench(dut, SEED, design=WithoutDataParity(dut)).run(400)
    assert {cycle: flit[:3] for cycle, flit in flits.items()} == {
        cycle: flit[:3] for cycle, flit in coded_flits().items()
    }
    for _, message, error, parity, control_parity in flits.values():
        assert (parity, control_parity) == (0, (message.bit_count() + error) & 1)
