"""A register on each bit of each port, so that every path of a block lies between registers."""

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["EDGE", "Edges"]

EDGE = "edge_"
"""How the names of these registers begin: ``edge_in_`` and ``edge_out_``."""


class Edges(wiring.Component):
    """``part`` with one register on each bit of each port; these registers are told by their names and not counted.

    A port is timed like the way to a neighbour that has a register there. Other than with ``Scan`` no logic is added
    on the way.
    """

    def __init__(self, part: wiring.Component):
        self._part = part
        self._ports = []
        members = {}
        for path, member, port in part.signature.flatten(part):
            value = Value.cast(port)
            if not isinstance(value, Const):
                name = "__".join(map(str, path))
                members[name] = member.flow(len(value))
                self._ports.append((name, member.flow == In, value))
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.part = self._part
        for name, is_input, value in self._ports:
            edge = Signal(len(value), name=f"{EDGE}{'in' if is_input else 'out'}_{name}", reset_less=True)
            outside, inside = getattr(self, name), value
            m.d.sync += edge.eq(outside if is_input else inside)
            m.d.comb += (inside if is_input else outside).eq(edge)
        return m
