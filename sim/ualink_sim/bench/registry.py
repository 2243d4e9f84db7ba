"""Which benchmarks there are, and which of them a name means."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from .dl import benches as dl_benches
from .hop import benches as hop_benches
from .pods import benches as pod_benches
from .presets import benches as preset_benches
from .rows import Bench, Options, Row, take
from .silicon.blocks import BLOCKS
from .silicon.rows import benches as silicon_benches
from .station import benches as station_benches
from .switch import benches as switch_benches
from .tl import benches as tl_benches
from .wire import benches as wire_benches

__all__ = ["GROUPS", "UnknownName", "run", "select"]

GROUPS: dict[str, Callable[[Options], list[Bench]]] = {
    "dl": dl_benches,
    "tl": tl_benches,
    "wire": wire_benches,
    "preset": preset_benches,
    "switch": switch_benches,
    "hop": hop_benches,
    "station": station_benches,
    "sim": pod_benches,
    "silicon": silicon_benches,
}
"""The first word of the names of a group's rows, and what makes its benchmarks."""


class UnknownName(ValueError):
    """No row has this name or one that begins with it."""


def select(names: Iterable[str], options: Options, *, slow: bool = False) -> list[Bench]:
    """The benchmarks whose rows ``names`` mean, with those rows alone; all of them if there are no names.

    A name means the row of that name and all whose names go on from it with a dot. After ``silicon``, its blocks need
    no more than their own names. Slow benchmarks have to be meant by more than their group, unless ``slow`` or that has
    no others.
    """
    benches = [bench for make in GROUPS.values() for bench in make(options)]
    names = _in_full(tuple(names))
    for name in names:
        if not any(_means(name, row) for bench in benches for row in bench.rows):
            raise UnknownName(f"there is no row {name!r}; groups are {', '.join(GROUPS)}")
    quick = [row for bench in benches if not bench.slow for row in bench.rows]
    exact = tuple(name for name in names if name not in GROUPS or not any(_means(name, row) for row in quick))
    chosen = []
    for bench in benches:
        asking = names if slow or not bench.slow else exact
        wanted = tuple(row for row in bench.rows if any(_means(name, row) for name in asking))
        if not names:
            wanted = () if bench.slow and not slow else bench.rows
        if wanted:
            chosen.append(replace(bench, rows=wanted))
    return chosen


def run(benches: Sequence[Bench], progress: Callable[[str], None] = lambda _: None) -> Iterator[Row]:
    """Measure one benchmark after the other; ``progress`` is told the first row of each before it starts."""
    for bench in benches:
        progress(bench.rows[0].name)
        yield from take(bench)


def _means(name: str, row: Row) -> bool:
    return row.name == name or row.name.startswith(f"{name}.")


def _in_full(names: tuple[str, ...]) -> tuple[str, ...]:
    blocks = tuple(name for name in names if name in BLOCKS)
    if "silicon" not in names or not blocks:
        return names
    others = tuple(name for name in names if name not in blocks and name != "silicon")
    return (*others, *(f"silicon.{name}" for name in blocks))
