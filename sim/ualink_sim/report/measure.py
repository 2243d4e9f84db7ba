"""Throughput and latency of groups of transactions, as summary.json has them."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..records import Transaction
from .windows import Window, gigabits, steady_state

__all__ = ["KINDS", "PERCENTILES", "bounds", "grouped", "latencies", "latency_table", "moved", "throughput"]

KINDS = ("read", "write", "atomic")
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def grouped(transactions: Iterable[Transaction], key: Callable[[Transaction], Any]) -> dict[Any, list[Transaction]]:
    """Transactions by ``key``, in ascending order of it."""
    groups: dict[Any, list[Transaction]] = defaultdict(list)
    for transaction in transactions:
        groups[key(transaction)].append(transaction)
    return dict(sorted(groups.items()))


def moved(transactions: Iterable[Transaction], window: Window | None, clock_mhz: float) -> dict[str, Any] | None:
    """Bytes that requests which completed in ``window`` asked for, and their rate; None without a window."""
    if window is None:
        return None
    count = sum(t.len for t in transactions if window.holds(t.completed))
    return {"bytes": count, "gbps": round(gigabits(count, window, clock_mhz), 3)}


def throughput(transactions: Sequence[Transaction], run: Window, clock_mhz: float) -> dict[str, Any]:
    """Whole run and steady state of a group of transactions that has a steady state of its own."""
    steady = steady_state(transactions)
    told = None if steady is None else bounds(steady) | (moved(transactions, steady, clock_mhz) or {})
    return {
        "transactions": len(transactions),
        "run": moved(transactions, run, clock_mhz),
        "steady_state": told,
        "latency_cycles": latency_table(transactions),
    }


def bounds(window: Window) -> dict[str, Any]:
    """A window in summary.json."""
    return {"from": window.start, "to": window.end, "cycles": window.cycles, "window": window.basis}


def latencies(transactions: Iterable[Transaction], kind: str) -> list[int]:
    """Sorted latencies of ``read``, ``write`` or ``atomic`` transactions."""
    return sorted(t.latency for t in transactions if t.kind == kind and t.latency is not None)


def latency_table(transactions: Sequence[Transaction]) -> dict[str, dict[str, int | None]]:
    """Nearest-rank percentiles by kind of operation; None where there are no transactions."""
    return {kind: _percentiles(latencies(transactions, kind)) for kind in KINDS}


def _percentiles(ordered: list[int]) -> dict[str, int | None]:
    def rank(fraction: float) -> int | None:
        # Rounded first: 0.999 * 1000 is a little above 999.
        return ordered[max(0, math.ceil(round(fraction * len(ordered), 6)) - 1)] if ordered else None

    return {name: rank(fraction) for name, fraction in PERCENTILES.items()}
