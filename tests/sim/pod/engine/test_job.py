"""Which jobs an engine does."""

from dataclasses import replace

import pytest

from ualink_sim.pod.engine.job import engine_can_do
from ualink_sim.pod.job import Job
from ualink_sim.pod.scenario import parse_scenario
from ualink_sim.pod.workload import build_requests

PATTERN = '[pod]\naccelerators = 2\n{}[[workload]]\nkind = "uniform"\ntransactions = 8\n{}'


def _job(before="", behind=""):
    scenario = parse_scenario(PATTERN.format(before, behind), "pod.toml")
    return Job(scenario, build_requests(scenario), None)


@pytest.mark.parametrize(
    "before, behind",
    [
        ("", ""),
        ('bifurcation = "4x1"\n[link]\nbit_error_rate = 1e-5\ndrop_rate = 0.1\n', ""),
        ("[tl]\nauthentication = true\ncompression = false\n", ""),
        ("", "mix = { read = 0.5, atomic = 0.3, atomic_nr = 0.2 }\n"),
        ("", '[[workload]]\nkind = "allreduce"\nbytes = 1024\n'),
    ],
)
def test_named_patterns_are_done_inside(before, behind):
    assert engine_can_do(_job(before, behind))


@pytest.mark.parametrize(
    "before, behind",
    [
        ("[run]\nbus_models = true\n", ""),
        ("choosable_ports = true\n", ""),
        ("[phy]\nreconciliation = true\nmarker_interval = 64\n", ""),
        ("", '[[cut]]\nlink = "acc0.0"\nat = 9\ncycles = 9\n'),
        (
            "[[vpod]]\nmembers = [0, 1]\n",
            '[[vpod_change]]\nat = 9\naction = "resize"\nvpod = "0"\nmembers = [0, 1]\n',
        ),
    ],
)
def test_what_an_engine_has_not_is_left_to_bus_models(before, behind):
    assert not engine_can_do(_job(before, behind))


def test_traces_are_left_to_bus_models(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"src": 0, "dst": 1, "op": "read", "addr": "0x0", "len": 64}\n')
    text = '[pod]\naccelerators = 2\n[[workload]]\nkind = "trace"\ntrace = "t.jsonl"\n'
    scenario = parse_scenario(text, tmp_path / "pod.toml")
    assert not engine_can_do(Job(scenario, build_requests(scenario), None))


@pytest.mark.parametrize("change", [{"at": 1}, {"byte_en": 1}, {"op": "atomic", "attr": 0x10}])
def test_so_is_one_request_that_no_pattern_has(change):
    job = _job()
    odd = replace(job.requests[3], **change)
    assert not engine_can_do(replace(job, requests=[*job.requests[:3], odd]))
