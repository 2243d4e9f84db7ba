"""Cables are cut and mended in the cycles that a scenario says."""

from ualink_sim.pod.cable_cuts import CableCuts
from ualink_sim.pod.scenario import Cut
from ualink_sim.pod.wire import Wire


def test_cuts_begin_and_end_in_their_cycles():
    wires = {name: Wire() for name in "abc"}
    cuts = CableCuts(
        [
            Cut(directions=("a", "b"), at=10, cycles=5),
            Cut(directions=("a",), at=12, cycles=10),
            Cut(directions=("b",), at=15, cycles=1),
        ],
        wires,
    )
    seen = []
    for cycle in range(1, 30):
        following = cuts.next_change
        cuts.tick(cycle)
        seen.append("".join(name for name in "abc" if wires[name].cut))
        assert cuts.in_force == bool(seen[-1])
        assert following is None or following >= cycle
    # In cycle 15 one cut of b ends and another begins.
    assert seen == [""] * 9 + ["ab"] * 6 + ["a"] * 6 + [""] * 8
    assert cuts.next_change is None
