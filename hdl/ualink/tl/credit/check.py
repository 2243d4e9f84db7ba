"""Receive side of the credits of one class: has the partner spent more than it was given?"""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import Credits
from ualink.tl.internal import RELEASE_LAYOUT

__all__ = ["SPENT_LAYOUT", "CreditCheck"]

SPENT_LAYOUT = data.StructLayout({"valid": 1, "pool": 1, "vc": 2, "count": 3})
"""A received field that spent ``count`` credits (0 to 4) of the Pool or of ``vc``."""


class CreditCheck(wiring.Component):
    """Counts the free buffers of each bucket, Pool and VC 0..3 (UALink_200 §5.8).

    A buffer is free from the cycle after its release, which is before the partner learns of it: a partner that keeps to
    its credits is never found to underflow.

    Parameters
    ----------
    credits : the buffers announced.
    releases : number of independent release inputs.

    Attributes
    ----------
    spent : a field received.
    release : buffers freed.
    underflow : combinational: ``spent`` takes more than its bucket has.
    """

    def __init__(self, credits: Credits, releases: int = 1):
        self.credits = credits
        super().__init__(
            {
                "spent": In(SPENT_LAYOUT),
                "release": In(RELEASE_LAYOUT).array(releases),
                "underflow": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        announced = (*self.credits.vc, self.credits.pool)
        free = [Signal(range(count + 1), init=count, name=f"free_{n}") for n, count in enumerate(announced)]
        m.d.comb += self.underflow.eq(
            self.spent.valid & (self.spent.count > Mux(self.spent.pool, free[4], Array(free[:4])[self.spent.vc]))
        )
        for n, count in enumerate(free):

            def amount(event, n=n):
                bucket = event.pool if n == 4 else ~event.pool & (event.vc == n)
                return Mux(event.valid & bucket, event.count, 0)

            m.d.sync += count.eq(count + sum(amount(release) for release in self.release) - amount(self.spent))
        return m
