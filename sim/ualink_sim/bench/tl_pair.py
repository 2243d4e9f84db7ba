"""Runs two transaction layers."""

import json
import tempfile
from dataclasses import dataclass
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

__all__ = ["Pair", "count", "latencies"]

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


@dataclass(frozen=True)
class Pair:
    """Two transaction layers of ``config``, with data links between them or without."""

    config: TLConfig = CONFIG
    data_links: bool = False

    @property
    def top(self) -> str:
        """The module that has both."""
        return "tl_link_pair" if self.data_links else "tl_pair"


@cache
def _model(pair: Pair) -> Model:
    top = pair.top

    def sources() -> dict[str, str]:
        return {f"{top}.v": to_verilog(PairTop(pair.config, MEDIA[top]()), top)}

    folder = Path(__file__).parent
    own_code = [path.read_text() for pattern in ("tl_pair_*.py", "link_*.py") for path in sorted(folder.glob(pattern))]
    try:
        return build_once(sources, top, "\0".join([repr(pair.config), *own_code]))
    except SimulatorError as error:
        raise Unavailable(str(error)) from None


def _simulate(test: str, pattern: Pattern, window: int, latency: int, pair: Pair, **job) -> dict:
    levels = {**pattern.levels(), **control_levels(pattern.control), "latency": latency, "window": window}
    model = _model(pair)
    with tempfile.TemporaryDirectory(prefix="ualink-") as folder:
        result = Path(folder, "result")
        environment = {"UALINK_JOB": json.dumps({"levels": levels, **job}), "UALINK_RESULT": str(result)}
        model.run("ualink_sim.bench.tl_pair_bench", testcase=test, environment=environment)
        return json.loads(result.read_text())


def count(
    pattern: Pattern, window: int, *, latency: int = WIRE, pair: Pair = Pair(), settle: int = SETTLE
) -> list[dict[str, int]]:
    """``COUNTS`` of the two transmitters of ``pair`` over ``window`` flits, after ``settle`` cycles."""
    found = _simulate(
        "counts",
        pattern,
        window,
        latency,
        pair,
        limits=pattern.limits,
        settle=settle,
        patience=PATIENCE * window,
    )
    return found["ends"]


def latencies(pattern: Pattern, answer: str, tries: int) -> dict[str, int]:
    """Most cycles of ``tries`` single Requests, which channel ``answer`` answers: ``request_tx`` … ``response_rx``."""
    found = _simulate("latency", pattern, 1, WIRE, Pair(), answer=answer, tries=tries)
    return {name: max(values) for name, values in found.items()}
