"""Pods whose links are those of reconciliation sublayers: the same results, over blocks, markers, faults and clocks."""

from collections import defaultdict
from itertools import pairwise

import pytest

from support.sim.pod_fixtures import POD, PodRun
from ualink_sim.capture.pcapng import read_capture
from ualink_sim.pod.predict import predict
from ualink_sim.pod.run import simulate
from ualink_sim.pod.scenario import load_scenario
from ualink_sim.pod.trace import load_trace

pytestmark = POD

PERIOD_PS = 640
FLIT_CYCLES, IDLE_INTERVAL, MARKER_INTERVAL = 10, 16, 64
BLOCKS_PER_FLIT = 8 * FLIT_CYCLES


def without_times(run):
    """The responses without when they were issued and came."""
    return [{key: value for key, value in row.items() if key not in ("issued", "completed")} for row in run.responses]


def links(run):
    return {link["name"]: link for link in run.summary["links"]}


@pytest.mark.req("PHY-009", "PHY-014", "PHY-020", "PHY-108")
def test_lost_and_damaged_flits_leave_the_same_results(matched_run):
    """As without reconciliation sublayers: those that a byte-accurate model predicts (so in ``test_run``)."""
    assert matched_run.results.passed
    outcomes, memory = predict(load_trace(matched_run.trace, 2), 2)
    assert [(row["status"], row.get("data")) for row in matched_run.responses] == [
        (outcome.status, None if outcome.data is None else outcome.data.hex()) for outcome in outcomes
    ]
    assert matched_run.memory == {
        str(n): {hex(address): line.hex() for address, line in sorted(lines.items())} for n, lines in memory.items()
    }
    for what, least in (("lost_flits", 5), ("crc_errors", 5), ("replays", 4)):
        assert sum(link[what] for link in links(matched_run).values()) > least, what


@pytest.mark.req("PHY-047", "PHY-048", "PHY-109")
def test_idles_come_and_go_at_the_receivers_with_the_other_clock(matched_run):
    """Of the switch, whose clock is slower, blocks are deleted; in what accelerators receive they are inserted."""
    for name, link in links(matched_run).items():
        many, few = ("deleted_blocks", "inserted_blocks")[:: 1 if name.startswith("acc") else -1]
        blocks = BLOCKS_PER_FLIT * (link["flits"] + link["control_slots"])
        assert abs(link[many] - blocks * 0.005) < 20 and link[few] < 20, (name, link)


@pytest.mark.req("PHY-018", "PHY-031")
def test_markers_go_by_the_count_of_slots_whatever_is_in_them(rs_run, matched_run):
    for run in (rs_run, matched_run):
        for link in links(run).values():
            slots = link["flits"] + link["control_slots"]
            assert slots > 3 * MARKER_INTERVAL
            assert link["markers"] in (slots // MARKER_INTERVAL, slots // MARKER_INTERVAL + 1)


@pytest.mark.req("PHY-025", "PHY-069")
def test_dl_flits_follow_each_other_but_for_one_control_flit_in_sixteen(rs_run):
    """From the time that the links are up; so a sixteenth of the wire is what the reconciliation sublayers cost."""
    first = defaultdict(list)
    for packet in read_capture(rs_run.folder / "capture.pcapng"):
        cycle = packet.time_ps // PERIOD_PS
        if packet.interface.endswith("/tx") and cycle > rs_run.results.links_up:
            first[packet.interface].append(cycle)
    assert len(first) == 4
    for cycles in first.values():
        gaps = [(before + FLIT_CYCLES, after - before) for before, after in pairwise(cycles)]
        assert {length for _, length in gaps} == {FLIT_CYCLES, 2 * FLIT_CYCLES}
        control = [cycle for cycle, length in gaps if length > FLIT_CYCLES]
        assert len(control) > 10
        assert {after - before for before, after in pairwise(control)} == {IDLE_INTERVAL * FLIT_CYCLES}


@pytest.fixture(scope="module")
def cut_runs(root, tmp_path_factory):
    """One direction of a cable is cut between writes and reads: with reconciliation sublayers, in a pod of the two that
    talk, and without them as it stands there."""
    runs = []
    for more in (["pod.accelerators=2"], ["phy.reconciliation=false"]):
        folder = tmp_path_factory.mktemp("cut")
        scenario = load_scenario(root / "examples" / "cable_cut.toml", more)
        runs.append(PodRun(simulate(scenario, folder, progress=False), folder))
    return runs


@pytest.mark.req("PHY-016", "PHY-038", "PHY-039", "PHY-040")
def test_a_cut_takes_both_data_links_down_and_they_come_up_again(cut_runs):
    for run in cut_runs:
        assert run.results.passed, run.results.faults
        (cut,) = run.results.scenario.cuts
        writes, reads = run.responses[:2], run.responses[2:]
        assert [row["data"] for row in reads] == ["01" * 64, "02" * 64]
        assert max(row["completed"] for row in writes) < cut.at < cut.at + cut.cycles < min(r["issued"] for r in reads)
        downs = {name: link["link_downs"] for name, link in links(run).items()}
        assert downs == {name: int("acc0" in name) for name in downs}
        # Control flits between DL flits are no restart of their numbers, and those of a link that is down are.
        assert not any(link.total("replayed") for link in run.results.links)
    assert without_times(cut_runs[0]) == without_times(cut_runs[1])
    of_two, of_four = (run.memory for run in cut_runs)
    assert of_four == {**of_two, "2": {}, "3": {}}


@pytest.mark.req("PHY-038", "PHY-039", "PHY-041")
def test_the_receiver_of_the_cut_direction_reports_a_remote_fault_until_it_has_a_marker(cut_runs):
    for run, slots in zip(cut_runs, (10 + MARKER_INTERVAL, 10)):
        told = links(run)
        hears, speaks = told.pop("sw0.0>acc0.0"), told.pop("acc0.0>sw0.0")
        # While links come up, each end reports a fault until it has heard of the other.
        (usual,) = {link["fault_slots"] for link in told.values()}
        assert speaks["fault_slots"] == usual
        assert 10 <= hears["fault_slots"] - usual <= slots + 2
        assert 0 < speaks["lost_flits"] <= 11 and hears["lost_flits"] == 0
