"""What a fault may and must lead to, and the judge of what one has led to."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from support.faults.strikes import HERE, THERE, Strike

__all__ = ["CLEAR", "NOTHING", "RESET", "Kind", "Outcome", "Report", "judge"]

NOTHING, CLEAR, RESET = "nothing", "clear", "reset"
"""What brings the system back to full bandwidth: nothing need be done, firmware clears, or a reset only."""

OTHERS = "@others"
FULL = 0.9
"""Least bandwidth after a fault, of that before it."""
LEFT = 0.5
"""The same where credits are lost until a reset."""


@dataclass(frozen=True)
class Outcome:
    """What one end shows: all of ``must``, of ``may`` anything, and nothing else.

    Words are "window.event" of the interrupts, "drop.cause", "isolation.cause", "originator.what" of the accelerator's
    Originator, "count.counter" of the data link and "error.name" of the TL's receiver for what has counted, and "ask."
    with "time_out", "abort" or "poison" for Requests of this end that ended so. "@others" follows where it is of
    another port than the struck one.
    """

    must: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()

    @classmethod
    def of(cls, must: Iterable[str] = (), may: Iterable[str] = ()) -> "Outcome":
        return cls(frozenset(must), frozenset(may))


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes
    ----------
    name : short, of lower case letters.
    section, requirements : of the standard, where ``here`` and ``there`` are from.
    strike : what is done.
    here, there : what either end shows then.
    recovery : ``NOTHING``, ``CLEAR`` or ``RESET``.
    switch : the TLs are those of a switch, where a Link Down is the port's own.
    ports : numbers of ports of the stations that are struck.
    of_ports : what happens to ports beside the struck one is the point of it.
    """

    name: str
    section: str
    requirements: tuple[str, ...]
    strike: Strike
    here: Outcome
    there: Outcome
    recovery: str = CLEAR
    switch: bool = False
    ports: tuple[int, ...] = (1, 4)
    of_ports: bool = False


@dataclass
class Report:
    """What was seen of one fault.

    Attributes
    ----------
    kind, seed, ports, port : which fault.
    struck : it was; what was flipped is in ``story``.
    shown : words of ``Outcome`` by end.
    wrong : what may never be, in words: wrong data, a Response too many, a Request that nobody sent, a hang.
    before, cleared, after : bandwidth in bytes per cycle: before the fault, after firmware has cleared, and at last.
    """

    kind: str
    seed: int
    ports: int
    port: int = 0
    struck: bool = False
    story: str = ""
    shown: dict[str, list[str]] = field(default_factory=lambda: {HERE: [], THERE: []})
    wrong: list[str] = field(default_factory=list)
    before: float = 0.0
    cleared: float = 0.0
    after: float = 0.0


def judge(kind: Kind, report: Report) -> list[str]:
    """What is wrong with what a fault of ``kind`` has led to; empty: nothing."""
    found = list(report.wrong)
    if not report.struck:
        found.append("nothing was struck")
    for end, outcome in ((HERE, kind.here), (THERE, kind.there)):
        shown = frozenset(report.shown[end])
        must = {word for word in outcome.must if report.ports > 1 or not word.endswith(OTHERS)}
        if missing := must - shown:
            found.append(f"{end} does not show {', '.join(sorted(missing))}")
        if besides := shown - must - outcome.may:
            found.append(f"{end} shows {', '.join(sorted(besides))}")
    if report.cleared < (LEFT if kind.recovery == RESET else FULL) * report.before:
        found.append(f"{report.cleared:.2f} bytes a cycle afterwards, {report.before:.2f} before")
    if not report.after >= FULL * report.before > 0:
        found.append(f"{report.after:.2f} bytes a cycle at last, {report.before:.2f} before")
    return found
