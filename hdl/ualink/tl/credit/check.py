"""Receive side of the credits of one class: has the partner spent more than it was given?"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import Credits
from ualink.lib.select import select_one
from ualink.tl.internal import RELEASE_LAYOUT

__all__ = ["SPENT_LAYOUT", "CreditCheck"]

SPENT_LAYOUT = data.StructLayout({"valid": 1, "pool": 1, "vc": 2, "count": 3})
"""A received field that spent ``count`` credits (0 to 4) of the Pool or of ``vc``."""

MOST_SPENT = 4
"""Credits that a field spends at most."""


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
        # Bit n, out of a register beside the count: more than n are free.
        more = [
            Signal(MOST_SPENT, init=(1 << min(count, MOST_SPENT)) - 1, name=f"more_{n}")
            for n, count in enumerate(announced)
        ]
        here = Signal(MOST_SPENT)
        m.d.comb += [
            here.eq(Mux(self.spent.pool, more[4], Array(more[:4])[self.spent.vc])),
            self.underflow.eq(
                self.spent.valid & Cat((self.spent.count == n + 1) & ~here[n] for n in range(MOST_SPENT)).any()
            ),
        ]
        for n, count in enumerate(free):
            if not announced[n]:
                continue  # no more than none, ever

            def counts(event, n=n):
                return event.valid & (event.pool if n == 4 else ~event.pool & (event.vc == n))

            spent, later = counts(self.spent), Signal(range(announced[n] + 2 * MOST_SPENT), name=f"later_{n}")
            m.d.comb += later.eq(count + sum(Mux(counts(release), release.count, 0) for release in self.release))
            m.d.sync += count.eq(later - Mux(spent, self.spent.count, 0))
            # How many are spent is known late.
            amounts = [spent & (self.spent.count == k) for k in range(MOST_SPENT + 1)]
            amounts[0] = ~Cat(amounts[1:]).any()
            enough = Cat(later > k for k in range(2 * MOST_SPENT))
            m.d.sync += more[n].eq(select_one(amounts, [enough[k : k + MOST_SPENT] for k in range(MOST_SPENT + 1)]))
        return m
