"""Bandwidth of collective operations as their users quote it."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..pod.workload_table import COLLECTIVES, Workload
from ..records import Transaction
from .measure import grouped

__all__ = ["collectives"]


def collectives(
    workload: Workload, transactions: Sequence[Transaction], vpods: Mapping[int, Sequence[int]], clock_mhz: float
) -> list[dict[str, Any]]:
    """What ``transactions``, all of ``workload``, did as one operation in each of ``vpods``, members by
    number; empty for other kinds. A virtual pod whose members change does none.

    ``busbw`` is what a member sends in the time of the whole operation, in GB/s, 10^9 bytes a second; ``algbw`` is its
    buffer in this time. An allreduce among n sends 2(n - 1)/n times its buffer, an alltoall, of whose buffer one part
    stays where it is, (n - 1)/n times. Both are None while anything is missing.
    """
    if workload.kind not in COLLECTIVES:
        return []
    place = {member: number for number, members in vpods.items() for member in members}
    return [
        {"vpod": number, **_operation(workload.kind, len(vpods[number]), group, clock_mhz)}
        for number, group in grouped(transactions, lambda t: place.get(t.src, -1)).items()
        if number >= 0
    ]


def _operation(kind: str, members: int, group: Sequence[Transaction], clock_mhz: float) -> dict[str, Any]:
    sent = sum(t.len for t in group) / members
    ratio = 2 * (members - 1) / members if kind == "allreduce" else (members - 1) / members
    row: dict[str, Any] = {"members": members, "bytes": round(sent / ratio)}
    row |= {"cycles": None, "algbw": None, "busbw": None}
    done = [(t.issued, t.completed) for t in group if t.issued is not None and t.completed is not None]
    if len(done) == len(group):
        cycles = max(completed for _, completed in done) - min(issued for issued, _ in done)
        busbw = sent / cycles * clock_mhz / 1000
        row |= {"cycles": cycles, "algbw": round(busbw / ratio, 3), "busbw": round(busbw, 3)}
    return row
