"""A round robin arbiter: who waits is served after each of the others was served once at most."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer

__all__ = ["RoundRobinArbiter"]


class RoundRobinArbiter(wiring.Component):
    """Grants the first of ``requests`` at or after the place behind the last one served, in the same cycle.

    ``grant`` follows ``requests`` within the cycle; the order moves on at the end of a cycle with ``next`` and
    ``valid``. A request that stays up is granted and served within ``count`` such cycles.

    Parameters
    ----------
    count : int, 1 or more: requesters.

    Attributes
    ----------
    requests : ``count`` bit, bit n: requester n wants to be served.
    next : 1 bit, the granted requester is served in this cycle.
    grant : ``count`` bit, one-hot, or 0 when nobody requests.
    index : number of the granted requester; 0 when nobody requests.
    valid : 1 bit, somebody is granted.
    """

    def __init__(self, count: int):
        check_integer("round_robin.count", count, 1)
        self.count = count
        super().__init__(
            {
                "requests": In(count),
                "next": In(1),
                "grant": Out(count),
                "index": Out(range(count)),
                "valid": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Bit n: requester n comes before those that are not in the mask. It is 0, or ones from some place up.
        first = Signal(self.count)
        ahead = Signal(self.count)
        candidates = Signal(self.count)
        m.d.comb += [
            ahead.eq(self.requests & first),
            candidates.eq(Mux(ahead.any(), ahead, self.requests)),
            self.grant.eq(candidates & (~candidates + 1)),
            self.index.eq(
                Cat(
                    reduce(or_, (self.grant[n] for n in range(self.count) if n >> bit & 1), Const(0))
                    for bit in range(len(self.index))
                )
            ),
            self.valid.eq(self.requests.any()),
        ]
        with m.If(self.next & self.valid):
            m.d.sync += first.eq(~(self.grant | (self.grant - 1)))
        return m
