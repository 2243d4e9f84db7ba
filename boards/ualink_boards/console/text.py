"""How readings look on a terminal."""

import json
from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.table import Table

from .bit_errors import LaneResult
from .readings import Reading

__all__ = ["as_json", "bert_json", "bert_lines", "columns", "live_table"]


def columns(rows: Iterable[Sequence[str]]) -> str:
    """Rows of text in columns."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def as_json(readings: Iterable[Reading]) -> str:
    """The values by name."""
    return json.dumps({reading.path: reading.value for reading in readings}, indent=1)


def live_table(title: str, status: Sequence[Reading], counters: Sequence[Reading], rates: Mapping[str, float]) -> Table:
    """What ``watch`` shows; ``rates`` are per second."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    for heading in ("", "value", "per second"):
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    for reading in status:
        table.add_row(reading.path, reading.shown, "")
    table.add_section()
    for reading in counters:
        rate = rates.get(reading.path)
        table.add_row(reading.path, reading.shown, "" if rate is None else f"{rate:,.0f}")
    return table


def bert_lines(results: Sequence[LaneResult], confidence: float) -> str:
    """A line for each lane."""
    rows = [("lane", "sequence", "errors", "bits", "bit error rate", f"at most ({confidence:.0%})")]
    for lane in results:
        followed = "not followed" if not lane.locked else "lost meanwhile" if lane.lock_lost else "followed"
        rate, most = lane.rate, lane.at_most(confidence)
        rows.append(
            (
                lane.window,
                followed,
                f"{lane.errors:,}",
                f"{lane.bits:,}",
                "-" if rate is None else f"{rate:.2e}",
                "-" if most is None else f"{most:.2e}",
            )
        )
    return columns(rows)


def bert_json(results: Sequence[LaneResult], confidence: float) -> str:
    """The same as JSON; a rate is null where no bit was compared."""
    lanes = {
        lane.window: {
            "locked": lane.locked,
            "lock_lost": lane.lock_lost,
            "errors": lane.errors,
            "bits": lane.bits,
            "bit_error_rate": lane.rate,
            "at_most": lane.at_most(confidence),
        }
        for lane in results
    }
    return json.dumps({"confidence": confidence, "lanes": lanes}, indent=1)
