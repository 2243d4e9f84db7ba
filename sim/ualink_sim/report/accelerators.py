"""What each accelerator did, as summary.json has it, and what crossed its port."""

from collections.abc import Sequence
from typing import Any

from ..pod.scenario import Pod
from ..records import Transaction
from .measure import grouped, moved
from .windows import Window

__all__ = ["accelerator_rows", "crossings"]


def accelerator_rows(
    transactions: Sequence[Transaction], run: Window, steady: Window | None, pod: Pod
) -> list[dict[str, Any]]:
    """A row for each accelerator: its own requests, and the bytes of those that it asked for and that it served."""
    asked, served = grouped(transactions, lambda t: t.src), grouped(transactions, lambda t: t.dst)
    return [
        {
            "accelerator": number,
            "transactions": len(asked.get(number, ())),
            "mismatches": sum(bool(t.mismatch) for t in asked.get(number, ())),
            "incomplete": sum(t.completed is None and not t.withdrawn for t in asked.get(number, ())),
            **{
                name: {
                    "run": moved(group.get(number, ()), run, pod.clock_mhz),
                    "steady_state": moved(group.get(number, ()), steady, pod.clock_mhz),
                }
                for name, group in (("asked", asked), ("served", served))
            },
        }
        for number in range(pod.accelerators)
    ]


def crossings(
    transactions: Sequence[Transaction], run: Window, steady: Window | None, pod: Pod
) -> list[dict[str, Any]]:
    """Data to the switch and from it at each accelerator, named as the directions of links are: what stands for rows
    of links where there are none."""
    groups: dict[str, list[Transaction]] = {
        name: [] for n in range(pod.accelerators) for name in (f"acc{n}.0>sw{n}.0", f"sw{n}.0>acc{n}.0")
    }
    for t in transactions:
        sender, receiver = (t.dst, t.src) if t.kind == "read" else (t.src, t.dst)
        groups[f"acc{sender}.0>sw{sender}.0"].append(t)
        groups[f"sw{receiver}.0>acc{receiver}.0"].append(t)
    return [
        {"name": name, "run": moved(of, run, pod.clock_mhz), "steady_state": moved(of, steady, pod.clock_mhz)}
        for name, of in groups.items()
    ]
