"""What a pod without links cannot do: each is refused where a scenario asks for it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ualink.description.table import Table

from .layouts import LINES, MOST_LATENCY, TIME_BITS

if TYPE_CHECKING:
    from ..workload_table import Workload

__all__ = ["check_upli"]

WITH = "with pod.fidelity 'upli'"
KINDS = ("uniform", "neighbour", "alltoall", "hotspot")
OPERATIONS = ("read", "write", "write_full")
LINE_BYTES = 64
SPAN = LINES * LINE_BYTES
"""Bytes of an accelerator's memory."""


def check_upli(root: Table, workloads: Sequence["Workload"]) -> None:
    """Raise ``ScenarioError`` for what the links, traces or atomics of the scenario ``root`` would be needed for."""
    pod, link, run, switch = (root.table(name) for name in ("pod", "link", "run", "switch"))
    if pod.values.get("choosable_ports"):
        raise pod.fail("choosable_ports", f"is true; {WITH} each accelerator has one port, and nothing to choose")
    if pod.values.get("bifurcation", "x4") != "x4":
        raise pod.fail("bifurcation", f"is {pod.values['bifurcation']!r}; {WITH} each accelerator has one port, 'x4'")
    for name in ("tl", "dl", "phy"):
        for key in root.table(name).values:
            raise root.table(name).fail(key, f"means nothing {WITH}, where there are no links")
    for key in ("bit_error_rate", "drop_rate"):
        if link.values.get(key):
            raise link.fail(key, f"is {link.values[key]}; {WITH} there are no links, on which nothing is lost")
    for table in (*root.tables("cut"), *root.tables("vpod_change")):
        raise table.fail("", f"cannot be {WITH}")
    if run.values.get("bus_models"):
        raise run.fail("bus_models", f"is true; {WITH} accelerators are in the compiled model")
    if switch.values.get("injection"):
        raise switch.fail("injection", f"is true; {WITH} there is the core of the switch alone")
    for table, key, most in ((link, "latency_cycles", MOST_LATENCY), (run, "max_cycles", (1 << TIME_BITS) - 1)):
        if table.values.get(key, 0) > most:
            raise table.fail(key, f"is {table.values[key]}; {WITH} it is {most} at the most")
    for table, workload in zip(root.tables("workload"), workloads):
        _check_workload(table, workload)
    _check_span(root, workloads)


def _check_workload(table: Table, workload: "Workload") -> None:
    if workload.kind not in KINDS:
        raise table.fail("kind", f"is {workload.kind!r}; {WITH} it must be one of {', '.join(KINDS)}")
    mix: dict[str, Any] = vars(workload.mix)
    other = next((operation for operation, share in mix.items() if share and operation not in OPERATIONS), None)
    if other:
        raise table.fail("mix", f"has {other}; {WITH} there are {', '.join(OPERATIONS)}")
    if any(size % LINE_BYTES for size in workload.sizes):
        raise table.fail("sizes", f"are {list(workload.sizes)}; {WITH} they must be multiples of {LINE_BYTES}")


def _check_span(root: Table, workloads: Sequence["Workload"]) -> None:
    """Lines of an accelerator's memory are told apart by the low bits of their addresses."""
    low = min(workload.base for workload in workloads)
    for table, workload in zip(root.tables("workload"), workloads):
        span = workload.base + workload.footprint - low
        if span > SPAN:
            key = next((key for key in ("footprint", "base") if key in table.values), "")
            reason = f"ends {span} bytes after the lowest base of all workloads; {WITH} they use {SPAN} at the most"
            raise table.fail(key, reason)
