"""Looking at a board again and again: on the terminal, and into a file."""

import csv
import io
import itertools
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.live import Live

from .board import Board
from .errors import BadInput
from .readings import Reading, counters, status
from .text import live_table

__all__ = ["log", "watch"]

_WRAP = 1 << 32


def _ticks(every: float, count: int | None) -> Iterator[float]:
    """Seconds since the beginning, every so often; a tick that is late does not move the next."""
    begin = time.monotonic()
    for number in itertools.count() if count is None else range(count):
        time.sleep(max(0.0, begin + number * every - time.monotonic()))
        yield time.monotonic() - begin


def watch(board: Board, console: Console, *, every: float, count: int | None) -> None:
    """Show status and counters ``count`` times (None: until interrupted)."""
    before: tuple[float, dict[str, int]] | None = None
    with Live(console=console, auto_refresh=False, transient=False) as live:
        for seconds in _ticks(every, count):
            shown, counted = status(board), counters(board)
            now = {reading.path: reading.value for reading in counted}
            rates = _rates(before, seconds, now) if before is not None else {}
            live.update(live_table(f"{board.table.name} on {board.bus.port}", shown, counted, rates), refresh=True)
            before = seconds, now


def _rates(before: tuple[float, dict[str, int]], seconds: float, now: dict[str, int]) -> dict[str, float]:
    then, values = before
    rates = {}
    for name, value in now.items():
        # A counter that is behind itself has wrapped around, unless it was cleared; then its rate is unknown.
        step = value - values[name] if value >= values[name] else value - values[name] + _WRAP
        if 0 <= step < _WRAP // 2:
            rates[name] = step / (seconds - then)
    return rates


def log(board: Board, path: Path, names: Sequence[str], *, every: float, count: int | None) -> tuple[int, bool]:
    """Write a line of CSV every so often, ``names`` or everything; give the number of lines, and whether it was Ctrl-C
    that ended it. Each line is written whole.
    """
    if path.exists():
        raise BadInput(f"{path} is there already; name a new file")
    first = _sample(board)
    for name in names:
        if name not in first:
            raise BadInput(f"{name}: there is no such status or counter")
    chosen = list(names) or list(first)
    lines = 0
    try:
        with path.open("x", newline="") as file:
            file.write(_line(["time", "seconds", *chosen]))
            for seconds in _ticks(every, count):
                sample = _sample(board)
                now = datetime.now(UTC).isoformat(timespec="milliseconds")
                file.write(_line([now, f"{seconds:.3f}", *(str(sample[name].value) for name in chosen)]))
                file.flush()
                lines += 1
    except KeyboardInterrupt:
        return lines, True
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    return lines, False


def _sample(board: Board) -> dict[str, Reading]:
    events = {f"{register.path}.{name}": Reading(f"{register.path}.{name}", 0, "") for register, name in _events(board)}
    return events | {reading.path: reading for reading in (*status(board), *counters(board))}


def _events(board: Board):
    """Places of events, which status shows only when they have happened."""
    for window in board.table:
        for register in window:
            for field in register.fields.values():
                if field.access == "w1c":
                    yield register, field.name


def _line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
