"""Geometry of the report's drawings: numbers and SVG paths, no markup."""

import math
from typing import Any

from ..records import COUNTS, Bucket
from .link_result import LinkResult
from .results import Results
from .virtual_pods import present

__all__ = ["histogram", "link_chart", "timeline", "topology"]

LINK_WIDTH, LINK_HEIGHT = 320, 72
LINK_SPAN = 40
"""Width of all links of an accelerator together."""
BARS = 48
FEW_FLITS = 16


def link_chart(link: LinkResult, cycles: int, gbps: float, top: float, points: int) -> dict[str, Any]:
    """Throughput as an area and TL efficiency as a line over time; replays as ticks.

    Data are counted at UPLI, cycles before or after the TL flits that carry them, so a bucket of few flits tells no
    efficiency, and one with data of its neighbour's flits none above 1.
    """
    buckets = _merge([bucket for bucket in link.buckets if bucket.cycles], points)
    end = max(cycles, 1)
    first = round(LINK_WIDTH * buckets[0].start / end, 1) if buckets else 0
    area, line, rows, drawing = [f"M{first} {LINK_HEIGHT}"], [], [], False
    for bucket in buckets:
        left, right = (round(LINK_WIDTH * t / end, 1) for t in (bucket.start, bucket.start + bucket.cycles))
        rate = bucket.data_bytes / bucket.cycles * gbps
        height = round(LINK_HEIGHT * (1 - min(1, rate / top)), 1)
        area.append(f"L{left} {height}L{right} {height}")
        told = bucket.tl_flits >= FEW_FLITS
        efficiency = min(1.0, bucket.data_bytes / (64 * bucket.tl_flits)) if told else None
        if efficiency is not None:
            y = round(LINK_HEIGHT * (1 - efficiency), 1)
            line.append(f"{'L' if drawing else 'M'}{left} {y}L{right} {y}")
        drawing = efficiency is not None
        rows.append([bucket.start, round(rate, 1), None if efficiency is None else round(100 * efficiency, 1)])
    last = round(LINK_WIDTH * (buckets[-1].start + buckets[-1].cycles) / end, 1) if buckets else 0
    return {
        "area": "".join(area) + f"L{last} {LINK_HEIGHT}Z",
        "line": "".join(line),
        "replays": [round(LINK_WIDTH * replay.cycle / end, 1) for replay in link.replays],
        "rows": rows,
    }


def _merge(buckets: list[Bucket], most: int) -> list[Bucket]:
    """At most ``most`` buckets that hold the same counts."""
    group = math.ceil(len(buckets) / most) if buckets else 1
    merged = []
    for first in range(0, len(buckets), group):
        parts = buckets[first : first + group]
        counts = {key: sum(getattr(part, key) for part in parts) for key in ("cycles", *COUNTS)}
        merged.append(Bucket(start=parts[0].start, **counts))
    return merged


def topology(results: Results, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Places of the accelerators around the switch, a line for each direction of each link with its rate in steady
    state (``rows`` are the links of the summary), and per accelerator the rates of its links together and the virtual
    pod that it is in at the end."""
    pod, vpods = results.scenario.pod, present(results.scenario, results.vpod_events)
    nodes: list[dict[str, Any]] = []
    for number in range(pod.accelerators):
        x, y = _place(number, pod.accelerators)
        mine: dict[str, list[dict[str, Any]]] = {"up": [], "down": []}
        for row in rows:
            sender, receiver = row["name"].split(">")
            for way, end in (("up", sender), ("down", receiver)):
                if end.startswith(f"acc{number}."):
                    rate = (row["steady_state"] or row["run"])["gbps"]
                    mine[way].append({"name": row["name"], "way": way, "port": int(end.split(".")[1]), "gbps": rate})
        rates = {way: sum(line["gbps"] for line in lines) for way, lines in mine.items()}
        lines = mine["up"] + mine["down"]
        nodes.append(
            {"number": number, "x": round(x, 1), "y": round(y, 1), "vpod": vpods.get(number), "lines": lines, **rates}
        )
    busiest = max((line["gbps"] for node in nodes for line in node["lines"]), default=0) or 1
    gap = LINK_SPAN / pod.ports
    for node in nodes:
        length = math.hypot(node["x"], node["y"])
        across = -node["y"] / length, node["x"] / length
        for line in node["lines"]:
            place = (line["port"] - (pod.ports - 1) / 2) * gap + (gap / 4 if line["way"] == "up" else -gap / 4)
            line["dx"], line["dy"] = (round(place * part, 1) for part in across)
            line["width"] = round(1 + (0.3 * gap - 1) * line["gbps"] / busiest, 1)
    return {"nodes": nodes, "vpods": len(results.scenario.memberships)}


def _place(number: int, count: int) -> tuple[float, float]:
    """Centre of an accelerator in the drawing."""
    angle = math.pi * (2 * number / count + (0.75 if count == 4 else 1.0 if count == 2 else 0.5) + 0.5)
    if count == 4:
        return math.copysign(205, math.cos(angle)), math.copysign(92, math.sin(angle))
    return 210 * math.cos(angle), 112 * math.sin(angle)


def histogram(latencies: dict[str, list[int]]) -> dict[str, Any]:
    """Stacked bars of latencies; the slowest 0.5 % share the last bar when they would stretch the axis."""
    together = sorted(value for values in latencies.values() for value in values)
    if not together:
        return {"bars": [], "top": 0, "ticks": [], "width": 0, "clipped": False}
    low, high = together[0], together[-1]
    knee = together[math.ceil(0.995 * len(together)) - 1]
    if high - low > 2 * (knee - low) > 0:
        high = knee
    width = max(1, math.ceil((high - low + 1) / BARS))
    count = (high - low) // width + 1
    bars: list[dict[str, Any]] = [{"from": low + n * width, "counts": {}} for n in range(count)]
    for kind, values in latencies.items():
        for value in values:
            counts = bars[min(count - 1, (value - low) // width)]["counts"]
            counts[kind] = counts.get(kind, 0) + 1
    top = max(sum(bar["counts"].values()) for bar in bars)
    ticks = [(n, low + n * width) for n in range(0, count, max(1, count // 6))]
    return {"bars": bars, "top": top, "ticks": ticks, "width": width, "clipped": together[-1] > low + count * width}


def timeline(results: Results, most: int) -> dict[str, Any]:
    """The first transactions by source, each in the first lane that is free; plain data for the page's script."""
    started = sorted((t for t in results.transactions if t.issued is not None), key=lambda t: (t.issued, t.line))[:most]
    sources: dict[int, list[int]] = {}
    rows = []
    for t in started:
        free = sources.setdefault(t.src, [])
        end = results.cycles if t.completed is None else t.completed
        lane = next((n for n, until in enumerate(free) if until <= (t.issued or 0)), len(free))
        free[lane : lane + 1] = [end]
        rows.append([t.line, t.src, t.dst, t.op, f"{t.addr:#x}", t.len, t.status, t.issued, t.completed, lane])
    replays = sorted((replay.cycle, link.name, replay.seq) for link in results.links for replay in link.replays)
    return {
        "rows": rows,
        "lanes": {source: len(free) for source, free in sorted(sources.items())},
        "replays": replays[:2000],
        "cycles": results.cycles,
    }
