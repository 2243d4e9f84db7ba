"""Stories of ``test_loop``: two PCSs, one of which has a reconciliation sublayer as fast as its own lane.

200 ppm between the two sides, and an Idle flit in 1,024 slots to make good for it, are here 256 times as much between
two that have a control flit in every ``INTERVAL`` slots: as many blocks to leave out or to put in each time.
"""

from support.phy.pcs.loop_bench import INTERVAL, MARKER_BLOCKS, SLOT, Bench, as_received, begin, story
from ualink_sim.model.phy import pcs as model
from ualink_sim.model.phy.rate_matching import changes

DRIFT = 200 * 1024 // INTERVAL
"""In ppm."""


async def exchange(dut, faster: int):
    """A long exchange between a partner who is ``faster`` by so many ppm and the one that matches; both benches."""
    partner = Bench(dut, 1, faster, faster=faster)
    bench = Bench(dut, 1, faster + 1, matching=True)
    partner.partner, bench.partner = bench, partner
    await begin(partner, bench)
    await bench.until_aligned()
    await partner.until_aligned()
    cycles, beats = bench.cycles, len(bench.beats)
    await partner.slots_later(10 * INTERVAL)
    # A beat in every cycle, and none of them lost or made up.
    assert bench.cycles - cycles == len(bench.beats) - beats
    partner.end()
    bench.end()
    assert bench.read("rate_errors") == 0
    # What is sent is as the reconciliation sublayer gave it: markers in their distance, every slot whole.
    (back,) = partner.stretches()
    assert len(back) > 9 * INTERVAL * SLOT
    partner.place(back, bench.sent)
    assert bench.read("underflow") == 0
    return partner, bench


def matched(partner: Bench, bench: Bench):
    """How many blocks were left out and put in, from the second marker on, by the model's rules."""
    taken = [block for beat in bench.beats for block in beat]
    marker = [model.ALIGNMENT_BLOCK] * MARKER_BLOCKS
    begins = [n for n in range(len(taken)) if taken[n : n + MARKER_BLOCKS] == marker]
    taken = taken[begins[1] :]
    data = next(n for n, block in enumerate(taken) if block & 3 == 2)
    given = as_received(partner.sent)
    at = given.index(taken[data]) // (SLOT * INTERVAL) * SLOT * INTERVAL
    assert given[at : at + MARKER_BLOCKS] == marker and len(taken) > 8 * SLOT * INTERVAL
    return changes([(block,) for block in given[at:]], [(block,) for block in taken]), len(taken)


@story
async def a_faster_partner_loses_idles_only(dut, lanes):
    made, blocks = matched(*await exchange(dut, DRIFT))
    gone = made["idle deleted"] + made["ordered set deleted"]
    assert abs(gone - made["idle inserted"] - blocks * DRIFT // 1_000_000) <= 5 * 8
    assert made["ordered set deleted"] and made["idle deleted"] and not made["idle inserted"]


@story
async def a_slower_partner_gains_idles_only(dut, lanes):
    made, blocks = matched(*await exchange(dut, -DRIFT))
    assert abs(made["idle inserted"] - blocks * DRIFT // 1_000_000) <= 5 * 8
    assert made.keys() == {"idle inserted"}
