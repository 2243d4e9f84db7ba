"""How fast pods are simulated: what is counted, of which runs, and what makes a row of it."""

from dataclasses import replace

import pytest

from sim.conftest import make_results
from ualink_sim.bench import pods
from ualink_sim.bench.pods import Speed, benches, saturated, speed
from ualink_sim.bench.rows import Options, Unavailable, take


def results_of(scenario):
    """As of a pod that has simulated 3,000 cycles after 7 seconds, and then 500 cycles and 200 requests a second with
    links, half as many where bus models in Python do the work, and 12.5 times as many without links."""
    requests = scenario.workloads[0].transactions
    found = make_results(transactions=requests, accelerators=scenario.pod.accelerators)
    rate = 2500 if scenario.pod.fidelity == "upli" else 100 if scenario.run.bus_models else 200
    return replace(found, scenario=scenario, cycles=3000 + requests * 5 // 2, seconds=7 + requests / rate)


def test_what_comes_before_traffic_does_not_count():
    shorter, longer = (results_of(saturated(4, "links", requests)) for requests in (100, 300))
    assert speed(shorter, longer) == Speed(cycles=pytest.approx(500), requests=pytest.approx(200))


@pytest.mark.parametrize(
    "kind, fidelity, bus_models", [("links", "links", False), ("bus_models", "links", True), ("upli", "upli", False)]
)
def test_a_pod_is_asked_for_all_it_can_give(kind, fidelity, bus_models):
    scenario = saturated(8, kind, 50)
    (workload,) = scenario.workloads
    assert (scenario.pod.accelerators, scenario.pod.fidelity, workload.transactions) == (8, fidelity, 400)
    assert scenario.run.bus_models == bus_models
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


def test_rows_are_of_all_kinds_of_pods_in_one_run(monkeypatch):
    """Each kind is run twice, with captures where there are links, and ratios are those of the rows beside them."""
    monkeypatch.setattr(pods, "REQUESTS", {"links": 10, "bus_models": 5, "upli": 100})
    monkeypatch.setattr(pods, "pod_model", lambda scenario: scenario.pod.fidelity)
    asked = []

    def run_pod(model, job):
        asked.append((model, len(job.requests), job.capture is not None))
        return results_of(job.scenario)

    monkeypatch.setattr(pods, "run_pod", run_pod)
    bench = benches(Options())[0]
    values = {row.name.removeprefix("sim.pod4."): row.value for row in take(bench)}
    with_links = [("links", requests, True) for requests in (40, 120, 20, 60)]
    assert asked == [*with_links, ("upli", 400, False), ("upli", 1200, False)]
    assert values == {
        "links.cycles_per_second": pytest.approx(500),
        "links.requests_per_second": pytest.approx(200),
        "bus_models.cycles_per_second": pytest.approx(250),
        "bus_models.requests_per_second": pytest.approx(100),
        "upli.cycles_per_second": pytest.approx(6250),
        "upli.requests_per_second": pytest.approx(2500),
        "links.ratio": pytest.approx(2),
        "upli.ratio": pytest.approx(25),
    }
