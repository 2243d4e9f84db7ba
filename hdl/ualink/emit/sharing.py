"""What is replicated is computed once.

Amaranth looks every clock and reset up by copying all expressions. One that is replicated to a hundred bits it copies a
hundred times, with all that it is made of: a station's Verilog is 1.7 times as long for that, and takes 1.5 times as
long to make. Here it has one copy for all those bits.

Other uses of an expression keep a copy each. With one for all, bits of a vector that are made of other bits of it would
often come out of the same wires, where a tool that sees vectors whole finds loops.
"""

import contextlib
from collections.abc import Iterator
from unittest.mock import patch

from amaranth.hdl import ClockSignal, ResetSignal, Value, _ast, _xfrm

__all__ = ["has_clock", "replicated_once"]

_COLLECT = _xfrm.DomainCollector.on_value
_LOWER = _xfrm.DomainLowerer.on_value


def has_clock(value: Value, found: dict[int, tuple[Value, bool]]) -> bool:
    """Whether ``value`` is made of a clock or reset that is still to be looked up; ``found`` keeps the answers.

    With its answer a value stays alive, so that no later one takes its place in memory.
    """
    known = found.get(id(value))
    if known is None:
        looks = isinstance(value, (ClockSignal, ResetSignal)) or any([has_clock(part, found) for part in _parts(value)])
        known = found[id(value)] = (value, looks)
    return known[1]


def _parts(value: Value) -> tuple[Value, ...]:
    """The expressions that ``value`` is made of."""
    if isinstance(value, _ast.Operator):
        return value.operands
    if isinstance(value, _ast.Slice):
        return (value.value,)
    if isinstance(value, _ast.Part):
        return (value.value, value.offset)
    if isinstance(value, _ast.Concat):
        return value.parts
    if isinstance(value, _ast.SwitchValue):
        return (value.test, *(chosen for _, chosen in value.cases))
    return ()


@contextlib.contextmanager
def replicated_once() -> Iterator[None]:
    """Within it, what Amaranth makes of a design computes an expression that is replicated once."""
    found: dict[int, tuple[Value, bool]] = {}

    def on_concat(self: _xfrm.DomainLowerer, value: _ast.Concat) -> Value:
        own = {id(part): part for part in value.parts}
        copies = {key: self.on_value(part) for key, part in own.items()}
        return _ast.Concat([copies[id(part)] for part in value.parts])

    def collect(self: _xfrm.DomainCollector, value: Value) -> None:
        if has_clock(value, found):
            _COLLECT(self, value)

    # The tests' quicker simulations have another ``on_value``, which must not change what becomes Verilog.
    with (
        patch.multiple(_xfrm.DomainLowerer, on_value=_LOWER, on_Concat=on_concat),
        patch.object(_xfrm.DomainCollector, "on_value", collect),
    ):
        yield
