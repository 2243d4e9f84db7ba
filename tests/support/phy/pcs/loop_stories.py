"""Stories of ``test_loop``: what is sent and received, over good lanes and damaged ones."""

from collections import Counter

from support.phy.pcs.loop_bench import IDLE, INTERVAL, MARKER_BLOCKS, REMOTE_FAULT, SLOT, Bench, setting, story
from ualink_sim.model.phy import pcs as model


@story
async def sends_what_the_model_sends(dut, lanes):
    bench = await Bench(dut, lanes, 1).begin()
    await bench.slots_later(4 * INTERVAL)
    bench.end()
    assert bench.read("underflow") == 0
    for n, bits in enumerate(model.transmit(bench.sent, lanes, MARKER_BLOCKS)):
        sent = "".join(map(str, bench.in_bits(bench.wires[n].taken)))
        whole = "".join(map(str, bits))
        at = sent.find(whole[: 66 * 10])
        assert at >= 0, f"lane {n}"
        assert len(sent) - at > 3 * INTERVAL * SLOT * 66 // lanes
        assert whole.startswith(sent[at:]) or sent[at:].startswith(whole), f"lane {n}"


@story
async def receives_over_crossed_and_late_lanes(dut, lanes):
    chosen = setting(lanes, 2)
    bench = await Bench(dut, lanes, 2, **chosen).begin()
    await bench.until_aligned()
    assert set(map(tuple, bench.beats)) == {(model.LOCAL_FAULT_BLOCK,) * bench.blocks}
    await bench.slots_later(4 * INTERVAL)
    bench.end()
    (stretch,) = bench.stretches()
    assert len(stretch) > 3 * INTERVAL * SLOT
    bench.place(stretch)
    assert stretch[:MARKER_BLOCKS] == [model.ALIGNMENT_BLOCK] * MARKER_BLOCKS
    # The rest of the marker's slot is as the partner sent it.
    assert Counter(stretch).keys() >= {IDLE, REMOTE_FAULT}
    waited = [bench.lane(n, "skew") for n in range(lanes)]
    for n in range(lanes):
        status = {
            name: bench.lane(n, name) for name in ("ready", "block_lock", "marker_lock", "overflow", "bad_headers")
        }
        assert status == {"ready": 1, "block_lock": 1, "marker_lock": 1, "overflow": 0, "bad_headers": 0}
        assert bench.lane(n, "number") == chosen["crossed"][n]
        late = (chosen["delays"][n] - chosen["delays"][0]) / 66
        # Told to a share of a beat, and as seen by two clocks.
        assert abs(waited[0] - waited[n] - late) <= 2 * 8 // lanes, (waited, chosen)


@story
async def follows_damage_as_the_model_does(dut, lanes):
    """Bits flipped at random, headers and markers too: what comes out is what the model makes of the same bits."""
    bench = await Bench(dut, lanes, 3, **setting(lanes, 3)).begin()
    await bench.until_aligned()
    for wire in bench.wires:
        first = wire.into
        wire.flips = {first + n for n in range(40_000) if bench.rng.random() < 1 / 700}
    await bench.slots_later(5 * INTERVAL)
    bench.end()
    (stretch,) = bench.stretches()
    expected = model.receive([bench.in_bits(wire.given) for wire in bench.wires], MARKER_BLOCKS, INTERVAL)
    assert sum(wire.into > min(wire.flips) for wire in bench.wires) == lanes
    starts = [n for n in range(0, len(expected), 8) if expected[n : n + 8] == [model.ALIGNMENT_BLOCK] * 8]
    assert any(
        expected[at : at + len(stretch)][MARKER_BLOCKS + 1 :] == stretch[MARKER_BLOCKS + 1 : len(expected) - at]
        for at in starts
        if at + len(stretch) > len(expected) - SLOT * INTERVAL
    )
    assert any(block & 3 in (0, 3) for block in stretch)
    marks = [n for n in range(len(stretch)) if stretch[n : n + 8] == [model.ALIGNMENT_BLOCK] * 8]
    assert {n % (SLOT * INTERVAL) for n in marks} == set(range(MARKER_BLOCKS - 7))
