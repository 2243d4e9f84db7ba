"""Shared compiled pods: tests that use one carry ``POD``, so that one worker of a parallel run builds it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ualink_sim.model.upli.memory import OPERATIONS
from ualink_sim.pod.engine.job import engine_can_do
from ualink_sim.pod.job import Job
from ualink_sim.pod.run import simulate
from ualink_sim.pod.scenario import load_scenario
from ualink_sim.pod.workload import build_requests
from ualink_sim.report.results import Results
from ualink_sim.request import Request, check

__all__ = ["POD", "RECONCILIATION", "PodRun", "both_ways", "of_two", "random_trace", "run_scenario"]

POD = pytest.mark.xdist_group("pod")
RECONCILIATION = """
[phy]
reconciliation = true
marker_interval = 64
idle_interval = 16
"""
"""What all pods with reconciliation sublayers are built with. Control flits come so often that a short run has many.

They are pods of two: what a link does shows between two accelerators, and the core of a switch, which is the most of a
pod to compile, grows with the square of its stations.
"""


@dataclass(frozen=True)
class PodRun:
    """What a simulation found, and the folder with its files."""

    results: Results
    folder: Path

    @property
    def summary(self) -> dict:
        return json.loads((self.folder / "summary.json").read_text())

    @property
    def responses(self) -> list[dict]:
        return [json.loads(line) for line in (self.folder / "responses.jsonl").read_text().splitlines()]

    @property
    def trace(self) -> Path:
        return self.folder.parent / "trace.jsonl"

    @property
    def memory(self) -> dict:
        return json.loads((self.folder / "memory.json").read_text())


def run_scenario(folder: Path, text: str, trace: list[dict] | None = None, *, threads: int | None = None) -> PodRun:
    """Simulate the scenario ``text``, by ``threads``; ``trace`` becomes the file ``trace.jsonl`` beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(text)
    if trace is not None:
        (folder / "trace.jsonl").write_text("".join(json.dumps(row) + "\n" for row in trace))
    out = folder / "out"
    results = simulate(load_scenario(folder / "scenario.toml"), out, threads=threads, progress=False)
    return PodRun(results, out)


def both_ways(folder: Path, text: str) -> list[dict[str, Any]]:
    """What the scenario ``text`` leaves, by file: done by the engine inside of the model, and by bus models in Python.

    Of ``summary.json`` it is what both must have in common.
    """
    folder.joinpath("scenario.toml").write_text(text)
    found = []
    for bus_models in (False, True):
        scenario = load_scenario(folder / "scenario.toml", [f"run.bus_models={str(bus_models).lower()}"])
        assert engine_can_do(Job(scenario, build_requests(scenario), None)) != bus_models
        out = folder / str(bus_models)
        simulate(scenario, out, progress=False)
        files: dict[str, Any] = {file.name: file.read_bytes() for file in out.iterdir() if file.suffix != ".html"}
        summary = json.loads(files["summary.json"])
        del summary["seconds"], summary["config"]
        found.append({**files, "summary.json": summary})
    return found


def of_two(text: str) -> str:
    """The scenario ``text``, which is one of four accelerators, with two."""
    assert "accelerators = 4" in text
    return text.replace("accelerators = 4", "accelerators = 2")


def random_trace(rng, count, accelerators=4):
    """Requests of every kind between every pair of ``accelerators``, each to memory that its source alone uses, so that
    order is known."""
    rows = []
    while len(rows) < count:
        src, dst = rng.randrange(accelerators), rng.randrange(accelerators)
        op = rng.choice(("read", "write", "write_full", "atomic", "atomic_nr"))
        base = src << 20 | rng.randrange(6) * 256
        row = {"src": src, "dst": dst, "op": op}
        double = False
        if op.startswith("atomic"):
            size = rng.choice((1, 2, 4, 8))
            kind = rng.choice(sorted(OPERATIONS))
            double = OPERATIONS[kind].operands == 2
            row["attr"] = (kind & 0xF) << 4 | {4: 0, 8: 1, 2: 2, 1: 3}[size] << 2 | kind >> 4
            step = max(4, size)
            length = 64 if double else rng.randrange(step, 65, step)
            offset = rng.randrange(8) * 32 if double else rng.randrange(4) * 64 + rng.randrange(0, 65 - length, step)
            enables = 0
            for element in range(0, 32 if double else length, size):
                enables |= rng.getrandbits(1) * ((1 << size) - 1) << element
            enables |= enables << 32 if double else 0
        elif op == "write_full":
            length = rng.randrange(64, 257, 64)
            offset = rng.randrange(0, 257 - length, 64)
            enables = (1 << length) - 1
        else:
            length = rng.randrange(4, 257, 4)
            offset = rng.randrange(0, 257 - length, 4)
            enables = rng.getrandbits(length) if op == "write" else (1 << length) - 1
        row |= {"addr": hex(base + offset), "len": length, "byte_en": enables.to_bytes(-(-length // 8), "big").hex()}
        if op != "read":
            row["data"] = rng.randbytes(length).hex()
        if rows and rng.random() < 0.1:
            row["after"] = [rng.randrange(1, len(rows) + 1)]
        if rng.random() < 0.05:
            row["at"] = rng.randrange(6000)
        request = Request(
            line=1,
            **{key: row[key] for key in ("src", "dst", "op", "len")},
            addr=base + offset,
            data=bytes.fromhex(row.get("data", "")),
            byte_en=enables,
            attr=row.get("attr", 0),
        )
        if check(request) is None:
            rows.append(row)
    return rows
