"""The files of a simulation: their exact form, and that nothing half-written is left."""

import json
import os

import pytest

from ualink_sim.results import LinkResult, Results, Transaction, write_atomically, write_results


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
        "transactions",
        "mismatches",
        "incomplete",
        "cycles",
        "clock_mhz",
        "seconds",
        "links",
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
    ]
    assert {kind: list(values) for kind, values in summary["latency_cycles"].items()} == {
        kind: ["p50", "p99", "max"] for kind in ("read", "write", "atomic")
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
            "status": "OKAY",
            "data": "01020304",
            "issued": 10,
            "completed": 11,
        },
        {"line": 2, "src": 0, "dst": 1, "op": "write", "status": "OKAY", "issued": 10, "completed": 12},
    ]


def _with(results, transactions):
    results.transactions = transactions
    return results


def test_percentiles_are_nearest_ranks(results):
    summary = _with(results, [record(n) for n in range(1, 201)]).summary()
    assert summary["latency_cycles"]["read"] == {"p50": 100, "p99": 198, "max": 200}
    assert summary["latency_cycles"]["write"] == {"p50": None, "p99": None, "max": None}


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


def test_efficiencies_are_those_of_the_standard(results):
    full = LinkResult(name="acc0.0>sw0.0")
    full.buckets = [results.links[0].buckets[0].__class__(start=0, cycles=160, slots=16)]
    full.buckets[0].tl_flits, full.buckets[0].data_bytes = 157, 1280 * 157 // 21
    assert full.dl_utilisation == 0.98125
    assert LinkResult(name="idle").summary()["tl_efficiency"] == 0


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "summary.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["summary.json"]
