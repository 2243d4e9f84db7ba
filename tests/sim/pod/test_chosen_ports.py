"""Pods of chosen ports: one model is a pod of x4, of 2 x x2 and of 4 x x1 links, as its firmware chooses; and one that
is built for four ports."""

import random

import pytest

from support.sim.pod_fixtures import random_trace, run_scenario
from ualink_sim.pod.predict import predict
from ualink_sim.pod.trace import load_trace

pytestmark = pytest.mark.xdist_group("chosen-pod")

SCENARIO = """
[pod]
accelerators = 2
choosable_ports = {}
preset = "compact"
bifurcation = "{}"
[link]
bit_error_rate = 1e-6
drop_rate = 0.01
burst = 2
[[workload]]
kind = "trace"
trace = "trace.jsonl"
"""
LINKS = {
    "x4": {"acc0.0": "sw0.0", "acc1.0": "sw1.0"},
    "2x2": {"acc0.0": "sw0.0", "acc1.0": "sw0.1", "acc0.1": "sw2.0", "acc1.1": "sw2.1"},
    "4x1": {f"acc{acc}.{port}": f"sw{port}.{acc}" for acc in range(2) for port in range(4)},
}
"""Of a pod of two, whose switch has four stations."""
LINKS["built"] = LINKS["4x1"]
PORTS = {"x4": 1, "2x2": 2, "4x1": 4, "built": 4}
CYCLES_PER_FLIT = 10
"""Of a station whose only port has all cycles."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same random requests over links that lose and damage flits, in each mode."""
    rows = random_trace(random.Random(12), 250, accelerators=2)
    return {mode: run_scenario(tmp_path_factory.mktemp(mode), scenario(mode), rows) for mode in PORTS}


def scenario(mode: str) -> str:
    return SCENARIO.format("false", "4x1") if mode == "built" else SCENARIO.format("true", mode)


@pytest.mark.req("PHY-008", "PHY-009", "SW-024")
@pytest.mark.parametrize("mode", PORTS)
def test_every_request_does_what_a_byte_accurate_model_predicts(runs, mode):
    """As in a pod that is built for one port (so in ``test_run``)."""
    run = runs[mode]
    assert run.results.passed and len(run.responses) == 250
    outcomes, memory = predict(load_trace(run.trace, 2), 2)
    assert [(row["status"], row.get("data")) for row in run.responses] == [
        (outcome.status, None if outcome.data is None else outcome.data.hex()) for outcome in outcomes
    ]
    assert run.memory == {
        str(n): {hex(address): line.hex() for address, line in sorted(lines.items())} for n, lines in memory.items()
    }
    assert sum(link["replays"] for link in run.summary["links"]) > 0


@pytest.mark.req("PHY-008", "SW-024")
@pytest.mark.parametrize("mode", PORTS)
def test_links_are_those_of_the_mode(runs, mode):
    """Each is as wide: a flit takes ten cycles of its port. All carry data, and nothing else of the switch does."""
    results, ports = runs[mode].results, PORTS[mode]
    ends = [f"{a}>{b}" for acc, switch in LINKS[mode].items() for a, b in ((acc, switch), (switch, acc))]
    assert sorted(link.name for link in results.links) == sorted(ends)
    simulated = results.cycles - results.skipped_cycles
    for link in results.links:
        slots = link.total("flits") + link.control_slots
        # They begin when both stations have chosen, which is before any link is up.
        assert simulated - results.links_up < slots * CYCLES_PER_FLIT * ports <= simulated
        assert link.ports == ports and link.total("data_bytes") > 0


def test_all_modes_move_the_same_bytes(runs):
    """Of each accelerator, over all of its links, as often as they are."""
    moved = []
    for run in runs.values():
        bytes_of = dict.fromkeys(("acc0>", "acc1>", ">acc0", ">acc1"), 0)
        for link in run.results.links:
            sender, receiver = (end.split(".")[0] for end in link.name.split(">"))
            bytes_of[f"{sender}>" if sender.startswith("acc") else f">{receiver}"] += link.total("data_bytes")
        moved.append(bytes_of)
    assert all(one == moved[0] for one in moved) and all(moved[0].values())
    compared = [[(row["line"], row["status"], row.get("data")) for row in run.responses] for run in runs.values()]
    assert all(one == compared[0] for one in compared)


def test_a_run_that_ends_before_ports_are_chosen_says_so(tmp_path):
    text = scenario("x4") + "[run]\nmax_cycles = 60\n"
    rows = random_trace(random.Random(12), 2, accelerators=2)
    run = run_scenario(tmp_path, text, rows)
    assert (run.results.ended, run.results.incomplete) == ("max_cycles", 2)
    assert run.results.faults[0].endswith("firmware has not chosen the ports of its stations")
