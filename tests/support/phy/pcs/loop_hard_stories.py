"""Stories of ``test_loop``: a core that stops, lanes that are not ready, data that look like markers."""

from cocotb.triggers import FallingEdge

from support.phy.pcs.loop_bench import DATA, INTERVAL, MARKER_BLOCKS, SLOT, Bench, setting, story
from ualink_sim.model.phy import pcs as model


@story
async def a_core_that_stops_is_told_and_all_lanes_begin_anew(dut, lanes):
    bench = await Bench(dut, lanes, 11, **setting(lanes, 11)).begin()
    await bench.until_aligned()
    await bench.slots_later(INTERVAL)
    assert bench.read("underflow") == 0
    bench.offers = False
    await bench.until(lambda: bench.read("underflow"))
    await bench.until(lambda: not bench.read("aligned"))
    assert bench.read("running") == 0
    bench.offers = True
    await bench.until_aligned()
    await bench.slots_later(2 * INTERVAL)
    assert bench.read("underflow") != 0 and bench.read("running") == 1
    await bench.clear()
    await bench.slots_later(1)
    bench.end()
    assert bench.read("underflow") == 0
    bench.place(bench.stretches()[-1])


@story
async def lanes_begin_together_once_all_are_ready(dut, lanes):
    bench = await Bench(dut, lanes, 12, **setting(lanes, 12)).begin()
    await bench.until_aligned()
    await bench.slots_later(INTERVAL)
    bench.signal(f"lanes__{lanes - 1}__tx_ready").value = 0
    await bench.until(lambda: not bench.read("running"))
    await bench.until(lambda: not bench.read("aligned"))
    assert bench.read("tx_ready") == (1 << lanes - 1) - 1
    sent = len(bench.sent)
    for _ in range(200):
        await FallingEdge(dut.clk)
    # What the FIFOs hold has been taken, no more.
    assert len(bench.sent) - sent <= 8 * 30
    bench.signal(f"lanes__{lanes - 1}__tx_ready").value = 1
    await bench.until_aligned()
    await bench.slots_later(2 * INTERVAL)
    bench.end()
    assert bench.read("underflow") == 0
    bench.place(bench.stretches()[-1])


@story
async def data_that_look_like_markers_mislead_nobody(dut, lanes):
    """Blocks that become a marker by scrambling: while the locks are sought, one in each interval, never twice at the
    distance of markers; then at just that distance, at any other, and with another lane's number."""
    bench = Bench(dut, lanes, 13, **setting(lanes, 13))
    scrambler = model.Scrambler()
    original = bench.next_slot
    false = 0

    def data() -> list[int]:
        nonlocal false
        interval, slot = divmod(bench.slots - 1, INTERVAL)
        places = {60 - 7 * (interval % 8)} if slot == 2 else set()
        if bench.read("aligned"):
            places = {40, bench.rng.randrange(SLOT), bench.rng.randrange(SLOT)}
        false += len(places)
        return hostile(bench, scrambler, places)

    def next_slot() -> list[int]:
        blocks = original()
        if blocks[0] == model.START_BLOCK:
            for block in blocks[MARKER_BLOCKS:]:
                scrambler.block(block)
        return blocks

    bench.data, bench.next_slot = data, next_slot
    await bench.begin()
    await bench.until_aligned()
    assert false > 1
    await bench.slots_later(7 * INTERVAL)
    bench.end()
    (stretch,) = bench.stretches()
    assert len(stretch) > 6 * INTERVAL * SLOT
    bench.place(stretch)
    carried = [block for lane in model.lane_blocks(bench.sent, lanes, MARKER_BLOCKS) for block in lane]
    looks = sum(block == model.lane_marker(lane, lanes, 0) for block in carried for lane in range(lanes))
    # All of them were sent but those of the last slot; and the markers themselves.
    assert looks >= false - 3 > 2 * 5 * INTERVAL


def hostile(bench: Bench, scrambler: model.Scrambler, places: set[int]) -> list[int]:
    """A slot with blocks that the scrambler makes a marker of, of any lane, at ``places``."""
    blocks = []
    for n in range(SLOT):
        if n not in places:
            block = DATA | bench.rng.getrandbits(64) << 2
            scrambler.block(block)
        else:
            # A control block like the marker, so its type is any: the PCS does not look at it.
            wanted = model.lane_marker(bench.rng.randrange(bench.lanes), bench.lanes, 0)
            clear = model.Descrambler()
            clear.sent = list(scrambler.sent)
            block = clear.block(wanted)
            scrambler.sent = clear.sent
        blocks.append(block)
    return blocks
