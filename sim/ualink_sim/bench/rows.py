"""What a benchmark says: rows, and why one is empty."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

__all__ = ["Bench", "Options", "Row", "Unavailable", "take"]


class Unavailable(Exception):
    """A number cannot be measured here; the message says what is missing."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number.

    ``name`` is stable, lower case and dotted; ``limit`` is the best that is possible, or the most that is allowed;
    ``peer`` is what others have; ``how`` says how the value came about. ``value`` is None until it is measured, and
    where it cannot be.
    """

    name: str
    unit: str
    how: str
    limit: float | None = None
    peer: str | None = None
    value: float | None = None

    def as_dict(self) -> dict:
        """The row as it is in JSON."""
        values = asdict(self)
        return {key: values[key] for key in ("name", "value", "unit", "limit", "peer", "how")}


@dataclass(frozen=True)
class Bench:
    """Rows that are measured together; ``measure()`` returns values by name and raises ``Unavailable``."""

    rows: tuple[Row, ...]
    measure: Callable[[], Mapping[str, float]]


@dataclass(frozen=True)
class Options:
    """What the user gave: ``liberties``, the files of one standard-cell library."""

    liberties: tuple[Path, ...] = ()


def take(bench: Bench) -> list[Row]:
    """The rows of ``bench`` with their values."""
    try:
        values = bench.measure()
    except Unavailable as reason:
        return [replace(row, how=f"not measured: {reason}") for row in bench.rows]
    return [replace(row, value=values[row.name]) for row in bench.rows]
