"""Shared compiled pods: tests that use one carry ``POD``, so that one worker of a parallel run builds it."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from ualink_sim.pod import simulate
from ualink_sim.results import Results

__all__ = ["POD", "PodRun", "run_scenario"]

POD = pytest.mark.xdist_group("pod")


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
    def memory(self) -> dict:
        return json.loads((self.folder / "memory.json").read_text())


def run_scenario(folder: Path, text: str, trace: list[dict] | None = None) -> PodRun:
    """Simulate the scenario ``text``; ``trace`` becomes the file ``trace.jsonl`` beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(text)
    if trace is not None:
        (folder / "trace.jsonl").write_text("".join(json.dumps(row) + "\n" for row in trace))
    results, out = simulate(folder / "scenario.toml", out=folder / "out", progress=False)
    return PodRun(results, out)
