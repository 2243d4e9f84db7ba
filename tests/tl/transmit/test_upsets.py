"""A bit flips in what the transmitter holds of a beat: the flit that it leaves in has a wrong parity.

CI strikes a transmitter that has few fields in sight; ``make soak`` (UALINK_SOAK=1) adds ``test_upsets_whole.py``:
other configurations, and each store many times.
"""

import functools

import pytest

from support.tl.stimulus import CHANNELS
from support.tl.transmit import TRANSMIT
from support.tl.transmit_upsets import CONFIG, OFFERED, THIN, TransmitBench, UpsetBench, flit_good
from support.upsets import name_of
from ualink.lib.parity import WithoutDataParity
from ualink.tl.transmit import Transmit

pytestmark = TRANSMIT

WIDE_DECISIONS = {"packer.choice", "responses.$signal", "packer.places"}
"""What is left out though it is as wide as an item, beside credits and the Address Cache."""

CYCLES, BARE, SEED = 4000, 150, 3


ROUND = "kept", "older"
"""What goes round the two memories with the data of Read Responses; ``source`` says if the oldest comes from there."""

FEW = CONFIG.replace(requests_in_sight=2, responses_in_sight=3)


@functools.cache
def upset_bench():
    return UpsetBench(SEED, config=FEW)


def test_what_is_struck():
    """All that is wide enough for an item is struck but what decides."""
    bench = upset_bench()
    assert {place.path[0] for place in bench.places} == {
        "compression", "requests", "response_intake", "responses", "orig_data", "rd_data", "packer", "gearbox",
        "sequence",
    }  # fmt: skip
    wide = {name_of(place) for place in bench.left_out if place.bits >= 40}
    assert {name for name in wide if not name.startswith(("credits.", "compression.cache."))} <= WIDE_DECISIONS


@pytest.mark.req("RAS-007", "RAS-009", "RAS-014", "RAS-015", "RAS-016", "RAS-107", "RAS-108")
def test_each_store_and_each_bit_of_the_code():
    """An upset in each store of items, and each bit of the code that comes with a beat, shows in the parity of a flit;
    no flit of right parity is another than without upsets. ``older``, which counts in few cycles, is struck below."""
    bench = upset_bench()
    assert not bench.campaign([*(place for place in bench.places if place.path[-1] != "older"), *OFFERED], CYCLES)


@pytest.mark.req("RAS-107", "RAS-108")
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_beat_whose_control_is_wrong_spoils_a_flit(channel):
    """One alone, so that nothing else can have spoilt it: first beats of transfers and later ones."""
    bench = upset_bench()
    for struck in range(60, 130, 12):
        flits = bench.bench.run(
            struck + 110, lambda ctx, cycle, flit, struck=struck: (channel, "control", 0) if cycle == struck else None
        )
        assert [flit for flit in flits.values() if not flit_good(flit)], struck
        assert all(flit == bench.whole[cycle] for cycle, flit in flits.items() if flit_good(flit))


@pytest.mark.req("RAS-107", "RAS-108")
@pytest.mark.parametrize("name", ROUND)
def test_what_goes_round_the_memories(name):
    """A beat of a Read Response that leaves in the cycle after it came, or in the one after: it is nowhere else."""
    bench = upset_bench()
    places = {name_of(place): place for place in (*bench.places, *bench.left_out)}
    kept, source, turn = (places[f"rd_data.data.{one}"].signal for one in (name, "source", "turn"))
    before, struck = (0, 0), []

    def act(ctx, cycle, flit):
        nonlocal before
        now = ctx.get(source) >> ROUND.index(name) & 1, ctx.get(turn)
        if before[0] and before[1] != now[1]:
            struck.append(cycle - 1)
        before = now
        if struck and cycle == struck[0] + 10:
            bench.bench.stop()

    def strike(ctx, cycle, flit):
        if cycle == struck[0]:
            ctx.set(kept, ctx.get(kept) ^ 1)

    whole = bench.bench.run(6000, act, read_share=THIN)
    flits = bench.bench.run(struck[0] + 10, strike, read_share=THIN)
    assert [flit for flit in flits.values() if not flit_good(flit)]
    assert all(flit == whole[cycle] for cycle, flit in flits.items() if flit_good(flit))


def test_without_parity_over_data():
    """With codes that begin here, of which there are none: no parity over data, and none over control that depends on a
    code; the same flits, in the same cycles."""
    dut = Transmit(FEW)
    flits = TransmitBench(dut, SEED, design=WithoutDataParity(dut)).run(BARE)
    assert len(flits) > 50
    assert {cycle: flit[:3] for cycle, flit in flits.items()} == {
        cycle: flit[:3] for cycle, flit in upset_bench().whole.items() if cycle < BARE
    }
    for _, message, error, parity, control_parity in flits.values():
        assert (parity, control_parity) == (0, (message.bit_count() + error) & 1)
