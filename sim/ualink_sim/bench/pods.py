"""Rows that say how fast pods are simulated, with whole links and without."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..pod.job import Job
from ..pod.run import pod_model, run_pod
from ..pod.scenario import Scenario, parse_scenario
from ..pod.workload import build_requests
from ..report.results import Results
from ..simulator import Model, SimulatorError
from .rows import Bench, Options, Row, Unavailable

__all__ = ["Speed", "benches", "saturated", "speed"]

ACCELERATORS = (4, 8, 16)
REQUESTS = {"links": 5_000, "bus_models": 1_000, "upli": 10_000}
"""Requests of each accelerator in the shorter of two runs, by kind; the longer has three times as many."""
SCENARIO = """
[pod]
accelerators = {accelerators}
fidelity = "{fidelity}"
[run]
bus_models = {bus_models}
[link]
latency_cycles = 40
[[workload]]
kind = "alltoall"
transactions = {requests}
sizes = [256]
mix = {{ read = 0.5, write_full = 0.5 }}
outstanding = 128
"""
_TRAFFIC = "all ask one another for 256 bytes, half of it Reads, half WriteFull, 128 outstanding of each"
_HOW = {
    "links": "whole links with captures, all in the compiled model",
    "bus_models": "whole links with captures, bus models and wires in Python",
    "upli": "UPLI-level accelerators around the core of the switch",
}
_RATIOS = {"links": "of whole links in the compiled model", "upli": "without links"}


@dataclass(frozen=True)
class Speed:
    """What is simulated in a second of time."""

    cycles: float
    requests: float


def benches(_: Options) -> list[Bench]:
    """Pods of each size; their models take minutes to compile."""
    return [_bench(accelerators) for accelerators in ACCELERATORS]


def _bench(accelerators: int) -> Bench:
    name = f"sim.pod{accelerators}"
    measured = "what the longer of two runs takes more than the shorter, every response compared"
    rows = {
        (kind, what): Row(
            name=f"{name}.{kind}.{what}_per_second",
            unit=f"{what} per second",
            how=f"{_HOW[kind]}, {accelerators} accelerators, {_TRAFFIC}; {measured}",
        )
        for kind in REQUESTS
        for what in ("cycles", "requests")
    }
    ratios = {
        kind: Row(
            name=f"{name}.{kind}.ratio",
            unit="ratio",
            how=f"requests per second {of}, of those of bus models and wires in Python, one after the other in one run",
        )
        for kind, of in _RATIOS.items()
    }

    def measure() -> dict[str, float]:
        try:
            found = {kind: _measure(accelerators, kind) for kind in REQUESTS}
        except SimulatorError as error:
            raise Unavailable(str(error)) from None
        values = {row.name: getattr(found[kind], what) for (kind, what), row in rows.items()}
        before = found["bus_models"].requests
        return values | {row.name: found[kind].requests / before for kind, row in ratios.items()}

    return Bench((*rows.values(), *ratios.values()), measure, slow=True)


def saturated(accelerators: int, kind: str, requests: int) -> Scenario:
    """A pod that is asked for all it can give, ``requests`` of each accelerator."""
    fidelity, bus_models = ("links", "true") if kind == "bus_models" else (kind, "false")
    values = {"accelerators": accelerators, "fidelity": fidelity, "bus_models": bus_models}
    return parse_scenario(SCENARIO.format(**values, requests=accelerators * requests), f"pod{accelerators}.toml")


def speed(shorter: Results, longer: Results) -> Speed:
    """Of what ``longer`` has more than ``shorter``, so that nothing of what comes before traffic counts.

    Raises ``Unavailable`` if either did not do all its work, or if the longer run took no longer.
    """
    for results in (shorter, longer):
        if not results.passed:
            raise Unavailable("a pod did not answer all requests, or not rightly")
    seconds = longer.seconds - shorter.seconds
    if seconds <= 0:
        raise Unavailable("the longer run took no longer")
    requests = len(longer.transactions) - len(shorter.transactions)
    return Speed(cycles=(longer.cycles - shorter.cycles) / seconds, requests=requests / seconds)


def _measure(accelerators: int, kind: str) -> Speed:
    shorter, longer = (saturated(accelerators, kind, times * REQUESTS[kind]) for times in (1, 3))
    model = pod_model(shorter)
    return speed(_run(model, shorter), _run(model, longer))


def _run(model: Model, scenario: Scenario) -> Results:
    with tempfile.TemporaryDirectory(prefix="ualink-") as folder:
        capture = Path(folder, "capture.pcapng") if scenario.pod.fidelity == "links" else None
        return run_pod(model, Job(scenario, build_requests(scenario), capture))
