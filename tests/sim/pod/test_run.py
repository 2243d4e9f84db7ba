"""Whole pods on RTL: accelerators, links with errors, the switch. Every byte is compared with a reference memory."""

import json
import re

import pytest

from support.sim.pod_fixtures import POD, run_scenario
from ualink_sim.pod.predict import predict
from ualink_sim.pod.run import simulate
from ualink_sim.pod.scenario import load_scenario
from ualink_sim.pod.trace import load_trace

pytestmark = POD

HEAD = """
[pod]
accelerators = 4
[link]
latency_cycles = {latency}
bit_error_rate = {ber}
drop_rate = {drop}
burst = {burst}
seed = {seed}
"""
TRACE = '[[workload]]\nkind = "trace"\ntrace = "trace.jsonl"\n'
MIXED = """
[[workload]]
kind = "uniform"
transactions = {count}
outstanding = 48
mix = {{ read = 0.4, write = 0.2, write_full = 0.2, atomic = 0.1, atomic_nr = 0.1 }}
sizes = [4, 8, 20, 64, 100, 128, 192, 256]
seed = {seed}
"""


def head(latency=40, ber=0.0, drop=0.0, burst=1, seed=1):
    return HEAD.format(latency=latency, ber=ber, drop=drop, burst=burst, seed=seed)


@pytest.mark.req(
    *("UPLI-040", "UPLI-041", "UPLI-042", "UPLI-057", "UPLI-058", "UPLI-059", "UPLI-069", "UPLI-078", "UPLI-079"),
    *("SW-003", "SW-007", "SW-008", "SW-009", "SW-012", "SW-019", "SW-026", "SW-027"),
    *("DL-001", "DL-119", "DL-124", "DL-125", "DL-126", "TL-001"),
)
def test_every_byte_matches_over_noisy_links(pod_run):
    summary = pod_run.summary
    assert (summary["transactions"], summary["mismatches"], summary["incomplete"]) == (300, 0, 0)
    assert sum(link["crc_errors"] for link in summary["links"]) > 0
    assert sum(link["replays"] for link in summary["links"]) > 0
    assert {link["name"] for link in summary["links"]} == {
        name for n in range(4) for name in (f"acc{n}.0>sw{n}.0", f"sw{n}.0>acc{n}.0")
    }
    for name in ("capture.pcapng", "report.html", "memory.json", "responses.jsonl"):
        assert (pod_run.folder / name).stat().st_size > 0
    responses = pod_run.responses
    assert [row["line"] for row in responses] == list(range(1, 301))
    assert all(row["status"] == "OKAY" and row["issued"] < row["completed"] for row in responses)
    for row, transaction in zip(responses, pod_run.results.transactions):
        assert ("data" in row) == (row["op"] in ("read", "atomic"))
        assert len(row.get("data", "")) in (0, 2 * transaction.len)


@pytest.mark.parametrize("threads", [1, 3])
def test_second_run_of_the_same_seed_is_the_same(pod_run, tmp_path, threads):
    """However many threads simulate it."""
    text = (pod_run.folder.parent / "scenario.toml").read_text()
    again = run_scenario(tmp_path, text, threads=threads)
    assert again.responses == pod_run.responses and again.memory == pod_run.memory
    assert (again.folder / "capture.pcapng").read_bytes() == (pod_run.folder / "capture.pcapng").read_bytes()


@pytest.mark.req("DL-119", "DL-123", "DL-156", "SW-026", "SW-028", "UPLI-041")
@pytest.mark.parametrize(
    ("ber", "drop", "burst", "latency"),
    [(1e-4, 0.0, 1, 40), (0.0, 0.03, 3, 7), (1e-5, 0.02, 1, 150)],
    ids=["bit errors 1e-4", "bursts of three flits", "lost flits on a long link"],
)
def test_no_tl_flit_is_lost_doubled_or_reordered(tmp_path, ber, drop, burst, latency):
    run = run_scenario(tmp_path, head(latency, ber, drop, burst) + MIXED.format(count=80, seed=3))
    assert run.results.passed, [t for t in run.results.transactions if t.mismatch or t.completed is None][:3]
    totals = {key: sum(link[key] for link in run.summary["links"]) for key in ("crc_errors", "lost_flits", "replays")}
    assert totals["replays"] > 0
    assert totals["crc_errors"] > 0 or not ber
    assert totals["lost_flits"] > 0 or not drop


@pytest.mark.req("UPLI-195", "UPLI-198", "SW-010", "SW-064", "SW-065")
def test_a_random_trace_leaves_the_memory_that_a_byte_accurate_model_predicts(trace_run):
    assert trace_run.results.passed
    outcomes, memory = predict(load_trace(trace_run.trace, 4), 4)
    for row, outcome in zip(trace_run.responses, outcomes):
        assert row["status"] == outcome.status, row
        assert row.get("data") == (None if outcome.data is None else outcome.data.hex()), row
    assert trace_run.memory == {
        str(n): {hex(address): line.hex() for address, line in sorted(lines.items())} for n, lines in memory.items()
    }


