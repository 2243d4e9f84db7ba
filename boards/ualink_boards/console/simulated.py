"""A board in simulation, reached through a pseudo-terminal as a real one is through its serial port."""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .designs import DESIGNS, find_design
from .errors import BadInput, BoardError

__all__ = ["CLOCK_HZ", "REST_AFTER", "SIMULATED_BAUD", "simulate", "simulated_board"]

CYCLES_PER_BIT = 8
SIMULATED_BAUD = 1_000_000
CLOCK_HZ = CYCLES_PER_BIT * SIMULATED_BAUD
"""What the simulated design believes; how fast the simulation is does not matter to the line."""

REST_AFTER = 1_000_000
"""Cycles after the last byte heard at which simulated time stands still until the next one."""

_LEAST_REST = 10_000
"""Longer than the pause that makes the board give up a request."""


def simulate(design: str, tell: Callable[[str], None], *, rest_after: int = REST_AFTER) -> None:
    """Simulate a board with ``design`` until this process is interrupted; ``tell`` gets the path of its port.

    The first time the design is compiled. BadInput: there is no such design; BoardError: it cannot be simulated.
    """
    try:
        from ualink.verilog import to_verilog
        from ualink_sim.simulator import SimulatorError, build
    except ImportError as error:
        raise BadInput(f"{error.name} is not installed; run: pip install 'amaranth-ualink[sim,boards]'") from None
    top = find_design(design).top
    if top is None:
        raise BadInput(f"design {design} cannot be simulated; these can: {', '.join(_simulated())}")
    name = f"board_{design}"
    try:
        model = build({f"{name}.v": to_verilog(top(CLOCK_HZ, SIMULATED_BAUD), name)}, name)
        with tempfile.TemporaryDirectory(prefix="ualink-board-") as folder:
            ready, job = Path(folder, "ready"), Path(folder, "job")
            rest = max(rest_after, _LEAST_REST)
            job.write_text(json.dumps({"cycles_per_bit": CYCLES_PER_BIT, "rest_after": rest, "ready": str(ready)}))
            with _told_when_there(ready, tell):
                model.run("ualink_boards.console.bench", environment={"UALINK_BOARD": str(job)})
    except SimulatorError as error:
        raise BoardError(f"the simulation of {design} ended: {error}") from None


def _simulated() -> list[str]:
    return sorted(name for name, design in DESIGNS.items() if design.top is not None)


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
    """A simulated board in a process of its own; gives the path of its port. It ends with the ``with`` statement."""
    command = [sys.executable, "-m", "ualink_boards.console.simulated", design, str(rest_after)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0)
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        if not line:
            raise BoardError(f"the simulation of {design} did not start")
        yield line
    finally:
        # Whatever it has started ends when it is gone.
        process.kill()
        process.wait()
        process.stdout.close()


def main(arguments: list[str]) -> None:
    """``python -m ualink_boards.console.simulated DESIGN REST_AFTER``: print the port, simulate until killed."""
    design, rest_after = arguments
    simulate(design, lambda path: print(path, flush=True), rest_after=int(rest_after))


if __name__ == "__main__":
    main(sys.argv[1:])
