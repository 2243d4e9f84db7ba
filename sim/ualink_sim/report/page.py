"""The report of a simulation: one HTML page with its drawings, styles and script inside."""

import math
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from .accelerators import crossings
from .charts import histogram, link_chart, timeline, topology
from .link_result import LinkResult
from .measure import KINDS, latencies
from .results import WITHOUT_LINKS, Results, write_atomically

__all__ = ["render_report", "write_report"]

TIMELINE_TRANSACTIONS = 160
MOST_DRAWN = 8
"""Accelerators that have a place around the switch in the drawing."""
CHART_POINTS = 120


def write_report(results: Results, path: str | Path) -> None:
    """Write the report to ``path``, whole or not at all."""
    write_atomically(Path(path), render_report(results))


def render_report(results: Results) -> str:
    """The report as HTML."""
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["number"] = lambda value: f"{value:,}".replace(",", "\u202f")
    environment.filters["percent"] = lambda value: f"{100 * value:.1f} %"
    template = files("ualink_sim") / "templates" / "report.html.j2"
    return environment.from_string(template.read_text(encoding="utf-8")).render(_view(results))


def _view(results: Results) -> dict[str, Any]:
    pod = results.scenario.pod
    gbps = 8 * pod.clock_mhz / 1000  # Gb/s of one byte a cycle
    line_rate = 64 * gbps / pod.ports
    peak = max((b.data_bytes / b.cycles for link in results.links for b in link.buckets if b.cycles), default=0) * gbps
    # In a bucket of a few cycles a single beat is more than the wire can carry.
    top = _round_up(min(peak, line_rate))
    summary = results.summary()
    rows = summary["links"]
    if rows is None:
        rows = crossings(results.transactions, results.run, results.steady_state, pod)
    by_kind = {kind: latencies(results.transactions, kind) for kind in KINDS}
    return {
        "title": results.scenario.path.stem,
        "results": results,
        "scenario": results.scenario,
        "without_links": WITHOUT_LINKS,
        "summary": summary,
        "microseconds": results.cycles / pod.clock_mhz,
        "line_rate": line_rate,
        "top": top,
        "topology": topology(results, rows) if pod.accelerators <= MOST_DRAWN else None,
        "links": [_link(*both, results, gbps, top) for both in zip(results.links, summary["links"] or ())],
        "kinds": [(kind, len(by_kind[kind]), summary["latency_cycles"][kind]) for kind in KINDS if by_kind[kind]],
        "histogram": histogram(by_kind),
        "timeline": timeline(results, TIMELINE_TRANSACTIONS),
        "faults": [t for t in results.transactions if t.mismatch or (t.completed is None and not t.withdrawn)][:20],
    }


def _link(link: LinkResult, row: dict[str, Any], results: Results, gbps: float, top: float) -> dict[str, Any]:
    waits = sorted(replay.cycles for replay in link.replays if replay.cycles is not None)
    return {
        **row,
        "rates": row["steady_state"] or row["run"],
        "replayed": link.total("replayed"),
        "recovery": (waits[len(waits) // 2], waits[-1]) if waits else None,
        "chart": link_chart(link, results.cycles, gbps, top, CHART_POINTS),
    }


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10 … at or above ``value``: the top of an axis."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value * 0.999)
