"""What ``ualink sim`` prints."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from .measure import PERCENTILES
from .results import WITHOUT_LINKS, Results

__all__ = ["show_summary"]

MOST_FAULTS = 4
CONTROL = {
    "control_slots": "control",
    "fault_slots": "faults",
    "markers": "markers",
    "inserted_blocks": "inserted",
    "deleted_blocks": "deleted",
    "link_downs": "downs",
}
"""Counts that are told of links with reconciliation sublayers or that went down, and their headings."""

VPOD_HEADINGS = ("members", "transactions", "withdrawn", "life Gb/s", "items", "denied")


def show_summary(results: Results, folder: Path, console: Console | None = None) -> None:
    """Print the verdict, throughput and errors by link direction, throughput by workload, latencies, and where the
    files are. Every table keeps all its columns at 80 characters; what does not fit folds."""
    console = console or Console(highlight=False)
    summary = results.summary()
    verdict = "[green]every byte matched[/]" if results.passed else "[red]failed[/]"
    withdrawn = f", {results.withdrawn} withdrawn" if results.withdrawn else ""
    console.print(
        f"{len(results.transactions)} transactions, {results.mismatches} mismatches, {results.incomplete} incomplete"
        f"{withdrawn}: "
        f"{verdict}; {results.cycles} cycles in {results.seconds:.1f} s",
        soft_wrap=True,
    )
    if not results.has_links:
        console.print(WITHOUT_LINKS, soft_wrap=True)
    if results.remark:
        console.print(f"[red]{results.remark}[/]", soft_wrap=True)
    _show_faults(console, results.faults)
    steady, run = summary["steady_state"], summary["run"]
    if steady is not None:
        console.print(
            f"steady state: {steady['gbps']:,.1f} Gb/s, cycles {steady['from']} to {steady['to']} ({steady['window']})",
            f"whole run:    {run['gbps']:,.1f} Gb/s, cycles {run['from']} to {run['to']} ({run['window']})",
            sep="\n",
            soft_wrap=True,
        )
        if results.has_links:
            _show(
                console, ("link, steady state", "Gb/s", "data/wire", "TL eff.", "DL util.", "run Gb/s"), _rates(summary)
            )
        else:
            _show(console, ("steady state", "Gb/s asked", "Gb/s served", "transactions"), _accelerators(summary))
    if len(summary["workloads"]) > 1:
        _show(console, ("workload", "transactions", "steady Gb/s", "from", "to", "run Gb/s"), _workloads(summary))
    if len(summary["vpods"]) > 1 or summary["vpod_changes"]:
        _show(console, ("virtual pod", *VPOD_HEADINGS), _vpods(summary))
    if summary["vpod_changes"]:
        _show(console, ("change", "virtual pod", "members", "from", "to"), _changes(summary))
    operations = list(_collectives(summary))
    if operations:
        _show(
            console, ("collective", "vpod", "members", "bytes each", "cycles", "algbw GB/s", "busbw GB/s"), operations
        )
    if results.has_links:
        _show(console, ("link, since reset", "flits", "payload", "replays", "CRC", "lost"), _counts(summary))
    if any(link["markers"] or link["link_downs"] for link in summary["links"] or ()):
        _show(console, ("link, since reset", *CONTROL.values()), _control(summary))
    rows = [(kind, *row.values()) for kind, row in summary["latency_cycles"].items() if row["max"] is not None]
    if rows:
        _show(console, ("latency, cycles", *PERCENTILES), rows)
    console.print(f"report:  {folder / 'report.html'}", soft_wrap=True)
    if results.has_links:
        console.print(f"capture: {folder / 'capture.pcapng'}", soft_wrap=True)


def _show_faults(console: Console, faults: list[str]) -> None:
    for fault in faults[:MOST_FAULTS]:
        console.print(f"[red]{fault}[/]", soft_wrap=True)
    if len(faults) > MOST_FAULTS:
        console.print(f"[red]and {len(faults) - MOST_FAULTS} more directions of links[/]", soft_wrap=True)


def _show(console: Console, headings: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(str, row))
    console.print(table)


def _rates(summary: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    for link in summary["links"]:
        row = link["steady_state"]
        shares = (f"{row[key]:.2%}" for key in ("wire_efficiency", "tl_efficiency", "dl_utilisation"))
        yield link["name"], f"{row['gbps']:,.1f}", *shares, f"{link['run']['gbps']:,.1f}"


def _accelerators(summary: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    for row in summary["accelerators"]:
        rates = (f"{row[key]['steady_state']['gbps']:,.1f}" for key in ("asked", "served"))
        yield f"accelerator {row['accelerator']}", *rates, row["transactions"]


def _workloads(summary: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    for row in summary["workloads"]:
        steady = row["steady_state"] or {"gbps": 0.0, "from": "-", "to": "-"}
        name = f"{row['workload']} {row['kind']}"
        yield (
            name,
            row["transactions"],
            f"{steady['gbps']:,.1f}",
            steady["from"],
            steady["to"],
            f"{row['run']['gbps']:,.1f}",
        )


def _vpods(summary: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    for row in summary["vpods"]:
        told = ("-", "-") if row["flow"] is None else (row["flow"]["accepted"], row["flow"]["denied"])
        rate = f"{row['lifetime']['gbps']:,.1f}"
        yield row["name"], _listed(row["members"]), row["transactions"], row["withdrawn"], rate, *told


def _changes(summary: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    for row in summary["vpod_changes"]:
        action = row["action"] + ("" if row["drain"] else ", at once")
        yield action, row["vpod"], _listed(row["members"]), row["begun"], row["done"]


def _listed(members: Iterable[int]) -> str:
    return ", ".join(map(str, members)) or "-"


def _collectives(summary: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    for workload in summary["workloads"]:
        for row in workload["collectives"]:
            told = ("-" if row[key] is None else row[key] for key in ("cycles", "algbw", "busbw"))
            yield f"{workload['workload']} {workload['kind']}", row["vpod"], row["members"], row["bytes"], *told


def _counts(summary: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    for link in summary["links"]:
        yield tuple(link[key] for key in ("name", "flits", "payload_flits", "replays", "crc_errors", "lost_flits"))


def _control(summary: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    for link in summary["links"]:
        yield tuple(link[key] for key in ("name", *CONTROL))
