"""Simulate the pod of a scenario: compile its hardware if need be, run it, write what was found."""

import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from amaranth.lib import wiring
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ualink.config import StationConfig, SwitchConfig
from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import to_verilog
from ualink.station import Station

from .. import late_inputs
from ..aside import Aside
from ..output import output_folder
from ..report.page import write_report
from ..report.results import Results, write_results
from ..simulator import Model, RunOptions, build_once
from ..whole_banks import WholeBanks
from .engine.job import engine_can_do
from .engine.ports import MODULE, module_text
from .job import Job
from .progress import lines, working
from .scenario import Scenario
from .top import PodTop, make_controller, make_switch
from .upli.model import build_upli_pod, upli_compile_minutes
from .workload import build_requests

__all__ = ["build_pod", "compile_minutes", "pod_model", "run_pod", "simulate"]


def compile_minutes(ports: int) -> int:
    """About how long a pod with ``ports`` switch ports compiles on two idle cores, rounded up.

    The stations take a minute, the core grows with the pairs of its ports. With 4 ports 62 to 88 s were measured, with
    8 105 s, with 16 248 s.
    """
    return -(-(60 + ports * ports) // 60)


ENGINE = Path(__file__).with_name("engine")
"""Where its C++ is."""
FILES = ("capture.pcapng", "summary.json", "responses.jsonl", "memory.json", "report.html")
FILES_WITHOUT_LINKS = ("summary.json", "responses.jsonl", "report.html")
BENCHES = {"links": "ualink_sim.pod.bench", "upli": "ualink_sim.pod.upli.bench"}
"""What drives the model, by ``pod.fidelity``."""
BY_ENGINE = "ualink_sim.pod.engine.bench"
"""What drives one with links whose engine does the job."""


def build_pod(accelerators: int, config: SwitchConfig, *, trace: bool = False) -> Model:
    """The compiled model of a pod; making it takes ``compile_minutes``, finding it again nothing."""

    banks = WholeBanks(config)

    def make_sources() -> dict[str, str]:
        names = {config.station_of_switch: "ualink_switch_station", config.station: "ualink_station"}
        stations = {station: Station(station) for station in names}

        def make_station(station: StationConfig) -> Blackbox:
            return Blackbox(stations[station], names[station])

        controller = make_controller(config, make_station)

        def around() -> dict[str, str]:
            switch = make_switch(config, make_station, lambda maps: Blackbox(maps, "ualink_switch_registers"), banks)
            top = PodTop([Blackbox(controller, "ualink_controller") for _ in range(accelerators)], switch)
            parts = {"pod": top, "ualink_switch_registers": switch.station_windows}
            return {**_verilog(parts), **banks.verilog(), **_engine(top)}

        with Aside(around) as aside:
            of_stations = {name: stations[station] for station, name in names.items()}
            return {**_verilog(of_stations | {"ualink_controller": controller}), **aside.result()}

    blocks = {
        "ualink_station": late_inputs.station(config.station),
        "ualink_controller": late_inputs.CONTROLLER,
        "ualink_switch_registers": late_inputs.switch_registers(config.station),
        **banks.agents,
        **banks.blocks,
    }
    if config.station_of_switch != config.station:
        blocks["ualink_switch_station"] = late_inputs.station(config.station_of_switch)
    return build_once(make_sources, "pod", repr((accelerators, config)), blocks=blocks, trace=trace)


def _engine(top: PodTop) -> dict[str, str]:
    """What is beside the Verilog of a pod with an engine."""
    if top.ports is None:
        return {}
    texts = {file.name: file.read_text() for pattern in ("*.cpp", "*.h") for file in ENGINE.glob(pattern)}
    return {f"{MODULE}.sv": module_text(top.ports), **texts}


def _verilog(parts: Mapping[str, wiring.Component]) -> dict[str, str]:
    return {f"{name}.v": to_verilog(part, name) for name, part in parts.items()}


def run_pod(
    model: Model,
    job: Job,
    *,
    wave: Path | None = None,
    threads: int | None = None,
    report: Callable[[int, int, int], None] | None = None,
) -> Results:
    """Do ``job`` on ``model`` (``wave`` and ``threads`` as of ``RunOptions``); ``report(completed, total, cycle)`` is
    called now and then.

    The first Ctrl-C ends the run with what was found by then, the second without. Raises ``OSError`` when the
    capture cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="ualink-") as folder:
        file = Path(folder, "job")
        file.write_bytes(pickle.dumps(job))

        def stop() -> bool:
            file.with_suffix(".stop").touch()
            return True

        options = RunOptions(seed=job.scenario.link.seed, wave=wave, interrupted=stop, threads=threads)
        with _watch(file.with_suffix(".progress"), report):
            fidelity = job.scenario.pod.fidelity
            bench = BY_ENGINE if fidelity == "links" and engine_can_do(job) else BENCHES[fidelity]
            files = {"UALINK_JOB": str(file), "UALINK_ENGINE": str(file.with_suffix(".engine"))}
            model.run(bench, environment=files, options=options)
        unwritten = file.with_suffix(".unwritten")
        if unwritten.exists():
            raise OSError(0, unwritten.read_text(), str(job.capture))
        return pickle.loads(file.with_suffix(".results").read_bytes())


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
    scenario: Scenario, out: Path, *, wave: bool = False, threads: int | None = None, progress: bool = True
) -> Results:
    """Do what ``ualink sim`` does: leave a summary, a capture, a report, responses and memories in ``out``; without
    links there are no captures and no memories. ``threads`` is as of ``RunOptions``.

    Nothing is written when a workload is refused (ScenarioError), the results have no place (OutputError) or the
    simulation fails (SimulatorError). A Ctrl-C during the simulation leaves the results so far.
    """
    requests = build_requests(scenario)
    console = Console(stderr=True, quiet=not progress)
    with_links = scenario.pod.fidelity == "links"
    files = FILES if with_links else FILES_WITHOUT_LINKS
    with output_folder(out, [*files, *(["wave.fst"] if wave else [])]) as scratch:
        started = time.monotonic()
        with working(console, _compiling(scenario)):
            model = pod_model(scenario, trace=wave)
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
                Job(scenario, requests, (scratch / "capture.pcapng").resolve() if with_links else None),
                wave=scratch / "wave.fst" if wave else None,
                threads=threads,
                report=lambda done, total, cycle: bar.update(task, completed=done, total=total, cycle=cycle),
            )
            total = len(results.transactions)
            bar.update(task, completed=total - results.incomplete, total=total, cycle=results.cycles)
        write_results(results, scratch)
        write_report(results, scratch / "report.html")
    return results


def _compiling(scenario: Scenario) -> str:
    """What goes on while there is no model yet."""
    count = scenario.pod.accelerators
    with_links = scenario.pod.fidelity == "links"
    switch_ports = scenario.switch.stations * scenario.station.ports
    minutes = compile_minutes(switch_ports) if with_links else upli_compile_minutes(count)
    return f"compiling the pod (once per configuration, about {minutes} min and 1 GB on two cores)"


def pod_model(scenario: Scenario, *, trace: bool = False) -> Model:
    """The compiled model of the pod of ``scenario``, with links or without; made or found again as by ``build_pod``."""
    if scenario.pod.fidelity == "links":
        return build_pod(scenario.pod.accelerators, scenario.switch, trace=trace)
    return build_upli_pod(scenario.switch, trace=trace)


def _so_far(bar: Progress) -> str:
    task = bar.tasks[0]
    return f"simulating: {task.completed:.0f} of {task.total or 0:.0f}, {task.fields['cycle']} cycles"
