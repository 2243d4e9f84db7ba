"""Repairs of late paths by the times of OpenSTA: gates and registers in other sizes, buffers passed by and put in.

ABC sizes gates and lays buffers by times of its own: it sees no registers, and takes one buffer to drive all inputs. A
flow for layout ends with repairs by the timer that judges, and so does this one (``repair.tcl``). Nothing is given
another function, and registers that stand for the neighbour at a port stay as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..liberty import Library
from .mapping import Instance

__all__ = ["Repairs", "read_repairs", "repair_script"]

_MOST, _HOPELESS = 2000, 100
"""So many repairs at most, and so many endpoints may be beyond help before the rest is left as it is: what is late all
over is not a matter of sizes."""

_DONE = "repairs.txt"


@dataclass(frozen=True)
class Repairs:
    """What was done: ``sized`` and ``new``, gates and the cells that they are now; ``gone``, buffers that nothing needs
    any more; ``moved``, inputs that have another buffer before them, or none."""

    sized: dict[str, str]
    new: dict[str, str]
    gone: frozenset[str]
    moved: int

    def of(self, cells: Sequence[Instance]) -> list[Instance]:
        """``cells`` after the repairs; the pins are those from before."""
        stay = [cell for cell in cells if cell.name not in self.gone]
        return [
            *(replace(cell, cell=self.sized.get(cell.name, cell.cell)) for cell in stay),
            *(Instance(cell, name, {}) for name, cell in self.new.items()),
        ]


def repair_script(library: Library, period_ps: int) -> str:
    """What OpenSTA does between its first look at the endpoints and its last, and writes down for ``read_repairs``."""
    lines = [f"set other({cell}) {{{' '.join(others)}}}" for cell, others in sorted(library.sizes().items())]
    buffers = " ".join(f"{{{' '.join((cell.name, *cell.inputs, *cell.outputs))}}}" for cell in library.buffers())
    lines += [
        f"set buffers {{{buffers}}}",
        f"set patient {period_ps / 25:.1f}",
        f"set margin {period_ps / 640:.1f}",
        f"set most {_MOST}",
        f"set hopeless {_HOPELESS}",
        f"set done {_DONE}",
    ]
    return "\n".join([*lines, Path(__file__).with_name("repair.tcl").read_text()])


def read_repairs(folder: Path) -> Repairs:
    """What OpenSTA has written down."""
    found: dict[str, list[list[str]]] = {kind: [] for kind in ("size", "new", "gone", "load")}
    for line in Path(folder, _DONE).read_text().splitlines():
        kind, *what = line.replace("\\", "").split()
        found[kind].append(what)
    return Repairs(
        sized={gate: cell for gate, cell in found["size"]},
        new={gate: cell for gate, cell in found["new"]},
        gone=frozenset(gate for (gate,) in found["gone"]),
        moved=len(found["load"]),
    )
