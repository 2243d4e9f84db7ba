"""Rows of ``ualink bench silicon``."""

from collections.abc import Mapping

from ..rows import Bench, Options, Row, Told
from .blocks import BLOCKS, FAST
from .measure import figures, ready
from .memories import CLOCK_TO_OUTPUT_PS, SET_UP_PS

__all__ = ["benches"]

_UNITS = {
    "longest_path_ps": "ps",
    "worst_slack_ps": "ps",
    "violating": "endpoints",
    "endpoints": "endpoints",
    "area_um2": "area of the library",
    "area_kge": "kGE",
    "registers": "registers",
    "resized": "gates",
    "rebuffered": "inputs",
    "mapped_path_ps": "ps",
    "mapped_violating": "endpoints",
}
_WHAT = {
    "longest_path_ps": "longest path from a register, memory or input to a register or memory, set-up included",
    "worst_slack_ps": "slack of the longest path",
    "violating": "registers and memories, bit by bit, that a path reaches too late",
    "endpoints": "registers and memories, bit by bit, at which paths end",
    "area_um2": "without memories, mostly square micrometres",
    "area_kge": "without memories, in thousands of the smallest NAND2",
    "registers": "flip-flops, those of the ports left out",
    "resized": "gates and registers of late paths that OpenSTA gave another size, for all rows above",
    "rebuffered": "inputs that OpenSTA gave another buffer, or none, for all rows above",
    "mapped_path_ps": "longest path as ABC leaves it",
    "mapped_violating": "registers and memories, bit by bit, that a path reaches too late as ABC leaves it",
}
_TOLD = {"longest_path_ps": "path", "violating": "outputs"}


def benches(options: Options) -> list[Bench]:
    """One a block; those that are not fast have to be named."""
    return [_bench(block, options) for block in BLOCKS]


def _bench(block: str, options: Options) -> Bench:
    what, make = BLOCKS[block]
    prefix, period = f"silicon.{block}", options.period_ps
    assumed = (
        f"{what}; Yosys, ABC and OpenSTA for {period} ps, before layout; memories {CLOCK_TO_OUTPUT_PS} ps to the "
        f"output, {SET_UP_PS} ps set-up"
    )
    limits = {"longest_path_ps": period, "worst_slack_ps": 0, "violating": 0}

    def measure() -> Mapping[str, float | Told]:
        found = figures(make, prefix, options.liberties, period)
        return {
            f"{prefix}.{kind}": Told(found[kind], found[_TOLD[kind]]) if kind in _TOLD else found[kind]
            for kind in _UNITS
        }

    rows = tuple(
        Row(name=f"{prefix}.{kind}", unit=unit, limit=limits.get(kind), how=f"{_WHAT[kind]}; {assumed}")
        for kind, unit in _UNITS.items()
    )
    return Bench(rows, measure, ready=lambda: ready(options.liberties), slow=block not in FAST)
