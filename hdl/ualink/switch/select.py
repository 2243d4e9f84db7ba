"""The multiplexer of the crossbar."""

from functools import reduce
from operator import or_

from amaranth.hdl import Value

__all__ = ["select_one"]


def select_one(chosen, values) -> Value:
    """Bits of the one of ``values`` whose bit in one-hot ``chosen`` is set; zero if none is."""
    values = [Value.cast(value) for value in values]
    return reduce(or_, (value & chosen[n].replicate(len(value)) for n, value in enumerate(values)))
