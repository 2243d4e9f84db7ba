"""Runs the switch core alone."""

import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ualink.emit.verilog import to_verilog

from ..simulator import Model, SimulatorError, build_once
from ..whole_banks import WholeBanks
from .rows import Unavailable
from .switch_source import Destinations
from .switch_top import SwitchTop, core_config

__all__ = ["Traffic", "idle_latencies", "run"]

SETTLE = 4_000
CYCLES = 20_000
HARDWARE = ("sink", "source", "top")


@dataclass(frozen=True)
class Traffic:
    """What a core was offered and gave.

    Attributes
    ----------
    throughput : beats in a cycle at each egress port, in the mean.
    latency : cycles that an item waited, in the core and before it; ``p99`` of them at most so long for 99 %.
    refused : share of the items that found no place in their source, so that there is no latency to tell.
    fairness : least share of a source of the mean of all.
    """

    throughput: float
    latency: float
    p99: int
    refused: float
    fairness: float


@cache
def _model(ports: int) -> Model:
    top = f"switch_core_{ports}"

    banks = WholeBanks(core_config(ports))

    def sources() -> dict[str, str]:
        return {f"{top}.v": to_verilog(SwitchTop(ports, banks), top), **banks.verilog()}

    own_code = [Path(__file__).with_name(f"switch_{name}.py").read_text() for name in HARDWARE]
    try:
        return build_once(sources, top, "\0".join([str(ports), *own_code]), blocks=banks.blocks)
    except SimulatorError as error:
        raise Unavailable(str(error)) from None


def _simulate(test: str, ports: int, **job) -> dict:
    model = _model(ports)
    with tempfile.TemporaryDirectory(prefix="ualink-") as folder:
        result = Path(folder, "result")
        environment = {"UALINK_JOB": json.dumps({"ports": ports, **job}), "UALINK_RESULT": str(result)}
        model.run("ualink_sim.bench.switch_bench", testcase=test, environment=environment)
        return json.loads(result.read_text())


@cache
def run(ports: int, beats: int, destinations: Destinations, load: float) -> Traffic:
    """A core of ``ports`` ports under ``load`` beats a cycle at each ingress port."""
    job = {"beats": beats, "destinations": destinations.value, "load": load, "settle": SETTLE, "cycles": CYCLES}
    found = _simulate("traffic", ports, **job)
    arrived = found["refused"] + sum(found["sent"])
    return Traffic(
        throughput=found["beats"] / CYCLES / ports,
        latency=found["latency_sum"] / max(1, found["items"]),
        p99=percentile(found["classes"], 0.99),
        refused=found["refused"] / max(1, arrived),
        fairness=min(found["sent"]) * ports / max(1, sum(found["sent"])),
    )


@cache
def idle_latencies(ports: int, beats: int) -> tuple[int, ...]:
    """Cycles from input to first output of single items in an idle core, each that was seen."""
    job = {"beats": beats, "destinations": Destinations.ALL_TO_ALL.value, "load": beats, "items": 2 * ports}
    classes = _simulate("single_items", ports, **job)["classes"]
    return tuple(latency for latency, items in enumerate(classes) if items)


def percentile(classes: list[int], share: float) -> int:
    """The least latency that so large a share of the items did not exceed."""
    seen, total = 0, sum(classes)
    for latency, items in enumerate(classes):
        seen += items
        if seen >= share * total:
            return latency
    return len(classes) - 1
