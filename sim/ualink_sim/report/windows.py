"""The spans of time over which throughput is measured: the whole run, and the steady state in it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from ..records import Transaction

__all__ = ["ALL_BUSY", "ROUTES_WRITTEN", "TRAFFIC", "WHOLE_RUN", "Window", "gigabits", "steady_state"]

ROUTES_WRITTEN = "routes are written to the end of the simulation"
WHOLE_RUN = "all links online to the end of the simulation"
ALL_BUSY = "all sources busy"
TRAFFIC = "first issue to last completion"

FEWEST_CYCLES = 1024
LEAST_SHARE = 1 / 3
"""A span in which all sources are busy is the steady state if it lasts ``FEWEST_CYCLES`` and ``LEAST_SHARE`` of all
bytes complete in it; else it would be an accident of where the sources begin and end."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """Cycles ``start`` to ``end`` - 1; ``basis`` says what sets the bounds."""

    start: int
    end: int
    basis: str

    @property
    def cycles(self) -> int:
        """Length, never below 0."""
        return max(0, self.end - self.start)

    def holds(self, cycle: int | None) -> bool:
        """Whether something that was over in ``cycle`` counts; what never was (None) never does."""
        return cycle is not None and (self.basis != ALL_BUSY or self.start <= cycle < self.end)

    def share(self, start: int, cycles: int) -> float:
        """The part that counts of what was seen in the ``cycles`` from ``start`` on: that of the time that lies in the
        window; all where the window is drawn around the traffic and touches them, as outside nothing moves."""
        within = min(self.end, start + cycles) - max(self.start, start)
        if within <= 0:
            return 0.0
        return 1.0 if self.basis == TRAFFIC else within / cycles


def gigabits(count: float, window: Window, clock_mhz: float) -> float:
    """Gb/s that ``count`` bytes in ``window`` make."""
    return 8 * count * clock_mhz / 1000 / window.cycles if window.cycles else 0.0


def steady_state(transactions: Iterable[Transaction]) -> Window | None:
    """Where ``transactions`` are in steady state; None when none completed.

    It begins when every source has been answered what it issued before its first Response came: by then queues hold
    what they will hold. It ends when the first source issues its last request, so that all have something to send.
    Where that is too short or holds too little (see ``LEAST_SHARE``), it is the time from the first issue to the last
    completion, and ``basis`` says so.
    """
    by_source: dict[int, list[Transaction]] = defaultdict(list)
    for transaction in transactions:
        by_source[transaction.src].append(transaction)
    done = [t for records in by_source.values() for t in records if t.completed is not None]
    if not done:
        return None
    starts = [_warm(records) for records in by_source.values()]
    if None not in starts:
        lasts = [max(t.issued for t in records if t.issued is not None) for records in by_source.values()]
        busy = Window(start=max(start for start in starts if start is not None), end=min(lasts), basis=ALL_BUSY)
        moved = sum(t.len for t in done if busy.holds(t.completed))
        if busy.cycles >= FEWEST_CYCLES and moved >= LEAST_SHARE * sum(t.len for t in done):
            return busy
    first_issue = min(t.issued for t in done if t.issued is not None)
    return Window(start=first_issue, end=max(t.completed for t in done if t.completed is not None), basis=TRAFFIC)


def _warm(records: Iterable[Transaction]) -> int | None:
    """When all has been answered that one source issued before its first Response; None when it never had one."""
    done = [(t.issued, t.completed) for t in records if t.issued is not None and t.completed is not None]
    first = min((completed for _, completed in done), default=None)
    return None if first is None else max(completed for issued, completed in done if issued < first)
