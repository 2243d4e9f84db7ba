"""How runs on a real pod end: waits are skipped, limits kept, Ctrl-C leaves what is there, and nothing lives on."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

from click.testing import CliRunner

from support.sim.pod_fixtures import POD, run_scenario
from ualink.cli import main
from ualink_sim.capture.pcapng import read_capture
from ualink_sim.pod import running
from ualink_sim.pod.accelerator import Accelerator
from ualink_sim.pod.bench import PodBench
from ualink_sim.pod.cable_cuts import CableCuts
from ualink_sim.request import Request

HEAD = "[pod]\naccelerators = 4\n"
TRACE = '[[workload]]\nkind = "trace"\ntrace = "trace.jsonl"\n'
LONG = '[[workload]]\nkind = "uniform"\ntransactions = 5000\n'
READ = {"src": 0, "dst": 1, "op": "read", "addr": "0x0", "len": 64}
WRITE = {**READ, "op": "write_full", "data": "5a" * 64}


@POD
def test_a_wait_of_a_billion_cycles_is_skipped_and_counted(tmp_path):
    """``at`` is a cycle of the pod's clock before the wait and after it, in responses, summary and capture."""
    rows = [WRITE, {**READ, "at": 900_000_000}, {**READ, "src": 2, "at": 900_000_010}]
    run = run_scenario(tmp_path, HEAD + TRACE, rows)
    summary = run.summary
    assert (summary["ended"], summary["mismatches"], summary["incomplete"]) == ("complete", 0, 0)
    first, *reads = run.responses
    assert [row["data"] for row in reads] == ["5a" * 64] * 2
    latency = reads[0]["completed"] - reads[0]["issued"]
    for row, at in zip(reads, (900_000_000, 900_000_010)):
        assert at <= row["issued"] < at + 20
        assert abs(row["completed"] - row["issued"] - latency) < 20
    assert summary["cycles"] == max(row["completed"] for row in reads)
    simulated = summary["cycles"] - summary["skipped_cycles"]
    assert first["completed"] < simulated < first["completed"] + 1500
    times = [flit.time_ps // 640 for flit in read_capture(run.folder / "capture.pcapng")]
    issued = [time for time in times if reads[0]["issued"] <= time <= reads[0]["completed"]]
    assert issued, "the capture shows the read at the cycle of its request"
    assert max(times) <= summary["cycles"]


@POD
def test_max_cycles_ends_a_run_with_a_clear_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.toml").write_text(HEAD + LONG)
    result = CliRunner().invoke(main, ["sim", "pod.toml", "--out", "out", "--set", "run.max_cycles=2000"])
    assert result.exit_code == 1
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["ended"], summary["cycles"], summary["mismatches"]) == ("max_cycles", 2000, 0)
    assert 0 < summary["incomplete"] < 5000
    line = f"ended at run.max_cycles = 2000: {summary['incomplete']} transactions are incomplete"
    assert line in result.stdout
    assert line in (tmp_path / "out" / "report.html").read_text()


