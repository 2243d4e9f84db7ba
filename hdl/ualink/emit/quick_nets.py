"""Netlists of Amaranth in less time.

A third of a conversion goes into asking of each bit whether it is one, whenever bits become a value. Here they are
taken as what they are, and the bits of a cell are made at once. What comes out is the same.
"""

import contextlib
from collections.abc import Iterator
from importlib.metadata import version
from unittest.mock import patch

from amaranth.hdl._nir import Net, Netlist, Value

__all__ = ["CHECKED", "quick_nets"]

CHECKED = ("0.5.10",)
"""Versions of Amaranth whose netlists are those that this file knows; any other makes them at its own pace."""

_CONSTANTS = (Net(0), Net(1))


@contextlib.contextmanager
def quick_nets() -> Iterator[None]:
    """Within it netlists are made quickly."""
    with contextlib.ExitStack() as stack:
        if version("amaranth") in CHECKED:
            stack.enter_context(patch.object(Value, "__new__", _value))
            stack.enter_context(
                patch.multiple(
                    Net,
                    from_cell=lambda cell, bit: int.__new__(Net, cell << 16 | bit),
                    from_const=_CONSTANTS.__getitem__,
                    from_late=lambda number: int.__new__(Net, number),
                    is_const=property(frozenset(_CONSTANTS).__contains__),
                    is_late=property((0).__gt__),
                )
            )
            stack.enter_context(
                patch.multiple(
                    Netlist, add_value_cell=_add_value_cell, resolve_net=_resolve_net, resolve_value=_resolve_value
                )
            )
        yield


def _value(cls: type[Value], nets=()) -> Value:
    return tuple.__new__(cls, (nets,) if type(nets) is Net else nets)


def _add_value_cell(self: Netlist, width: int, cell) -> Value:
    """A cell has a number, in the upper bits of its nets."""
    first = self.add_cell(cell) << 16
    return tuple.__new__(Value, [int.__new__(Net, net) for net in range(first, first + width)])


def _resolve_net(self: Netlist, net: Net) -> Net:
    """A net below zero is one that was named before it was known, and is ``connections`` of it since."""
    while net < 0:
        net = self.connections[net]
    return net


def _resolve_value(self: Netlist, value: Value) -> Value:
    return tuple.__new__(Value, [_resolve_net(self, net) if net < 0 else net for net in value])
