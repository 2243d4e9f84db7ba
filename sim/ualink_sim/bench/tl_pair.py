"""Runs two transaction layers."""

import json
import tempfile
from functools import cache
from pathlib import Path

from ualink.config import TLConfig
from ualink.emit.verilog import to_verilog
from ualink.tl.control import LIMITS_LAYOUT, TLControlSignature

from ..simulator import Model, SimulatorError, build_once
from .rows import Unavailable
from .tl_pair_top import PairTop
from .tl_pair_wire import FlitWire, LinkWire
from .tl_patterns import Pattern

__all__ = ["count", "latencies"]

CONFIG = TLConfig()
MEDIA = {"tl_pair": FlitWire, "tl_link_pair": LinkWire}
WIRE = 4
"""Cycles of each direction of the wire."""
SETTLE = 10_000
"""Cycles before a window opens: queues in front of the link grow to their lengths."""
PATIENCE = 20


def control_levels(control: dict[str, int]) -> dict[str, int]:
    """The ports of ``PairTop.control`` with ``control`` changed; a limit's name is ``limits.<kind of field>``."""
    known = {*TLControlSignature().members, *(f"limits.{name}" for name, _ in LIMITS_LAYOUT)}
    if not control.keys() <= known:
        raise ValueError(f"no such members of TLControlSignature: {', '.join(control.keys() - known)}")
    limits = {name: control.get(f"limits.{name}", 0) for name, _ in LIMITS_LAYOUT}
    levels = {name: control.get(name, 0) for name in TLControlSignature().members}
    levels["limits"] = LIMITS_LAYOUT.const(limits).as_bits()
    return {f"control__{name}": value for name, value in levels.items()}


@cache
def _model(top: str) -> Model:
    def sources() -> dict[str, str]:
        return {f"{top}.v": to_verilog(PairTop(CONFIG, MEDIA[top]()), top)}

    folder = Path(__file__).parent
    own_code = [path.read_text() for pattern in ("tl_pair_*.py", "link_*.py") for path in sorted(folder.glob(pattern))]
    try:
        return build_once(sources, top, "\0".join([repr(CONFIG), *own_code]))
    except SimulatorError as error:
        raise Unavailable(str(error)) from None


def _simulate(top: str, test: str, pattern: Pattern, latency: int, window: int, **job) -> dict:
    levels = {**pattern.levels(), **control_levels(pattern.control), "latency": latency, "window": window}
    model = _model(top)
    with tempfile.TemporaryDirectory(prefix="ualink-") as folder:
        result = Path(folder, "result")
        environment = {"UALINK_JOB": json.dumps({"levels": levels, **job}), "UALINK_RESULT": str(result)}
        model.run("ualink_sim.bench.tl_pair_bench", testcase=test, environment=environment)
        return json.loads(result.read_text())


def count(pattern: Pattern, window: int, *, latency: int = WIRE, data_links: bool = False) -> list[dict[str, int]]:
    """``COUNTS`` of the two transmitters over ``window`` flits, between transaction layers or those and data links."""
    found = _simulate(
        "tl_link_pair" if data_links else "tl_pair",
        "counts",
        pattern,
        latency,
        window,
        limits=pattern.limits,
        settle=SETTLE,
        patience=PATIENCE * window,
    )
    return found["ends"]


def latencies(pattern: Pattern, answer: str, tries: int) -> dict[str, int]:
    """Most cycles of ``tries`` single Requests, which channel ``answer`` answers: ``request_tx`` … ``response_rx``."""
    found = _simulate("tl_pair", "latency", pattern, WIRE, 1, answer=answer, tries=tries)
    return {name: max(values) for name, values in found.items()}
