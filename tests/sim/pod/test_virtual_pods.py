"""Virtual pods of a pod on RTL that are torn down, made and given other members while another runs at full load."""

from collections import Counter
from itertools import pairwise

import pytest

from support.sim.pod_fixtures import POD, run_scenario
from ualink_sim.pod.run import simulate
from ualink_sim.pod.scenario import load_scenario

pytestmark = POD

MOST_CYCLES = 7000
LOAD = """
[[workload]]
kind = "neighbour"
vpod = "{vpod}"
transactions = {count}
sizes = [256]
mix = {{ read = 0.5, write_full = 0.5 }}
outstanding = 128
base = {base}
seed = {seed}
"""
SCENARIO = f"""
[pod]
accelerators = 4
[run]
max_cycles = {MOST_CYCLES}
[[vpod]]
name = "a"
members = [0, 1]
[[vpod]]
name = "b"
members = [2, 3]
{LOAD.format(vpod="a", count=2400, base=0, seed=1)}
{LOAD.format(vpod="b", count=4000, base=0, seed=2)}
[[workload]]
kind = "trace"
trace = "trace.jsonl"
"""
CHANGES = """
[[vpod_change]]
at = 2100
action = "tear_down"
vpod = "b"
[[vpod_change]]
at = 2900
action = "create"
vpod = "b"
members = [3, 2]
[[vpod_change]]
at = 3700
action = "resize"
vpod = "b"
members = [2]
[[vpod_change]]
at = 4500
action = "resize"
vpod = "b"
members = [2, 3]
[[vpod_change]]
at = 5500
action = "tear_down"
vpod = "b"
drain = false
"""
STRANGERS = [
    {
        "src": src,
        "dst": dst,
        "op": "write_full",
        "addr": "0x1000000",
        "len": 64,
        "data": "ee" * 64,
        "at": 1500 + 125 * step,
    }
    for step in range(36)
    for src, dst in [((0, 2), (2, 0), (1, 3), (3, 1), (2, 1), (0, 3))[step % 6]]
]
"""Requests from one virtual pod to another, before, during and after every change."""


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    return run_scenario(tmp_path_factory.mktemp("changed"), SCENARIO + CHANGES, STRANGERS)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    return run_scenario(tmp_path_factory.mktemp("unchanged"), SCENARIO, STRANGERS)


def of_workload(run, number):
    return [t for t in run.results.transactions if t.workload == number]


def moved(run, start, end):
    """Bytes that completed in virtual pod a from cycle ``start`` to cycle ``end`` - 1."""
    return sum(t.len for t in of_workload(run, 0) if t.completed is not None and start <= t.completed < end)


@pytest.mark.req("SW-026", "SW-029", "SW-060", "SW-063", "SW-072", "SW-101")
def test_a_virtual_pod_at_full_load_notices_nothing_of_changes_to_another(changed, unchanged):
    """Nothing of it is lost or wrong, and from the first change to the last it moves as much as without, within 1 %."""
    events = changed.results.vpod_events
    assert [(event.action, event.members) for event in events] == [
        ("tear_down", ()),
        ("create", (3, 2)),
        ("resize", (2,)),
        ("resize", (2, 3)),
        ("tear_down", ()),
    ]
    assert all(before.done <= after.begun for before, after in pairwise(events))
    for run in (changed, unchanged):
        assert run.results.mismatches == 0
        assert all(t.completed is not None and t.status == "OKAY" for t in of_workload(run, 0))
    start, end = events[0].begun, events[-1].done
    last = max(t.issued for t in of_workload(changed, 0))
    assert end < last, "it is at full load until the last change is done"
    wanted = moved(unchanged, start, end)
    gbps = 8 * wanted * 1.5625 / (end - start)
    assert gbps > 1300, "two links of 800 Gb/s, each of which carries data both ways"
    assert abs(moved(changed, start, end) - wanted) <= 0.01 * wanted
    flows = [run.results.vpod_flows["a"] for run in (changed, unchanged)]
    assert flows[0] == flows[1]
    assert flows[0].accepted == flows[0].denied + flows[0].forwarded and flows[0].dropped == 0