def start(folder, capture_bytes):
    """``ualink sim`` in a process of its own, and the processes below it once its capture is of that size."""
    (folder / "pod.toml").write_text(HEAD + LONG)
    process = subprocess.Popen(
        [sys.executable, "-c", "from ualink.cli import main; main()", "sim", "pod.toml", "--out", "out", "--json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 400
    while max((path.stat().st_size for path in folder.glob(".out.*/capture.pcapng")), default=-1) < capture_bytes:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    (keeper,) = below(process.pid)
    (simulator,) = below(keeper)
    return process, [keeper, simulator]


def processes():
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listing.stdout.splitlines()]
    return {int(pid): int(parent) for pid, parent, state in rows if not state.startswith("Z")}


def below(parent):
    return [pid for pid, its in processes().items() if its == parent]


@POD
def test_ctrl_c_leaves_what_is_there(tmp_path):
    process, below = start(tmp_path, 200_000)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert not set(below) & set(processes())
    folder = tmp_path / "out"
    names = {"capture.pcapng", "memory.json", "report.html", "responses.jsonl", "summary.json"}
    assert {path.name for path in folder.iterdir()} == names
    assert {path.name for path in tmp_path.iterdir()} == {"out", "pod.toml"}
    summary = json.loads((folder / "summary.json").read_text())
    assert json.loads(stdout) == summary
    assert (summary["ended"], summary["transactions"], summary["mismatches"]) == ("interrupted", 5000, 0)
    assert summary["incomplete"] > 0
    rows = [json.loads(line) for line in (folder / "responses.jsonl").read_text().splitlines()]
    assert sum(row["completed"] is None for row in rows) == summary["incomplete"]
    assert len(list(read_capture(folder / "capture.pcapng"))) > 100
    assert re.search(r"interrupted at cycle \d+", (folder / "report.html").read_text())


@POD
def test_the_simulator_dies_with_a_killed_parent(tmp_path):
    process, below = start(tmp_path, 0)
    process.kill()
    process.communicate(timeout=10)
    deadline = time.monotonic() + 10
    while set(below) & set(processes()):
        assert time.monotonic() < deadline, "the simulator outlived its parent by ten seconds"
        time.sleep(0.05)
    assert not (tmp_path / "out").exists()


class Waiting:
    """A bench without hardware: requests complete ``latency`` cycles after they are handed on, or never."""

    idle_until = PodBench.idle_until
    skip_to = PodBench.skip_to
    begin = PodBench.begin
    advance = PodBench.advance
    ended = PodBench.ended
    left = PodBench.left

    def __init__(self, requests, lost=(), latency=100):
        self.job = SimpleNamespace(requests=requests, scenario=SimpleNamespace(link=SimpleNamespace(latency_cycles=1)))
        self.cycle = self.skipped_cycles = self.ticks = 0
        self.completed: set[int] = set()
        self.directions: list = []
        self.cuts = CableCuts([], {})
        self.changes = SimpleNamespace(busy=False, next_change=None, withdrawn=set())
        self.marker_cycles = 0
        self.lost, self.latency = lost, latency
        self.accelerators = [self._accelerator(number) for number in range(2)]
        self.issued: dict[int, int] = {}

    def _accelerator(self, number):
        accelerator = object.__new__(Accelerator)
        accelerator.number, accelerator._waiting, accelerator._in_flight, accelerator._turn = number, {}, {}, 0
        accelerator.held, accelerator._given_up = set(), set()
        accelerator.originator = SimpleNamespace(backlog=0)
        accelerator._start = lambda request: (
            accelerator._in_flight.update({request.line: request}),
            self.issued.update({request.line: self.cycle}),
        )
        return accelerator

    def up(self):
        return True

    def tick(self):
        self.cycle += 1
        self.ticks += 1
        for accelerator in self.accelerators:
            accelerator._issue(self.cycle, self.completed)
            for line in list(accelerator._in_flight):
                if line not in self.lost and self.cycle - self.issued[line] >= self.latency:
                    del accelerator._in_flight[line]
                    self.completed.add(line)

    def run(self, tmp_path):
        async def run():
            return await running.run(self, Nothing(), tmp_path / "progress")

        return asyncio.run(run())


class Nothing:
    def __await__(self):
        return iter(())


def request(line, src=0, dst=1, **more):
    return Request(line=line, src=src, dst=dst, op="read", addr=0, len=4, byte_en=15, **more)


def test_waits_are_skipped_one_after_the_other(tmp_path):
    bench = Waiting([request(1), request(2, at=10**9), request(3, src=1, dst=0, at=2 * 10**9, after=(2,))])
    assert bench.run(tmp_path) == "complete"
    assert bench.issued == {1: 1, 2: 10**9, 3: 2 * 10**9}
    assert bench.cycle == 2 * 10**9 + 100
    assert bench.ticks + bench.skipped_cycles == bench.cycle
    assert bench.ticks < 3000


def test_nothing_is_skipped_while_something_is_in_flight(tmp_path):
    bench = Waiting([request(1), request(2, src=1, dst=0, at=20_000)], latency=15_000)
    assert bench.run(tmp_path) == "complete"
    assert bench.issued == {1: 1, 2: 20_000}
    assert bench.ticks >= 15_000 + 15_000
    assert bench.skipped_cycles < 5_000


def test_what_is_lost_is_not_waited_for_without_end(tmp_path):
    """A request that never completes holds up nobody's ``at``, and at the end the run is given up."""
    bench = Waiting([request(1), request(2, src=1, dst=0, at=10**9), request(3, at=10**10)], lost=(1, 3))
    assert bench.run(tmp_path) == "stalled"
    assert bench.completed == {2}
    assert bench.issued == {1: 1, 2: 10**9, 3: 10**10}
    assert bench.ticks < 4 * 40_000


def test_a_request_that_waits_for_a_lost_one_is_given_up(tmp_path):
    bench = Waiting([request(1), request(2, src=1, dst=0, at=10**9, after=(1,))], lost=(1,))
    assert bench.run(tmp_path) == "stalled"
    assert bench.issued == {1: 1}
    assert bench.cycle < 40_000
