"""What the nets of a netlist depend on within a cycle, and how many gates later than registers they settle."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from amaranth.hdl._nir import (
    AssignmentList,
    AsyncReadPort,
    Cell,
    FlipFlop,
    Instance,
    Matches,
    Net,
    Netlist,
    Operator,
    Part,
    PriorityMatch,
    SyncReadPort,
)
from amaranth.utils import ceil_log2

__all__ = ["MEMORY_GATES", "Arrivals", "Cone"]

MEMORY_GATES = 5
"""What a memory's read takes longer than a register, in gates: some 200 ps where a gate takes some 38 ps."""

_NEVER = -1


class Cone(NamedTuple):
    """``inputs``: which bits of the inputs act on a net, as a mask; ``settled`` and ``through``: the most gates from a
    register and from an input, -1 where there is no such way."""

    inputs: int
    settled: int
    through: int


_CONSTANT = Cone(0, _NEVER, _NEVER)
_REGISTER = Cone(0, 0, _NEVER)
_MEMORY = Cone(0, MEMORY_GATES, _NEVER)


class KnownPart(Protocol):
    """A cell that stands for a component: the cone of each bit of its outputs, and where the bits of each input start
    in their masks."""

    @property
    def cones(self) -> Mapping[str, list[Cone]]: ...

    @property
    def starts(self) -> Mapping[str, int]: ...


class Arrivals:
    """The cones of the nets of ``netlist``.

    ``starts`` tells where the bits of each input of the netlist start in the masks; ``parts`` are the instances by
    their type.
    """

    def __init__(self, netlist: Netlist, starts: Mapping[str, int], parts: Mapping[str, KnownPart]):
        self._cells = netlist.cells
        self._parts = parts
        self._cones: dict[int, Cone] = {}
        for name, (first, width) in netlist.top.ports_i.items():
            for bit in range(width):
                inputs = 1 << (starts[name] + bit) if name in starts else 0
                self._cones[Net.from_cell(0, first + bit)] = Cone(inputs, _NEVER, 0) if inputs else _CONSTANT
        self._outputs: dict[int, list[tuple[Cone, list[Net]]]] = {}

    def cone(self, net: Net) -> Cone:
        """The cone of one net."""
        open_nets = [net]
        while open_nets:
            node = self._node(open_nets[-1])
            if node in self._cones:
                open_nets.pop()
                continue
            sources = self._sources(node)
            missing = [source for source in sources if self._node(source) not in self._cones]
            if missing:
                open_nets.extend(missing)
            else:
                self._cones[node] = self._join(node, [self._cones[self._node(source)] for source in sources])
        return self._cones[self._node(net)]

    def _node(self, net: Net) -> Net:
        """One net for all bits of a cell that depend on the same."""
        if net.is_const or net.cell == 0:
            return net
        cell = self._cells[net.cell]
        together = isinstance(cell, (Part, Matches, FlipFlop, SyncReadPort, AsyncReadPort)) or (
            isinstance(cell, Operator) and cell.operator not in _BITWISE
        )
        return Net.from_cell(net.cell, 0) if together else net

    def _sources(self, net: Net) -> list[Net]:
        if net.is_const:
            return []
        cell = self._cells[net.cell]
        if isinstance(cell, Instance):
            return self._part(net)[1]
        if isinstance(cell, (FlipFlop, SyncReadPort)):
            return []
        if isinstance(cell, AssignmentList):
            value, choices = _choices(cell, net.bit)
            return [value, *(choice for pair in choices for choice in pair)]
        return [source for source, _ in cell.comb_edges_to(net.bit)]

    def _join(self, net: Net, sources: list[Cone]) -> Cone:
        if net.is_const:
            return _CONSTANT
        cell = self._cells[net.cell]
        if isinstance(cell, FlipFlop):
            return _REGISTER
        if isinstance(cell, SyncReadPort):
            return _MEMORY
        inputs, settled, through = 0, _NEVER, _NEVER
        for source in sources:
            inputs |= source.inputs
            settled = max(settled, source.settled)
            through = max(through, source.through)
        if isinstance(cell, Instance):
            own = self._part(net)[0]
            return Cone(inputs, max(own.settled, _after(settled, own.through)), _after(through, own.through))
        gates = _gates(cell, net.bit)
        return Cone(inputs, _after(settled, gates), _after(through, gates))

    def _part(self, net: Net) -> tuple[Cone, list[Net]]:
        """An output bit of an instance: its cone in the component, and the nets at the inputs that act on it."""
        if net.cell not in self._outputs:
            cell = self._cells[net.cell]
            part = self._parts[cell.type]
            wires = {
                part.starts[name] + bit: wire for name, value in cell.ports_i.items() for bit, wire in enumerate(value)
            }
            bits: dict[int, tuple[Cone, list[Net]]] = {}
            for name, (start, _) in cell.ports_o.items():
                for bit, cone in enumerate(part.cones[name]):
                    bits[start + bit] = cone, [wires[index] for index in _ones(cone.inputs)]
            self._outputs[net.cell] = [bits[bit] for bit in range(len(bits))]
        return self._outputs[net.cell][net.bit]


_BITWISE = ("~", "&", "|", "^", "m")


def _after(before: int, gates: int) -> int:
    return before if before == _NEVER else before + gates


def _ones(mask: int):
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _choices(cell: AssignmentList, bit: int) -> tuple[Net, list[tuple[Net, Net]]]:
    """What a bit is where no condition holds, and the conditions and values that come after it."""
    value = cell.default[bit]
    choices: list[tuple[Net, Net]] = []
    for assignment in cell.assignments:
        if assignment.start <= bit < assignment.start + len(assignment.value):
            given = assignment.value[bit - assignment.start]
            if assignment.cond == Net.from_const(1):
                value, choices = given, []
            else:
                choices.append((assignment.cond, given))
    return value, choices


def _gates(cell: Cell, bit: int) -> int:
    """Two-input gates in a row of one cell, built as a tree; an inverter is none."""
    match cell:
        case Operator(operator="~"):
            return 0
        case Operator(operator="&" | "|" | "^" | "m"):
            return 1
        case Operator(operator="b" | "r&" | "r|" | "r^"):
            return ceil_log2(len(cell.inputs[0]))
        case Operator(operator="<<" | "u>>" | "s>>"):
            return len(cell.inputs[1])
        case Operator(operator="==" | "!="):
            return ceil_log2(len(cell.inputs[0])) + (not any(value.is_const for value in cell.inputs))
        case Operator():
            return 1 + ceil_log2(len(cell.inputs[0]))
        case Part():
            return len(cell.offset)
        case Matches():
            tested = max((len(pattern) - pattern.count("-") for pattern in cell.patterns), default=0)
            return _tree(tested) + _tree(len(cell.patterns))
        case PriorityMatch():
            return _tree(sum(not net.is_const for net in (cell.en, *cell.inputs[: bit + 1])))
        case AssignmentList():
            return _tree(len(_choices(cell, bit)[1]) + 1)
        case AsyncReadPort():
            return len(cell.addr)
    return 0


def _tree(leaves: int) -> int:
    return ceil_log2(max(leaves, 1))