@pytest.mark.req("UPLI-012", "SW-026", "SW-058", "SW-096")
def test_what_changes_by_way_of_rest_loses_nothing(changed):
    """All that the virtual pod had issued before a change was answered, and nothing was issued where it was not."""
    events = changed.results.vpod_events
    gone, back, leaves, joins, cut = events
    mine = of_workload(changed, 1)
    for t in mine:
        if t.issued is not None and t.issued < cut.begun - 1000:
            assert t.completed is not None and not t.mismatch
            for closed, opened in ((gone, back), (leaves, joins)):
                assert t.completed <= closed.done or t.issued >= opened.done
    busy = [
        sum(1 for t in mine if t.completed is not None and start <= t.issued < end)
        for start, end in ((0, gone.begun), (back.done, leaves.begun), (joins.done, cut.begun))
    ]
    assert all(count > 100 for count in busy), "it was at full load in between"
    assert sum(t.issued is None for t in mine) > 0 and changed.results.withdrawn == 0


@pytest.mark.req("UPLI-012", "SW-058", "SW-060", "SW-096")
def test_no_item_crosses_from_one_virtual_pod_to_another(changed, unchanged):
    for run in (changed, unchanged):
        strangers = of_workload(run, 2)
        assert len(strangers) == len(STRANGERS)
        assert all(t.issued is not None and t.completed is None for t in strangers)
        assert not any("0x1000000" in lines for lines in run.memory.values()), "what was denied was not written"
    # In the run without changes nothing but these is denied, each once, at the port of its source.
    sent = Counter("ab"[t.src // 2] for t in of_workload(unchanged, 2))
    flows = unchanged.results.vpod_flows
    assert {name: flows[name].denied for name in "ab"} == sent
    assert flows[None].denied == flows[None].forwarded == 0
    for name in "ab":
        assert flows[name].accepted == flows[name].denied + flows[name].forwarded


@pytest.mark.req("SW-058", "SW-099", "SW-097")
def test_who_is_cut_off_at_once_is_denied_and_counted(changed):
    cut = changed.results.vpod_events[-1]
    issued = [t for t in of_workload(changed, 1) if t.issued is not None]
    lost = [t for t in issued if t.completed is None]
    assert len(lost) > 200, "both sources go on until they may have no more outstanding"
    assert min(t.issued for t in lost) > cut.begun - 1000 and max(t.completed or 0 for t in issued) < cut.done
    flows = changed.results.vpod_flows
    denied = sum(flow.denied for flow in flows.values())
    assert sum(flow.accepted for flow in flows.values()) == denied + sum(flow.forwarded for flow in flows.values())
    # Of every one that was lost either the Request or a Response of it was denied; a read has more than one Response.
    strangers = len(STRANGERS)
    assert len(lost) <= denied - strangers <= 4 * len(lost)
    assert flows[None].denied > 0


def test_the_files_tell_of_it(changed):
    summary = changed.summary
    (a, b) = summary["vpods"]
    assert (a["name"], a["incomplete"], a["members"]) == ("a", 0, [0, 1])
    assert (b["name"], b["members"]) == ("b", [2, 3])
    assert [span["members"] for span in b["lifetime"]["spans"]] == [[2, 3], [3, 2], [2], [2, 3]]
    assert b["incomplete"] > 0 and b["flow"]["accepted"] > 1000
    assert [row["action"] for row in summary["vpod_changes"]] == [
        "tear_down",
        "create",
        "resize",
        "resize",
        "tear_down",
    ]
    page = (changed.folder / "report.html").read_text()
    assert "<h2>Virtual pods</h2>" in page and "tear_down, at once" in page


def test_the_example_runs(tmp_path, root):
    results = simulate(load_scenario(root / "examples" / "virtual_pods.toml"), tmp_path / "out", progress=False)
    assert results.passed and results.ended == "complete"
    assert len(results.vpod_events) == 4
    rows = {row["name"]: row for row in results.summary()["vpods"]}
    assert rows["b"]["withdrawn"] == results.withdrawn > 0
    assert rows["a"]["steady_state"]["gbps"] > 1400
    assert all(row["flow"]["denied"] == 0 for row in rows.values())
