"""What is replicated is computed once.

Amaranth looks every clock and reset up, and names domains anew, by copying all expressions. One that is replicated to a
hundred bits it copies a hundred times, with all that it is made of: Verilog of a small controller of two clocks is more
than twice as long for that. Here it has one copy for all those bits.

Other uses of an expression keep a copy each. With one for all, bits of a vector that are made of other bits of it would
often come out of the same wires, where a tool that sees vectors whole finds loops.
"""

import contextlib
from collections.abc import Iterator
from unittest.mock import patch

from amaranth.hdl import Value, _ast, _xfrm

__all__ = ["replicated_once"]


@contextlib.contextmanager
def replicated_once() -> Iterator[None]:
    """Within it, what Amaranth makes of a design computes an expression that is replicated once."""

    def on_concat(self: _xfrm.ValueTransformer, value: _ast.Concat) -> Value:
        own = {id(part): part for part in value.parts}
        copies = {key: self.on_value(part) for key, part in own.items()}
        return _ast.Concat([copies[id(part)] for part in value.parts])

    with patch.object(_xfrm.ValueTransformer, "on_Concat", on_concat):
        yield
