"""A pod's engine and bus models in Python do the same: every file has the same bytes."""

import pickle

import pytest

from support.sim.pod_fixtures import POD, both_ways
from ualink_sim.pod.job import Job
from ualink_sim.pod.run import pod_model
from ualink_sim.pod.scenario import parse_scenario
from ualink_sim.pod.workload import build_requests
from ualink_sim.simulator import SimulatorError

pytestmark = POD

HEAD = "[pod]\naccelerators = 4\n"
MIXED = """
[[workload]]
kind = "uniform"
transactions = 300
outstanding = 40
sizes = [4, 36, 64, 100, 128, 252, 256]
footprint = 4096
mix = { read = 0.3, write = 0.2, write_full = 0.2, atomic = 0.2, atomic_nr = 0.1 }
"""
CROWD = """
[[workload]]
kind = "hotspot"
target = 2
transactions = 150
sizes = [64, 256]
[[workload]]
kind = "allreduce"
bytes = 4096
"""


@pytest.mark.parametrize(
    "text",
    [
        "[link]\nlatency_cycles = 7\nbit_error_rate = 1e-5\ndrop_rate = 0.002\nburst = 3\nseed = 5\n" + MIXED,
        "[tl]\nauthentication = true\n" + CROWD,
        "[run]\nmax_cycles = 2222\n" + MIXED,
    ],
    ids=["bad wires", "authentication", "not to the end"],
)
def test_both_ways_give_the_same_bytes(tmp_path, text):
    by_engine, by_models = both_ways(tmp_path, HEAD + text)
    assert sorted(by_engine) == ["capture.pcapng", "memory.json", "responses.jsonl", "summary.json"]
    for name, content in by_engine.items():
        assert content == by_models[name], name
    summary = by_engine["summary.json"]
    assert summary["ended"] == ("max_cycles" if "max_cycles" in text else "complete")
    assert not summary["mismatches"] and sum(link["flits"] for link in summary["links"]) > 1000
    assert ("bit_error_rate" in text) == any(link["crc_errors"] for link in summary["links"])


def test_links_that_never_come_up_are_named_the_same_way(tmp_path):
    by_engine, by_models = both_ways(tmp_path, HEAD + "[link]\nlatency_cycles = 20\nbit_error_rate = 0.01\n" + MIXED)
    assert by_engine == by_models
    summary = by_engine["summary.json"]
    assert summary["ended"] == "links_down" and "bit_error_rate 0.01" in summary["faults"][0]


@pytest.mark.parametrize(
    "rule, told",
    [
        ("status", r"(rd|wr)_rsp: status: Status is none that the command has"),
        ("vld_parity", "rd_rsp: vld_parity: VldParity differs from Vld"),
    ],
    ids=["with traffic", "before links are up"],
)
def test_a_broken_rule_ends_the_simulation(tmp_path, rule, told):
    scenario = parse_scenario(HEAD + MIXED, "pod.toml")
    file = tmp_path / "job"
    file.write_bytes(pickle.dumps(Job(scenario, build_requests(scenario), None)))
    files = {"UALINK_JOB": str(file), "UALINK_ENGINE": str(tmp_path / "engine"), "BROKEN": rule}
    with pytest.raises(SimulatorError, match=told):
        pod_model(scenario).run("support.sim.failing_engine_bench", environment=files)
    assert not file.with_suffix(".results").exists()
