"""Simulate the pod of a scenario: compile its hardware if need be, run it, write what was found."""

import os
import pickle
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ualink.config import SwitchConfig
from ualink.station import Station
from ualink.verilog import hierarchy

from .pod_top import PodTop
from .progress import lines, working
from .report import write_report
from .results import Results, write_results
from .scenario import Scenario, load_scenario
from .simulator import Model, build_once
from .workload import build_requests

__all__ = ["build_pod", "run_pod", "simulate"]


def build_pod(accelerators: int, config: SwitchConfig, *, trace: bool = False) -> Model:
    """The compiled model of a pod; making it takes a minute or two, finding it again nothing."""

    def make_sources() -> dict[str, str]:
        def make_top(make_station):
            return PodTop(accelerators, config, make_station)

        return {"pod.v": hierarchy(make_top, Station(config.station), "ualink_station", "pod")}

    return build_once(make_sources, "pod", repr((accelerators, config)), blocks=("ualink_station",), trace=trace)


def run_pod(
    model: Model,
    scenario: Scenario,
    *,
    capture: Path | None = None,
    wave: Path | None = None,
    log: Path | None = None,
    report: Callable[[int, int, int], None] | None = None,
) -> Results:
    """Run ``scenario`` on ``model``; ``report(completed, total, cycle)`` is called now and then."""
    from .pod_bench import Job

    requests = build_requests(scenario)
    with tempfile.TemporaryDirectory(prefix="ualink-") as folder:
        job = Path(folder, "job")
        job.write_bytes(pickle.dumps(Job(scenario, requests, capture and Path(capture).resolve())))
        with _watch(job.with_suffix(".progress"), report):
            model.run(
                "ualink_sim.pod_bench",
                environment={"UALINK_JOB": str(job)},
                seed=scenario.link.seed,
                wave=wave,
                log=log,
            )
        return pickle.loads(job.with_suffix(".results").read_bytes())


class _watch:
    """Reads the progress file of a running bench and passes it on, until the block ends."""

    def __init__(self, path: Path, report: Callable[[int, int, int], None] | None):
        self._path, self._report = path, report
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self):
        if self._report is not None:
            self._thread.start()

    def __exit__(self, *_):
        self._stop.set()
        if self._report is not None:
            self._thread.join()

    def _follow(self) -> None:
        while not self._stop.wait(0.2):
            try:
                completed, total, cycle = map(int, self._path.read_text().split())
            except (OSError, ValueError):
                continue
            if self._report is not None:
                self._report(completed, total, cycle)


def simulate(
    path: Path, *, out: Path | None = None, seed: int | None = None, wave: bool = False, progress: bool = True
) -> tuple[Results, Path]:
    """Do what ``ualink sim`` does: leave a summary, a capture, a report, responses and memories in ``out``.

    Nothing is written when the scenario is refused (ScenarioError) or the simulation fails (SimulatorError).
    """
    scenario = load_scenario(path)
    if seed is not None:
        scenario = scenario.reseed(seed)
    build_requests(scenario)
    folder = out if out is not None else Path("out") / Path(path).stem
    console = Console(stderr=True, quiet=not progress)
    with tempfile.TemporaryDirectory(prefix="ualink-") as scratch:
        started = time.monotonic()
        with working(console, "compiling the pod (once per configuration, a minute or two)"):
            model = build_pod(scenario.pod.accelerators, scenario.switch, trace=wave)
        console.print(f"model ready after {time.monotonic() - started:.0f} s")
        columns = (
            TextColumn("simulating"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[cycle]} cycles"),
        )
        with Progress(*columns, TimeElapsedColumn(), console=console) as bar, lines(console, lambda _: _so_far(bar)):
            task = bar.add_task("", total=None, cycle=0)
            results = run_pod(
                model,
                scenario,
                capture=Path(scratch, "capture.pcapng"),
                wave=Path(scratch, "wave.fst") if wave else None,
                report=lambda done, total, cycle: bar.update(task, completed=done, total=total, cycle=cycle),
            )
            total = len(results.transactions)
            bar.update(task, completed=total - results.incomplete, total=total, cycle=results.cycles)
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("capture.pcapng", *(["wave.fst"] if wave else [])):
            _move(Path(scratch, name), folder / name)
    write_results(results, folder)
    write_report(results, folder / "report.html")
    return results, folder


def _so_far(bar: Progress) -> str:
    task = bar.tasks[0]
    return f"simulating: {task.completed:.0f} of {task.total or 0:.0f}, {task.fields['cycle']} cycles"


def _move(source: Path, target: Path) -> None:
    """Put ``source`` in the place of ``target`` in one step, also across file systems."""
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    beside.write_bytes(source.read_bytes())
    os.replace(beside, target)
