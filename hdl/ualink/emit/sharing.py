"""Expressions stay shared on their way through Amaranth.

Amaranth looks every clock and reset up by copying all expressions, and copies one that is used in a hundred places a
hundred times: what a bit is made of comes out once for each of those that it is replicated to. A station's RTLIL is
2.5 times as long for that. Here an expression without a clock or reset in it stays the object that it is.
"""

import contextlib
from collections.abc import Iterator
from unittest.mock import patch

from amaranth.hdl import ClockSignal, ResetSignal, Value, _ast, _xfrm

__all__ = ["shared_expressions"]


@contextlib.contextmanager
def shared_expressions() -> Iterator[None]:
    """Within it, what Amaranth makes of a design holds each expression once, as the design does."""
    found: dict[int, tuple[Value, bool]] = {}
    copied, collected = _xfrm.DomainLowerer.on_value, _xfrm.DomainCollector.on_value

    def has_clock(value: Value) -> bool:
        """Whether ``value`` is made of a clock or reset that is still to be looked up."""
        known = found.get(id(value))
        if known is None:
            answer = isinstance(value, (ClockSignal, ResetSignal)) or any(map(has_clock, _parts(value)))
            # With its answer the value stays alive, so that no later one takes its place in memory.
            known = found[id(value)] = (value, answer)
        return known[1]

    def lower(self: _xfrm.DomainLowerer, value: Value) -> Value:
        return copied(self, value) if has_clock(value) else value

    def collect(self: _xfrm.DomainCollector, value: Value) -> None:
        if has_clock(value):
            collected(self, value)

    with patch.object(_xfrm.DomainLowerer, "on_value", lower), patch.object(_xfrm.DomainCollector, "on_value", collect):
        yield


def _parts(value: Value) -> tuple[Value, ...]:
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
