"""The files of a simulation: their exact form, and that nothing half-written is left."""

import json
import os

import pytest

from ualink_sim.report.results import Bucket, LinkResult, Results, Transaction, write_atomically, write_results
from ualink_sim.report.windows import WHOLE_RUN, Window


def record(line, op="read", **changes):
    values = {
        "line": line,
        "src": 0,
        "dst": 1,
        "op": op,
        "addr": 0x1000,
        "len": 4,
        "status": "OKAY",
        "data": b"\1\2\3\4" if op in ("read", "atomic") else None,
        "issued": 10,
        "completed": 10 + line,
    }
    return Transaction(**{**values, **changes})


def test_the_three_files(results, tmp_path):
    write_results(results, tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert list(summary) == [
        "fidelity",
        "transactions",
        "mismatches",
        "incomplete",
        "withdrawn",
        "faults",
        "ended",
        "cycles",
        "skipped_cycles",
        "clock_mhz",
        "seconds",
        "run",
        "steady_state",
        "links",
        "accelerators",
        "pairs",
        "workloads",
        "vpods",
        "vpod_changes",
        "latency_cycles",
        "config",
    ]
    assert list(summary["links"][0]) == [
        "name",
        "tl_efficiency",
        "dl_utilisation",
        "flits",
        "payload_flits",
        "replays",
        "crc_errors",
        "lost_flits",
        "control_slots",
        "fault_slots",
        "markers",
        "inserted_blocks",
        "deleted_blocks",
        "link_downs",
        "fault",
        "run",
        "steady_state",
    ]
    for span in ("run", "steady_state"):
        assert list(summary["links"][0][span]) == [
            *("data_bytes", "gbps", "tl_efficiency", "dl_utilisation", "wire_efficiency"),
        ]
    assert {kind: list(values) for kind, values in summary["latency_cycles"].items()} == {
        kind: ["p50", "p90", "p99", "p99.9", "max"] for kind in ("read", "write", "atomic")
    }
    assert summary["config"]["pod"]["accelerators"] == 4
    lines = [json.loads(line) for line in (tmp_path / "out" / "responses.jsonl").read_text().splitlines()]
    assert [row["line"] for row in lines] == list(range(1, 2401))
    assert all(("data" in row) == (row["op"] in ("read", "atomic")) for row in lines)
    memory = json.loads((tmp_path / "out" / "memory.json").read_text())
    assert list(memory) == ["0", "1", "2", "3"]
    assert list(memory["0"]) == ["0x40", "0x1000"]
    assert memory["0"]["0x1000"] == bytes(range(64)).hex()
    assert sorted(os.listdir(tmp_path / "out")) == ["memory.json", "responses.jsonl", "summary.json"]


def test_response_lines_follow_the_contract(results):
    rows = list(Results.responses(_with(results, [record(2, "write"), record(1)])))
    assert rows == [
        {
            "line": 1,
            "src": 0,
            "dst": 1,
            "op": "read",
            "addr": "0x1000",
            "len": 4,
            "workload": 0,
            "status": "OKAY",
            "data": "01020304",
            "issued": 10,
            "completed": 11,
        },
        {
            "line": 2,
            "src": 0,
            "dst": 1,
            "op": "write",
            "addr": "0x1000",
            "len": 4,
            "workload": 0,
            "status": "OKAY",
            "issued": 10,
            "completed": 12,
        },
    ]


def _with(results, transactions):
    results.transactions = transactions
    return results


def test_percentiles_are_nearest_ranks(results):
    summary = _with(results, [record(n) for n in range(1, 2001)]).summary()
    told = summary["latency_cycles"]
    assert told["read"] == {"p50": 1000, "p90": 1800, "p99": 1980, "p99.9": 1998, "max": 2000}
    assert set(told["write"].values()) == {None}


def test_operations_of_one_kind_are_counted_together(results):
    ops = ["write", "write_full", "atomic", "atomic_nr", "read"]
    summary = _with(results, [record(n, op) for n, op in enumerate(ops, 1)]).summary()["latency_cycles"]
    assert (summary["write"]["max"], summary["atomic"]["max"], summary["read"]["max"]) == (2, 4, 5)


@pytest.mark.parametrize(
    ("change", "counts"),
    [({}, (0, 0)), ({"mismatch": "byte 0"}, (1, 0)), ({"completed": None, "status": ""}, (0, 1))],
)
def test_verdict(results, change, counts):
    _with(results, [record(1), record(2, **change)])
    assert (results.mismatches, results.incomplete) == counts
    assert results.passed == (counts == (0, 0))


def test_efficiencies_are_those_of_the_standard():
    """Table 5-18: 20 of 21 TL flits are data; 157 of 160 sectors are TL flits. A port of four has a quarter."""
    run = Window(start=1000, end=1000 + 3360, basis=WHOLE_RUN)
    for ports in (1, 4):
        bucket = Bucket(start=1000, cycles=3360, tl_flits=3297 // ports, data_bytes=64 * 3140 // ports)
        told = LinkResult(name="full", ports=ports, buckets=[Bucket(start=0, cycles=1000), bucket]).rates(run, 1562.5)
        assert told["dl_utilisation"] == pytest.approx(157 / 160, rel=1e-3)
        assert told["tl_efficiency"] == pytest.approx(20 / 21, rel=1e-3)
        assert told["wire_efficiency"] == pytest.approx(20 / 21 * 157 / 160, rel=1e-3)
        assert told["gbps"] == pytest.approx(800 / ports * told["wire_efficiency"], rel=1e-3)
    assert LinkResult(name="idle").rates(run, 1562.5)["tl_efficiency"] == 0


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "summary.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["summary.json"]
