"""What a benchmark says: rows, and why one is empty."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

__all__ = ["Bench", "Options", "Row", "Told", "Unavailable", "take"]


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
class Told:
    """A value, and what is to be said of it in front of the row's ``how``."""

    value: float
    story: str


@dataclass(frozen=True)
class Bench:
    """Rows that are measured together.

    ``measure()`` returns values by name and raises ``Unavailable``. ``ready()`` raises it before anything is measured,
    where a row that is asked for by name has no way to a value. A ``slow`` benchmark is measured only where a name
    goes further than its group.
    """

    rows: tuple[Row, ...]
    measure: Callable[[], Mapping[str, float | Told]]
    ready: Callable[[], object] = lambda: None
    slow: bool = False


@dataclass(frozen=True)
class Options:
    """What the user gave: ``liberties``, the files of one standard-cell library, and the clock period that it is to
    reach."""

    liberties: tuple[Path, ...] = ()
    period_ps: int = 640


def take(bench: Bench) -> list[Row]:
    """The rows of ``bench`` with their values."""
    try:
        values = bench.measure()
    except Unavailable as reason:
        return [replace(row, how=f"not measured: {reason}") for row in bench.rows]
    return [_with_value(row, values[row.name]) for row in bench.rows]


def _with_value(row: Row, value: float | Told) -> Row:
    if isinstance(value, Told):
        return replace(row, value=value.value, how=f"{value.story}; {row.how}")
    return replace(row, value=value)
