"""How fast pods are simulated: what is counted, of which runs, and what makes a row of it."""

from dataclasses import replace

import pytest

from sim.conftest import make_results
from ualink_sim.bench import pods
from ualink_sim.bench.pods import Speed, benches, saturated, speed
from ualink_sim.bench.rows import Options, Unavailable, take


def results_of(scenario):
    """As of a pod that has simulated 3,000 cycles after 7 seconds, and then 500 cycles and 200 requests a second with
    links, 12.5 times as many without."""
    requests = scenario.workloads[0].transactions
    found = make_results(transactions=requests, accelerators=scenario.pod.accelerators)
    rate = 200 if scenario.pod.fidelity == "links" else 2500
    return replace(found, scenario=scenario, cycles=3000 + requests * 5 // 2, seconds=7 + requests / rate)


def test_what_comes_before_traffic_does_not_count():
    shorter, longer = (results_of(saturated(4, "links", requests)) for requests in (100, 300))
    assert speed(shorter, longer) == Speed(cycles=pytest.approx(500), requests=pytest.approx(200))


@pytest.mark.parametrize("fidelity", ["links", "upli"])
def test_a_pod_is_asked_for_all_it_can_give(fidelity):
    scenario = saturated(8, fidelity, 50)
    (workload,) = scenario.workloads
    assert (scenario.pod.accelerators, scenario.pod.fidelity, workload.transactions) == (8, fidelity, 400)
    assert (workload.kind, workload.outstanding, list(workload.sizes)) == ("alltoall", 128, [256])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seconds": 0.5}, "took no longer"),
        ({"model_faults": ["a beat too many"]}, "not rightly"),
    ],
)
def test_a_run_that_failed_has_no_speed(change, reason):
    shorter, longer = (results_of(saturated(4, "links", requests)) for requests in (100, 300))
    with pytest.raises(Unavailable, match=reason):
        speed(shorter, replace(longer, **change))


def test_rows_are_of_both_kinds_of_pods_in_one_run(monkeypatch):
    """Each kind is run twice, with captures where there are links, and the ratio is that of the rows beside it."""
    monkeypatch.setattr(pods, "REQUESTS", {"links": 10, "upli": 100})
    monkeypatch.setattr(pods, "pod_model", lambda scenario: scenario.pod.fidelity)
    asked = []

    def run_pod(model, job):
        asked.append((model, len(job.requests), job.capture is not None))
        return results_of(job.scenario)

    monkeypatch.setattr(pods, "run_pod", run_pod)
    bench = benches(Options())[0]
    values = {row.name.removeprefix("sim.pod4."): row.value for row in take(bench)}
    assert asked == [("links", 40, True), ("links", 120, True), ("upli", 400, False), ("upli", 1200, False)]
    assert values == {
        "links.cycles_per_second": pytest.approx(500),
        "links.requests_per_second": pytest.approx(200),
        "upli.cycles_per_second": pytest.approx(6250),
        "upli.requests_per_second": pytest.approx(2500),
        "ratio": pytest.approx(12.5),
    }
