"""Names of a block on what is in its netlist: which register a cell is, and past which rooms a path leads.

Gates have lost their names in ABC. Where one of them stands is told by the registers that it meets: those that are
nearest to its other inputs.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from .edges import EDGE
from .mapping import Instance
from .timing import Step

__all__ = ["UNNAMED", "is_edge", "register_name", "tell_path"]

UNNAMED = "write-through of a memory"
"""The registers that Yosys adds to a memory whose read is to show what is written in the same cycle."""

_FARTHEST = 3
_MOST_ROOMS = 12


def register_name(instance: str) -> str:
    """A register's or memory's place and name in the block, without bit: ``link.packer.state.q``."""
    place = instance.removeprefix("$flatten").replace("\\", "")
    if "$auto$" in place:
        place, _, _ = place.partition("$auto$")
        return f"{place.removeprefix('part.')}{UNNAMED}"
    name = re.sub(r"\$_DFF_P_$|_reg$", "", place)
    name = re.sub(r"\$\d+", "", name)
    name = re.sub(r"(\[\d+\])+$", "", name)
    name = re.sub(r"\.\d+\.\d+$", "", name)
    if name.startswith("part."):
        return name.removeprefix("part.")
    return name if name.startswith(EDGE) else f"{EDGE}out_{name}"


def is_edge(instance: str) -> bool:
    """Whether the register stands for the neighbour at a port."""
    return register_name(instance).startswith(EDGE)


def tell_path(steps: Sequence[Step], cells: Sequence[Instance], outputs: Mapping[str, Sequence[str]]) -> str:
    """``from REGISTER to REGISTER, N gates, past ROOM, ROOM, …``; ``outputs`` are the output pins of each cell."""
    if not steps:
        return "no path"
    rooms = _Rooms(cells, outputs)
    found: list[str] = []
    for before, step in pairwise(steps[:-1]):
        for room in rooms.beside(before, step):
            if room not in found:
                found.append(room)
    past = f", past registers of {', '.join(found[:_MOST_ROOMS])}" if found else ""
    more = f" and {len(found) - _MOST_ROOMS} more" if len(found) > _MOST_ROOMS else ""
    return f"from {_shown(steps[0])} to {_shown(steps[-1])}, {max(len(steps) - 2, 0)} gates{past}{more}"


class _Rooms:
    def __init__(self, cells: Sequence[Instance], outputs: Mapping[str, Sequence[str]]):
        self._cells = {cell.name: cell for cell in cells}
        self._outputs = outputs
        self._driver = {
            net: cell for cell in cells for pin in outputs.get(cell.cell, ()) for net in cell.pins.get(pin, ())
        }

    def beside(self, before: Step, step: Step) -> list[str]:
        """Rooms of the registers nearest to the inputs of a gate that are not on the path."""
        cell = self._cells.get(step.instance)
        if cell is None:
            return []
        nets = [net for net in self._inputs(cell) if getattr(self._driver.get(net), "name", None) != before.instance]
        for _ in range(_FARTHEST):
            drivers = [self._driver[net] for net in nets if net in self._driver]
            rooms = sorted({room for driver in drivers if (room := _room(driver.name))})
            if rooms:
                return rooms
            nets = [net for driver in drivers for net in self._inputs(driver)]
        return []

    def _inputs(self, cell: Instance) -> list[str]:
        outputs = self._outputs.get(cell.cell, ())
        return [net for pin, nets in cell.pins.items() if pin not in outputs for net in nets]


def _room(instance: str) -> str | None:
    """Where a register stands; nothing for gates, ports and what Yosys has made."""
    if not instance.startswith("part."):
        return None
    place, _, _ = register_name(instance).rpartition(".")
    return place or None


def _shown(step: Step) -> str:
    name = register_name(step.instance)
    for edge, what in ((f"{EDGE}in_", "input "), (f"{EDGE}out_", "output ")):
        if name.startswith(edge):
            return what + name.removeprefix(edge).replace("__", ".")
    return name
