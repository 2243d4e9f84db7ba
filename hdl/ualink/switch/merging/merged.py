"""What comes for an egress port, from one row of ingress ports or several."""

from collections.abc import Callable, Sequence

from amaranth.hdl import Module
from amaranth.lib import wiring

__all__ = ["merged"]


def merged(m: Module, name: str, arrivals: Sequence, make_merge: Callable[[int], wiring.Component]):
    """``arrivals`` of an egress port from each row as one, and 1 bit: something is between.

    A merge, submodule ``name``, which ``make_merge`` makes of their number, takes them in turns. One alone stays as it
    is.
    """
    if len(arrivals) == 1:
        return arrivals[0], 0
    merge = make_merge(len(arrivals))
    m.submodules[name] = merge
    for mine, its in zip(arrivals, merge.arrivals):
        wiring.connect(m, mine, its)
    return merge.arrival, merge.under_way
