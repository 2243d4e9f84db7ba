"""Pods without links: UPLI-level accelerators in RTL around the core of a switch."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from click.testing import CliRunner

import ualink_sim.pod.run as pod
from ualink.cli import main
from ualink_sim.pod.job import Job
from ualink_sim.pod.scenario import ScenarioError, load_scenario, parse_scenario
from ualink_sim.pod.upli.job import Sabotage, SabotagedJob
from ualink_sim.pod.upli.layouts import SLOTS
from ualink_sim.pod.workload import build_requests
from ualink_sim.report.results import WITHOUT_LINKS

pytestmark = pytest.mark.xdist_group("upli_pod")

ACCELERATORS = 3
LINE_RATE = 800.0
"""Gb/s of one beat of data in each cycle."""
POD = f'[pod]\naccelerators = {ACCELERATORS}\nfidelity = "upli"\n'
KINDS = ("uniform", "neighbour", "alltoall", "hotspot")


def scenario_of(workload, before="", pod_table=POD):
    return parse_scenario(f"{pod_table}{before}[[workload]]\n{workload}\n", "pod.toml")


def run(scenario, sabotage=None):
    """What a pod finds without and with ``sabotage``."""
    job = Job(scenario, build_requests(scenario), None)
    if sabotage:
        job = SabotagedJob(job.scenario, job.requests, None, sabotage)
    return pod.run_pod(pod.build_upli_pod(scenario.switch), job)


@pytest.mark.parametrize("kind", KINDS)
def test_every_request_of_a_pod_with_links_is_made_and_right(kind):
    """The same requests as with links; those of each pair as often; the switch counted each and its Response."""
    workload = f'kind = "{kind}"\ntransactions = 2500\nseed = 7'
    results = run(scenario_of(workload))
    assert results.passed
    assert results.ended == "complete"
    with_links = build_requests(scenario_of(workload, pod_table=POD.replace('"upli"', '"links"')))
    names = ("line", "src", "dst", "op", "addr", "len", "workload")
    assert [[getattr(row, name) for name in names] for row in results.transactions] == [
        [getattr(request, name) for name in names] for request in with_links
    ]
    (flow,) = results.vpod_flows.values()
    # Read Responses of several beats are one item each.
    assert (flow.accepted, flow.denied, flow.forwarded) == (5000, 0, 5000)
    summary = results.summary()
    asked = Counter(request.src for request in with_links)
    assert {row["accelerator"]: row["transactions"] for row in summary["accelerators"]} == asked
    pairs = {(row["src"], row["dst"]): row["run"]["bytes"] for row in summary["pairs"]}
    sizes = Counter()
    for request in with_links:
        sizes[request.src, request.dst] += request.len
    assert pairs == sizes


@pytest.mark.parametrize("operation", ["read", "write", "write_full"])
@pytest.mark.parametrize("size", [64, 256])
def test_a_permutation_moves_a_beat_in_every_cycle(operation, size):
    """And more requests than the model holds at once."""
    count = ACCELERATORS * (SLOTS + 500)
    text = (
        f'kind = "neighbour"\nsizes = [{size}]\noutstanding = 256\ntransactions = {count}\nmix = {{ {operation} = 1 }}'
    )
    results = run(scenario_of(text))
    assert results.passed
    assert len(results.transactions) == count
    steady = results.summary()["steady_state"]
    assert steady["window"] == "all sources busy"
    assert 0.95 * ACCELERATORS * LINE_RATE < steady["gbps"] < 1.01 * ACCELERATORS * LINE_RATE


def test_a_hot_spot_gets_no_more_than_its_port_carries():
    text = 'kind = "hotspot"\nshare = 1\ntarget = 2\nsizes = [256]\nmix = { write_full = 1 }\ntransactions = 6000'
    results = run(scenario_of(text))
    assert results.passed
    served = results.summary()["accelerators"][2]["served"]["steady_state"]["gbps"]
    assert 0.95 * LINE_RATE < served < 1.01 * LINE_RATE


def test_the_latency_of_a_link_is_that_of_the_scenario():
    """A Request and its Response cross two links each."""
    least = {}
    for cycles in (1, 40, 700):
        link = f"[link]\nlatency_cycles = {cycles}\n"
        results = run(scenario_of('kind = "alltoall"\ntransactions = 60\noutstanding = 1\nsizes = [64]', link))
        assert results.passed
        for kind in ("read", "write"):
            least[kind, cycles] = min(t.latency for t in results.transactions if t.kind == kind)
    for kind in ("read", "write"):
        assert least[kind, 40] - least[kind, 1] == 4 * 39
        assert least[kind, 700] - least[kind, 1] == 4 * 699


@pytest.mark.req("SW-021", "SW-026", "SW-043")
def test_a_core_in_rows_does_the_same_a_cycle_later_each_way():
    """Two rows of two ports and one: all that everybody asks for is right, also at the full rate of each port."""
    rows = "[switch]\nports_per_row = 2\n"
    crowd = 'kind = "alltoall"\ntransactions = 9000\noutstanding = 64'
    results = run(scenario_of(crowd, rows))
    assert results.passed
    (flow,) = results.vpod_flows.values()
    assert (flow.accepted, flow.denied, flow.forwarded) == (18000, 0, 18000)
    full = scenario_of(
        'kind = "neighbour"\ntransactions = 6000\nsizes = [256]\nmix = { read = 1 }\noutstanding = 128', rows
    )
    found = run(full)
    assert found.passed
    assert all(row["served"]["steady_state"]["gbps"] > 0.99 * LINE_RATE for row in found.summary()["accelerators"])
    alone = 'kind = "alltoall"\ntransactions = 60\noutstanding = 1\nsizes = [64]'
    flat, rowed = (run(scenario_of(alone, before)).transactions for before in ("", rows))
    for kind in ("read", "write"):
        least = [min(t.latency for t in found if t.kind == kind) for found in (flat, rowed)]
        assert least[1] == least[0] + 2


def test_no_more_is_outstanding_than_the_workload_lets():
    results = run(scenario_of('kind = "uniform"\ntransactions = 900\noutstanding = 5'))
    most = 0
    for source in range(ACCELERATORS):
        own = [t for t in results.transactions if t.src == source]
        events = sorted([(t.issued, 1) for t in own] + [(t.completed, -1) for t in own])
        level = 0
        for _, change in events:
            level += change
            most = max(most, level)
    assert most == 5


def test_the_same_scenario_gives_the_same_results_and_another_seed_others():
    scenario = scenario_of('kind = "uniform"\ntransactions = 1500')
    first, second, other = run(scenario), run(scenario), run(scenario.reseed(9))
    assert first.transactions == second.transactions
    assert (first.cycles, first.vpod_flows) == (second.cycles, second.vpod_flows)
    assert other.passed
    assert other.transactions != first.transactions


@pytest.mark.parametrize(
    ("sabotage", "hit", "told"),
    [
        (Sabotage(read=(1,)), lambda t: t.op == "read" and t.dst == 1, "data differ"),
        (Sabotage(write=(2,)), lambda t: t.op != "read" and t.src == 2, "status is TARGET_ABORT"),
        (Sabotage(routes={(0, 1): 2}), lambda t: (t.src, t.dst) == (0, 1), "status is DECODE_ERROR"),
    ],
)
def test_what_is_wrong_is_found_and_nothing_else(sabotage, hit, told):
    """One bit of a Read Response, one bit of a Write, a route: wrong are just those requests that it concerns."""
    results = run(scenario_of('kind = "neighbour"\ntransactions = 1500'), sabotage)
    wrong = [t for t in results.transactions if t.mismatch]
    assert wrong == [t for t in results.transactions if hit(t)]
    assert len(wrong) > 100
    assert all(told in t.mismatch for t in wrong)
    assert not results.passed


def test_responses_that_go_astray_are_found():
    """They answer nothing that was asked where they come to, and whoever waits for them waits in vain."""
    scenario = scenario_of('kind = "neighbour"\ntransactions = 300\nmix = { read = 1 }\noutstanding = 1')
    results = run(scenario, Sabotage(routes={(1, 0): 2}))
    assert results.ended == "stalled"
    assert any("answer nothing" in fault for fault in results.faults)
    assert not results.passed


def test_what_the_switch_denies_stays_without_a_response():
    """The route leads to a port that the switch does not have; what others ask for completes."""
    scenario = scenario_of('kind = "uniform"\ntransactions = 600')
    results = run(scenario, Sabotage(routes={(0, 1): 3}))
    assert results.ended == "stalled"
    assert not results.passed
    lost = [t for t in results.transactions if t.completed is None and t.issued is not None]
    assert lost
    assert {(t.src, t.dst) for t in lost} >= {(0, 1)}
    assert all(t.completed is not None for t in results.transactions if t.src == 2 and t.dst == 0)
    assert results.vpod_flows["0"].denied >= len([t for t in lost if (t.src, t.dst) == (0, 1)])


def test_virtual_pods_are_those_of_the_scenario():
    results = run(scenario_of('kind = "uniform"\ntransactions = 500', "[[vpod]]\nmembers = [0, 2]\n"))
    assert results.passed
    assert {t.src for t in results.transactions} == {0, 2}
    assert results.vpod_flows["0"].accepted == 1000
    assert results.vpod_flows[None].accepted == 0


def test_a_run_ends_at_max_cycles_and_tells_what_was_done_by_then():
    results = run(scenario_of('kind = "alltoall"\ntransactions = 9000\nsizes = [256]', "[run]\nmax_cycles = 3000\n"))
    assert (results.ended, results.cycles) == ("max_cycles", 3000)
    done = [t for t in results.transactions if t.completed is not None]
    assert 0 < len(done) < 9000
    assert max(t.completed for t in done) < 3000
    assert len(results.transactions) == 9000
    assert not results.mismatches
    whole = run(scenario_of('kind = "alltoall"\ntransactions = 9000\nsizes = [256]'))
    assert done == [t for t in whole.transactions if t.completed < 3000]


def test_a_run_can_end_before_the_routes_are_written():
    results = run(scenario_of('kind = "alltoall"\ntransactions = 9', "[run]\nmax_cycles = 100\n"))
    assert (results.ended, results.cycles, results.incomplete) == ("max_cycles", 100, 9)
    assert results.summary()["run"]["cycles"] == 0


def test_the_command_tells_the_fidelity_and_leaves_out_what_links_would_have(tmp_path, monkeypatch):
    (tmp_path / "pod.toml").write_text(f'{POD}[[workload]]\nkind = "alltoall"\ntransactions = 1800\nsizes = [256]\n')
    arguments = ["sim", str(tmp_path / "pod.toml"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert WITHOUT_LINKS in result.stdout
    assert "every byte matched" in result.stdout
    assert "capture" not in result.stdout
    assert "algbw" in result.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"summary.json", "responses.jsonl", "report.html"}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["fidelity"] == "upli"
    assert summary["links"] is None
    (operation,) = summary["workloads"][0]["collectives"]
    assert operation["bytes"] == 1800 * 256 // 2
    assert 80 < operation["busbw"] <= 100
    page = (tmp_path / "out" / "report.html").read_text()
    assert WITHOUT_LINKS in page
    assert "Replays and errors" not in page
    rows = [json.loads(line) for line in (tmp_path / "out" / "responses.jsonl").read_text().splitlines()]
    assert [row["line"] for row in rows] == list(range(1, 1801))
    assert {row["status"] for row in rows} == {"OKAY"}

    monkeypatch.setattr(pod, "Job", lambda *job: SabotagedJob(*job, Sabotage(read=(0,))))
    failed = CliRunner().invoke(main, [*arguments, "--json"])
    assert failed.exit_code == 1
    told = json.loads(failed.stdout)
    assert told["fidelity"] == "upli"
    assert told["mismatches"] > 0


@pytest.mark.parametrize(
    ("change", "line", "reason"),
    [
        ('[pod]\naccelerators = 65\nfidelity = "upli"', 2, "pod.accelerators: is 65"),
        ('[pod]\naccelerators = 65\nfidelity = "links"', 2, "pod.accelerators: is 65"),
        (POD.replace('"upli"', '"flits"'), 3, "pod.fidelity: is 'flits'"),
        (f'{POD}bifurcation = "2x2"', 4, "pod.bifurcation: is '2x2'"),
        (
            f"{POD}choosable_ports = true",
            4,
            "pod.choosable_ports: is true; with pod.fidelity 'upli' each accelerator has",
        ),
        (f"{POD}[link]\nbit_error_rate = 1e-9", 5, "link.bit_error_rate: is 1e-09"),
        (f"{POD}[link]\ndrop_rate = 0.1", 5, "link.drop_rate: is 0.1"),
        (f"{POD}[link]\nlatency_cycles = 1793", 5, "link.latency_cycles: is 1793"),
        (f"{POD}[tl]\ncompression = false", 5, "tl.compression: means nothing"),
        (f"{POD}[dl]\nreplay_depth = 9", 5, "dl.replay_depth: means nothing"),
        (f"{POD}[phy]\nreconciliation = true", 5, "phy.reconciliation: means nothing"),
        (f"{POD}[switch]\ninjection = true", 5, "switch.injection: is true"),
        (f"{POD}[run]\nmax_cycles = 4294967296", 5, "run.max_cycles: is 4294967296"),
        (f'{POD}[[cut]]\nlink = "acc0.0"\nat = 1\ncycles = 1', 4, "cut: cannot be"),
        (f'{POD}[[vpod_change]]\nat = 1\naction = "tear_down"\nvpod = "0"', 4, "vpod_change: cannot be"),
        (f'{POD}[[workload]]\nkind = "allreduce"\nbytes = 768', 5, "workload.kind: is 'allreduce'"),
        (f'{POD}[[workload]]\nkind = "uniform"\nmix = {{ atomic = 1 }}', 6, "workload.mix: has atomic"),
        (f'{POD}[[workload]]\nkind = "uniform"\nsizes = [64, 100]', 6, "workload.sizes: are [64, 100]"),
        (f'{POD}[[workload]]\nkind = "uniform"\nfootprint = 0x400100', 6, "workload.footprint: ends 4194560 bytes"),
    ],
)
def test_what_needs_links_is_refused_in_one_line(change, line, reason):
    text = change if "[[workload]]" in change else f'{change}\n[[workload]]\nkind = "uniform"\n'
    with pytest.raises(ScenarioError) as refusal:
        parse_scenario(text, "pod.toml")
    assert str(refusal.value).startswith(f"pod.toml:{line}: {reason}")
    assert "\n" not in str(refusal.value)


def test_a_trace_is_refused(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"src":0,"dst":1,"op":"read","addr":"0x0","len":64}\n')
    with pytest.raises(ScenarioError, match=r"pod.toml:5: workload.kind: is 'trace'; with pod.fidelity 'upli'"):
        parse_scenario(f'{POD}[[workload]]\nkind = "trace"\ntrace = "t.jsonl"\n', tmp_path / "pod.toml")


def test_the_example_is_a_pod_of_sixteen_that_makes_each_pair_ask_as_often(root):
    scenario = load_scenario(root / "examples" / "pod16_upli.toml")
    assert (scenario.pod.accelerators, scenario.pod.fidelity) == (16, "upli")
    pairs = Counter((request.src, request.dst) for request in build_requests(scenario))
    assert len(pairs) == 240
    assert set(pairs.values()) == {200}


def test_the_largest_example_has_four_rows(root):
    scenario = load_scenario(root / "examples" / "pod64_upli.toml")
    assert (scenario.pod.accelerators, scenario.switch.stations, scenario.switch.ports_per_row) == (64, 64, 16)


def test_the_example_runs_as_a_pod_of_three(root):
    scenario = load_scenario(root / "examples" / "pod16_upli.toml", [f"pod.accelerators={ACCELERATORS}"])
    scenario = replace(scenario, workloads=tuple(replace(w, transactions=3000) for w in scenario.workloads))
    assert run(scenario).passed