@pytest.mark.req("UPLI-012", "SW-058", "SW-060", "SW-096")
def test_virtual_pods_cannot_reach_each_other(tmp_path):
    rows = [
        {"src": 0, "dst": 1, "op": "write_full", "addr": "0x0", "len": 64, "data": "11" * 64},
        {"src": 0, "dst": 2, "op": "write_full", "addr": "0x0", "len": 64, "data": "22" * 64},
        {"src": 3, "dst": 2, "op": "read", "addr": "0x0", "len": 64},
        {"src": 0, "dst": 1, "op": "read", "addr": "0x0", "len": 64},
        {"src": 1, "dst": 3, "op": "read", "addr": "0x0", "len": 4},
    ]
    text = (
        head(latency=4) + "[run]\nmax_cycles = 4000\n[[vpod]]\nmembers = [0, 1]\n[[vpod]]\nmembers = [2, 3]\n" + TRACE
    )
    run = run_scenario(tmp_path, text, rows)
    assert [t.line for t in run.results.transactions if t.completed is None] == [2, 5]
    assert not run.results.passed and run.results.mismatches == 0
    assert run.responses[2]["data"] == "00" * 64, "what was denied must not have been written"
    assert run.responses[3]["data"] == "11" * 64


@pytest.fixture(scope="module")
def dead_run(tmp_path_factory):
    """A pod whose wires damage every flit: no link comes up."""
    rows = [{"src": 0, "dst": 1, "op": "read", "addr": "0x0", "len": 64}] * 20
    return run_scenario(tmp_path_factory.mktemp("dead"), head(latency=20, ber=0.01) + TRACE, rows)


def test_a_link_that_never_comes_up_is_named_with_its_cause(dead_run):
    summary = dead_run.summary
    assert not dead_run.results.passed and (summary["ended"], summary["incomplete"]) == ("links_down", 20)
    assert summary["steady_state"] is None
    assert len(summary["faults"]) == 8
    for link, told in zip(summary["links"], summary["faults"]):
        assert told == f"{link['name']} {link['fault']}"
        assert re.search(
            r"never came up in [\d,]+ cycles: [\d,]+ of [\d,]+ flits had bit errors \(bit_error_rate 0.01\)", told
        )
    assert summary["cycles"] < 10_000, "requests that cannot leave are not waited for"


def test_no_more_flits_are_bad_or_lost_than_there_are(dead_run, pod_run):
    for summary in (dead_run.summary, pod_run.summary):
        for link in summary["links"]:
            assert link["crc_errors"] + link["lost_flits"] <= link["flits"]
    assert all(link["crc_errors"] > 0.9 * link["flits"] > 0 for link in dead_run.summary["links"])


def test_throughput_adds_up(pod_run):
    """By pair, workload and virtual pod as much as in all; links carry the beats of it."""
    summary, transactions = pod_run.summary, pod_run.results.transactions
    total = sum(t.len for t in transactions)
    assert summary["run"]["bytes"] == total
    for part in ("pairs", "workloads", "vpods"):
        assert sum(row["run"]["bytes"] for row in summary[part]) == total
        assert sum(row["run"]["gbps"] for row in summary[part]) == pytest.approx(summary["run"]["gbps"], abs=0.01)
    steady = sum(row["steady_state"]["bytes"] for row in summary["pairs"])
    assert steady == summary["steady_state"]["bytes"]
    assert summary["run"]["from"] > 1000, "the time to bring links up is no part of the run"
    for row, transaction in zip(pod_run.responses, transactions):
        assert (int(row["addr"], 16), row["len"], row["workload"]) == (transaction.addr, transaction.len, 0)


def test_examples_run(tmp_path, root):
    """What the README shows is what happens."""
    for name in ("quickstart", "handwritten"):
        scenario = load_scenario(root / "examples" / f"{name}.toml")
        results = simulate(scenario, tmp_path / name, progress=False)
        assert results.passed, name
    summary = json.loads((tmp_path / "quickstart" / "summary.json").read_text())
    assert summary["transactions"] >= 2000
    assert sum(link["replays"] for link in summary["links"]) >= 1


def test_a_ring_leaves_the_sums_everywhere_while_others_crowd_one(tmp_path):
    """``memory.json`` of an allreduce beside a hot spot far from its buffers; nobody writes the chunk that a member has
    summed itself."""
    size, base = 8192, 1 << 20
    ring = f'[[workload]]\nkind = "allreduce"\nbytes = {size}\nbase = {base}\n'
    crowd = '[[workload]]\nkind = "hotspot"\ntarget = 1\nshare = 0.8\ntransactions = 100\nsizes = [256]\n'
    run = run_scenario(tmp_path, head() + ring + crowd)
    assert run.results.passed
    buffers = [
        {int(at, 0) - base: line for at, line in lines.items() if base <= int(at, 0) < base + size}
        for _, lines in sorted(run.memory.items(), key=lambda item: int(item[0]))
    ]
    for at in range(0, size, 64):
        holders = [member for member in range(4) if at in buffers[member]]
        assert [member for member in range(4) if member not in holders] == [(at // (size // 4) - 1) % 4]
        assert len({buffers[member][at] for member in holders}) == 1
    added, crowded = run.summary["workloads"]
    (operation,) = added["collectives"]
    assert (operation["members"], operation["bytes"], crowded["collectives"]) == (4, size, [])
    # 64 bytes a cycle are what a link carries at most.
    assert 0 < operation["busbw"] < 64 * 1.5625
    to_target = sum(row["dst"] == 1 for row in run.responses if row["workload"] == 1)
    assert 65 < to_target < 95
