"""Rows that say how long a beat is in the transaction layer of an idle link."""

from .rows import Bench, Row
from .tl_pair import latencies
from .tl_patterns import READ, WRITE_FULL, Kind, Pattern

__all__ = ["benches"]

TRIES = 10
MOST = {"tx": 3, "rx": 7}
"""Cycles that a beat may take, in each direction."""

_RUNS = (("read", "read_response", READ, "rd_rsp"), ("write", "write_response", WRITE_FULL, "wr_rsp"))
_HOW = {
    "tx": "beat accepted to the flit offered that has its field",
    "rx": "flit, the last one with its data if it has any, to the beat offered",
}


def benches() -> list[Bench]:
    """Four kinds of beats and the worst of them, both directions."""
    rows = []
    for direction, how in _HOW.items():
        prefix = f"tl.{direction}.idle_latency_cycles"
        text = f"{how}; idle link, 64 bytes of data, longest of {TRIES}"
        rows.append(_row(direction, prefix, f"worst of the rows below: {text}"))
        rows += [
            _row(direction, f"{prefix}.{kind}", text) for request, answer, *_ in _RUNS for kind in (request, answer)
        ]
    return [Bench(tuple(rows), _measure)]


def _row(direction: str, name: str, how: str) -> Row:
    return Row(name=name, unit="cycles", limit=MOST[direction], how=how)


def _measure() -> dict[str, float]:
    values: dict[str, float] = {}
    for request, answer, cmd, channel in _RUNS:
        found = latencies(Pattern(kinds=(Kind(cmd, 1),)), channel, TRIES)
        for direction in _HOW:
            prefix = f"tl.{direction}.idle_latency_cycles"
            values[f"{prefix}.{request}"] = found[f"request_{direction}"]
            values[f"{prefix}.{answer}"] = found[f"response_{direction}"]
    for direction in _HOW:
        prefix = f"tl.{direction}.idle_latency_cycles"
        values[prefix] = max(value for name, value in values.items() if name.startswith(f"{prefix}."))
    return values
