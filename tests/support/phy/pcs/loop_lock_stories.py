"""Stories of ``test_loop``: markers, bits, signals and headers that are missing or wrong."""

from support.phy.pcs.bench_top import FRAMING
from support.phy.pcs.loop_bench import INTERVAL, SLOT, Bench, setting, story
from ualink_sim.model.phy import pcs as model

SPREAD = 2_400
"""Blocks of all lanes over which bad headers are spread: with the way to the next marker less than a window of the bit
error rate monitor."""
assert SPREAD + (INTERVAL + 1) * SLOT + 4 * 2 * FRAMING["max_skew"] < FRAMING["ber_window"]


def marker_bits(bench: Bench, n: int, count: int) -> list[int]:
    """The first bits of the next ``count`` markers that come into wire ``n``, given that it has been quiet so far."""
    bits = "".join(map(str, bench.in_bits(bench.wires[n].taken)))
    marker = model.lane_marker(bench.source[n], bench.lanes, 0)
    last = bits.rfind("".join(str(marker >> at & 1) for at in range(66)))
    distance = 66 * SLOT * INTERVAL // bench.lanes
    return [last + distance * k for k in range(1, count + 1)]


@story
async def four_missing_markers_are_overwritten_all_the_same(dut, lanes):
    bench = await Bench(dut, lanes, 4, **setting(lanes, 4)).begin()
    await bench.until_aligned()
    await bench.slots_later(1)
    wire = bench.wires[-1]
    wire.flips = {at + 10 for at in marker_bits(bench, lanes - 1, 5)[1:]}
    await bench.slots_later(7 * INTERVAL)
    bench.end()
    (stretch,) = bench.stretches()
    assert len(stretch) > 6 * SLOT * INTERVAL
    bench.place(stretch)


@story
async def five_missing_markers_lose_the_lock(dut, lanes):
    bench = await Bench(dut, lanes, 5, **setting(lanes, 5)).begin()
    await bench.until_aligned()
    await bench.slots_later(1)
    wire = bench.wires[0]
    wire.flips = {at + 10 for at in marker_bits(bench, 0, 6)[1:]}
    await bench.slots_later(6 * INTERVAL)
    await bench.until(lambda: not bench.read("aligned"))
    await bench.until_aligned()
    await bench.slots_later(2 * INTERVAL)
    bench.end()
    first, second = bench.stretches()
    assert 5 * SLOT * INTERVAL <= len(first) + 8 * 6 <= 7 * SLOT * INTERVAL
    bench.place(first)
    bench.place(second)


@story
async def a_slip_is_noticed_and_healed(dut, lanes):
    """One bit of a lane is left out: garbage until the sync headers tell, then Local Fault, then all is well again."""
    bench = await Bench(dut, lanes, 6, **setting(lanes, 6)).begin()
    await bench.until_aligned()
    await bench.slots_later(INTERVAL + 1)
    bench.wires[-1].lost = {bench.wires[-1].into + 1000}
    await bench.until(lambda: not bench.read("aligned"))
    await bench.until_aligned()
    await bench.slots_later(2 * INTERVAL)
    bench.end()
    first, second = bench.stretches()
    bench.place(second)
    bench.place(first[: SLOT * INTERVAL])
    # 65 bad headers are half of 130 blocks of that lane; and what is on its way.
    assert len(first) < (2 * INTERVAL + 1) * SLOT + 300 * lanes


@story
async def a_lane_without_signal_is_a_local_fault(dut, lanes):
    bench = await Bench(dut, lanes, 7, **setting(lanes, 7)).begin()
    await bench.until_aligned()
    await bench.slots_later(INTERVAL)
    # Without a signal there may be no recovered clock either.
    bench.signal(f"lanes__{lanes - 1}__rx_ready").value = 0
    bench.clocked = (1 << lanes - 1) - 1
    await bench.until(lambda: not bench.read("aligned"), limit=12)
    assert bench.lane(lanes - 1, "ready") == 0
    before = len(bench.beats)
    await bench.slots_later(INTERVAL)
    assert set(map(tuple, bench.beats[before + 2 :])) == {(model.LOCAL_FAULT_BLOCK,) * bench.blocks}
    bench.clocked = (1 << lanes) - 1
    await bench.slots_later(1)
    bench.signal(f"lanes__{lanes - 1}__rx_ready").value = 1
    await bench.until_aligned()
    await bench.slots_later(2 * INTERVAL)
    bench.end()
    for stretch in bench.stretches():
        bench.place(stretch)
    assert len(bench.stretches()) == 2


@story
async def bad_headers_are_counted_and_many_are_a_fault(dut, lanes):
    """96 bad headers in a window are none, 97 are a high bit error rate; a Local Fault only if asked for."""
    bench = await Bench(dut, lanes, 8, **setting(lanes, 8)).begin()
    for asked, count in ((0, 120), (1, 96), (1, 97)):
        bench.signal("ber_monitor").value = 0
        await bench.until_aligned()
        await bench.slots_later(2)
        await bench.clear()
        bench.signal("ber_monitor").value = asked
        # First header bits behind the next marker, all in one window, spread so that no lane loses its block lock, and
        # few of them in markers.
        starts = [marker_bits(bench, n, 1)[0] for n in range(lanes)]
        for n, wire in enumerate(bench.wires):
            blocks = (23 + k * SPREAD // lanes // count for k in range(n, count, lanes))
            wire.flips = {starts[n] + 66 * block for block in blocks}
        goal = max(max(wire.flips) for wire in bench.wires) + 66 * 100
        before = len(bench.beats)
        await bench.until(lambda goal=goal: min(wire.into for wire in bench.wires) > goal)
        assert sum(bench.lane(n, "bad_headers") for n in range(lanes)) == count
        assert bench.lane(0, "bad_headers") == -(-count // lanes)
        faults = [beat for beat in bench.beats[before:] if model.LOCAL_FAULT_BLOCK in beat]
        assert bool(faults) == (asked and count == 97)
        assert bench.read("hi_ber") == (asked and count == 97)
        assert bench.read("aligned") == 1
    await bench.until(lambda: not bench.read("hi_ber"))
    bench.end()


@story
async def too_much_skew_is_never_taken_for_alignment(dut, lanes):
    if lanes == 1:
        return
    delays = [66] * lanes
    delays[-1] += 66 * SLOT * INTERVAL // lanes // 2
    bench = await Bench(dut, lanes, 9, delays=delays).begin()
    await bench.slots_later(6 * INTERVAL)
    bench.end()
    assert set(map(tuple, bench.beats)) == {(model.LOCAL_FAULT_BLOCK,) * bench.blocks}
    assert all(bench.lane(n, "marker_lock") for n in range(lanes))


@story
async def two_lanes_of_the_same_number_are_never_aligned(dut, lanes):
    if lanes == 1:
        return
    bench = await Bench(dut, lanes, 10, crossed=[0, *range(lanes - 1)]).begin()
    await bench.slots_later(5 * INTERVAL)
    bench.end()
    assert set(map(tuple, bench.beats)) == {(model.LOCAL_FAULT_BLOCK,) * bench.blocks}
    assert [bench.lane(n, "number") for n in range(lanes)] == [0, *range(lanes - 1)]
