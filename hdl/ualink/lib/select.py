"""The multiplexer of those who know in one-hot bits which value they want."""

from collections.abc import Iterable
from functools import reduce
from operator import or_

from amaranth.hdl import Value

__all__ = ["select_one"]


def select_one(chosen: Iterable, values: Iterable) -> Value:
    """Bits of the one of ``values`` whose bit of ``chosen`` is set; 0 if none is. At most one may be.

    No value goes through another's choice, as it would through a chain of conditions.
    """
    terms = []
    for one, value in zip(chosen, map(Value.cast, values)):
        terms.append(one.replicate(len(value)) & value)
    return reduce(or_, terms)
