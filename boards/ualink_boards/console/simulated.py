"""A board in simulation, reached through a pseudo-terminal as a real one is through its serial port."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from .designs import DESIGNS, find_design
from .errors import BadInput, BoardError
from .hardware import CLOCK_HZ, CYCLES_PER_BIT, SIMULATED_BAUD, Hardware

__all__ = ["CLOCK_HZ", "REST_AFTER", "SIMULATED_BAUD", "check", "simulate", "simulated_board"]

REST_AFTER = 1_000_000
"""Cycles after the last byte heard at which simulated time stands still until the next one."""

_LEAST_REST = 40_000
"""Longer than the longest answer takes, and than the pause that makes the board give up a request."""


def simulate(design: str, tell: Callable[[str], None], *, rest_after: int = REST_AFTER) -> None:
    """Simulate a board with ``design`` until this process is interrupted; ``tell`` gets the path of its port.

    The first time the design is compiled. BadInput: there is no such design; BoardError: it cannot be simulated.
    """
    hardware = check(design)
    from ualink_sim.pod.progress import working
    from ualink_sim.simulator import SimulatorError

    minutes = "about a minute" if hardware.minutes == 1 else f"about {hardware.minutes} minutes"
    try:
        with working(Console(stderr=True, highlight=False), f"compiling {design} (once, {minutes})"):
            model = hardware.model()
        with tempfile.TemporaryDirectory(prefix="ualink-board-") as folder:
            ready, job = Path(folder, "ready"), Path(folder, "job")
            rest = max(rest_after, _LEAST_REST)
            line = {"cycles_per_bit": CYCLES_PER_BIT, "rest_after": rest, "ready": str(ready)}
            job.write_text(json.dumps(line | hardware.pins()))
            with _told_when_there(ready, tell):
                model.run("ualink_boards.console.bench", environment={"UALINK_BOARD": str(job)})
    except SimulatorError as error:
        raise BoardError(f"the simulation of {design} ended: {error}") from None


def check(design: str) -> Hardware:
    """The hardware of ``design``; BadInput: it cannot be simulated."""
    make_hardware = find_design(design).hardware
    if make_hardware is None:
        raise BadInput(f"design {design} cannot be simulated; these can: {', '.join(_simulated())}")
    if importlib.util.find_spec("cocotb") is None or importlib.util.find_spec("ualink_sim") is None:
        raise BadInput("simulation is not installed; run: pip install 'amaranth-ualink[sim,boards]'")
    return make_hardware()


def _simulated() -> list[str]:
    return sorted(name for name, design in DESIGNS.items() if design.hardware is not None)


@contextmanager
def _told_when_there(path: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """``tell`` what is in the file at ``path`` as soon as there is one."""
    ended = threading.Event()

    def look() -> None:
        while not path.exists():
            if ended.wait(0.02):
                return
        tell(path.read_text())

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


@contextmanager
def simulated_board(design: str, *, rest_after: int = REST_AFTER) -> Iterator[str]:
    """A simulated board in a process of its own; gives the path of its port. It ends with the ``with`` statement, and
    with this process."""
    check(design)
    from ualink_sim import keeper

    command = [sys.executable, "-m", "ualink_boards.console.simulated", design, str(rest_after)]
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(keeper.__file__)), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        told = process.stdout.readline().strip()
        if not told.startswith("/"):
            raise BoardError(told or f"the simulation of {design} did not start")
        yield told
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def main(arguments: list[str]) -> int:
    """``python -m ualink_boards.console.simulated DESIGN REST_AFTER``: print the port, or in one line why there is
    none; simulate until SIGTERM."""
    design, rest_after = arguments
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        simulate(design, lambda path: print(path, flush=True), rest_after=int(rest_after))
    except (BadInput, BoardError) as error:
        print(" ".join(str(error).split()), flush=True)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
