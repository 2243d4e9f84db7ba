"""Virtual pods, as summary.json has them: what went on in each while it was there, and what was done to it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..pod.scenario import Scenario
from ..records import FlowCounts, Transaction, VPodEvent
from .measure import grouped, throughput
from .windows import Window, gigabits

__all__ = ["Span", "event_rows", "lifetimes", "present", "vpod_rows"]


@dataclass(frozen=True)
class Span:
    """``members`` make up a virtual pod from cycle ``start`` to cycle ``end`` - 1; None: to the end."""

    members: tuple[int, ...]
    start: int
    end: int | None = None

    def holds(self, transaction: Transaction) -> bool:
        """Whether ``transaction`` is among the members, and was issued in this time; or never, among members."""
        issued = transaction.issued
        within = issued is None or (self.start <= issued and (self.end is None or issued < self.end))
        return within and transaction.src in self.members and transaction.dst in self.members


def lifetimes(scenario: Scenario, events: Sequence[VPodEvent]) -> dict[str, list[Span]]:
    """The spans of each virtual pod, by name; one begins and ends when a change is done."""
    spans = {name: [Span(members, 0)] for name, members in zip(scenario.vpod_names, scenario.vpods)}
    for event in events:
        of = spans.setdefault(event.vpod, [])
        if of and of[-1].end is None:
            of[-1] = Span(of[-1].members, of[-1].start, event.done)
        if event.members:
            of.append(Span(event.members, event.done))
    return spans


def vpod_rows(
    scenario: Scenario,
    transactions: Sequence[Transaction],
    run: Window,
    events: Sequence[VPodEvent],
    flows: dict[str | None, FlowCounts],
) -> list[dict[str, Any]]:
    """A row for each virtual pod in which there are requests; those between virtual pods belong to none."""
    spans, clock = lifetimes(scenario, events), scenario.pod.clock_mhz
    names = list(spans)
    asked = [workload.vpod for workload in scenario.workloads]

    def place(transaction: Transaction) -> int:
        name = asked[transaction.workload]
        if name is not None:
            return names.index(name) if name in names else -1
        return next((n for n, of in enumerate(spans.values()) if any(span.holds(transaction) for span in of)), -1)

    groups = grouped(transactions, place)
    return [
        {
            "vpod": number,
            "name": names[number],
            "members": list(spans[names[number]][-1].members),
            **throughput(group, run, clock),
            "incomplete": sum(t.completed is None and not t.withdrawn for t in group),
            "withdrawn": sum(t.withdrawn for t in group),
            "lifetime": _lifetime(spans[names[number]], group, run, clock),
            "flow": asdict(flows[names[number]]) if names[number] in flows else None,
        }
        for number, group in groups.items()
        if number >= 0
    ]


def _lifetime(spans: Sequence[Span], group: Sequence[Transaction], run: Window, clock_mhz: float) -> dict[str, Any]:
    """The time in ``run`` in which there was the virtual pod, and the rate over it."""
    bounds = [(max(run.start, span.start), min(run.end, run.end if span.end is None else span.end)) for span in spans]
    lived = [(span, start, end) for span, (start, end) in zip(spans, bounds) if start < end]
    told = [{"from": start, "to": end, "members": list(span.members)} for span, start, end in lived]
    cycles = sum(end - start for _, start, end in lived)
    count = sum(t.len for t in group if t.completed is not None)
    rate = gigabits(count, Window(start=0, end=cycles, basis=run.basis), clock_mhz)
    return {"cycles": cycles, "gbps": round(rate, 3), "spans": told}


def present(scenario: Scenario, events: Sequence[VPodEvent]) -> dict[int, str]:
    """The virtual pod of each accelerator that is in one at the end."""
    return {
        member: name
        for name, spans in lifetimes(scenario, events).items()
        for span in spans
        if span.end is None
        for member in span.members
    }


def event_rows(events: Sequence[VPodEvent]) -> list[dict[str, Any]]:
    """What was done to virtual pods, in order."""
    return [asdict(event) for event in events]
