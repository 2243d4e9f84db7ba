"""One block, from its description to its figures."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from amaranth.lib import wiring

from ualink.emit.memories import free_collisions
from ualink.emit.verilog import to_rtlil

from ..liberty import Library, liberty_text, read_library
from ..rows import Unavailable
from ..toolbox import kept
from .edges import Edges
from .mapping import abc_constraints, abc_script, instances, run_yosys, script, yosys
from .memories import ADDRESS_BITS, macro_pins, macro_timing, macros_for_yosys
from .repair import read_repairs, repair_script
from .story import is_edge, tell_path
from .timing import Endpoint, run_sta, sta_script, sta_version

__all__ = ["figures", "ready"]

_MEMORIES = "memories.lib"


def ready(liberties: Sequence[Path]) -> Library:
    """The library, if all that a measurement needs is there; Unavailable with what is missing otherwise."""
    if not liberties:
        raise Unavailable("give the files of a standard-cell library with --liberty")
    library = read_library(liberties)
    library.check()
    yosys()
    sta_version()
    return library


def figures(make: Callable[[], wiring.Component], name: str, liberties: Sequence[Path], period_ps: int) -> dict:
    """Figures of a block: ``worst_slack_ps``, ``longest_path_ps``, ``violating``, ``endpoints`` of its paths to
    registers and memories, ``outputs`` and ``path`` in words, ``area_um2`` and ``area_kge`` without memories,
    ``registers``; ``resized`` gates and ``rebuffered`` inputs, and before these repairs ``mapped_path_ps`` and
    ``mapped_violating``.
    """
    library = ready(liberties)
    files = {f"{number}.lib": liberty_text(file) for number, file in enumerate(liberties)}
    inputs = {
        **files,
        _MEMORIES: macro_timing(),
        "macros.txt": macros_for_yosys(),
        "pins.v": macro_pins(),
        "top.il": free_collisions(to_rtlil(Edges(make()), "top")),
        "silicon.ys": script([*files]),
        "abc.script": abc_script(period_ps),
        "abc.constr": abc_constraints(library.driver),
        "sta.tcl": sta_script([*files, _MEMORIES], period_ps, repair_script(library, period_ps)),
        "sta.version": sta_version(),
    }
    return kept(name, inputs, (yosys(),), partial(_measure, library, period_ps))


def _measure(library: Library, period_ps: int, folder: Path) -> dict:
    run_yosys(folder)
    timing, repairs = run_sta(folder), read_repairs(folder)
    cells = repairs.of(instances(Path(folder, "top.v").read_text()))
    before, inner = _inner(timing.mapped), _inner(timing.endpoints)
    outer = [endpoint.slack_ps for endpoint in timing.endpoints if is_edge(endpoint.instance)]
    outputs = {cell.name: cell.outputs for cell in library.cells.values()}
    outputs |= {f"__RAM{bits}": ("PORT_R_RD_DATA",) for bits in ADDRESS_BITS}
    known = [(cell, library.cells[cell.cell]) for cell in cells if cell.cell in library.cells]
    counted = [kind for cell, kind in known if not (kind.flip_flop and is_edge(cell.name))]
    area = sum(kind.area for kind in counted)
    worst = min(inner, default=float(period_ps))
    return {
        "worst_slack_ps": round(worst),
        "longest_path_ps": round(period_ps - worst),
        "violating": sum(slack < 0 for slack in inner),
        "endpoints": len(inner),
        "area_um2": round(area),
        "area_kge": round(area / library.gate / 1000, 1),
        "registers": sum(kind.flip_flop for kind in counted),
        "resized": len(repairs.sized),
        "rebuffered": repairs.moved,
        "mapped_path_ps": round(period_ps - min(before, default=float(period_ps))),
        "mapped_violating": sum(slack < 0 for slack in before),
        "path": tell_path(timing.path, cells, outputs),
        "outputs": f"{sum(slack < 0 for slack in outer)} of {len(outer)} output bits violate, "
        f"longest {round(period_ps - min(outer, default=period_ps))} ps",
    }


def _inner(endpoints: Sequence[Endpoint]) -> list[float]:
    return [endpoint.slack_ps for endpoint in endpoints if not is_edge(endpoint.instance)]
