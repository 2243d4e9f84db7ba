"""Receive-side credit account: never more free than announced, never less than none, underflow exact.

CI proves the first for one cycle less than ``make soak`` (UALINK_SOAK=1).
"""

import os

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.config import Credits
from ualink.tl.credit.check import SPENT_LAYOUT, CreditCheck
from ualink.tl.internal import RELEASE_LAYOUT

ANNOUNCED = Credits(pool=5, vc=(0, 1, 3, 4))
CYCLES = 8 if os.environ.get("UALINK_SOAK") else 7


class CreditBench(wiring.Component):
    """Counts what is taken of one freely chosen bucket and compares."""

    def __init__(self):
        super().__init__({"spent": In(SPENT_LAYOUT), "release": In(RELEASE_LAYOUT).array(2), "bucket": In(3)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = CreditCheck(ANNOUNCED, releases=2)
        totals = (*ANNOUNCED.vc, ANNOUNCED.pool)
        taken = [Signal(4, name=f"taken_{n}") for n in range(5)]
        m.d.comb += [dut.spent.eq(self.spent), Assume(self.spent.count <= 4)]
        m.d.comb += [Assume(~self.spent.valid | ~dut.underflow)]

        def of(event, n):
            bucket = event.pool if n == 4 else ~event.pool & (event.vc == n)
            return Mux(event.valid & bucket, event.count, 0)

        for n in range(5):
            freed = of(self.release[0], n) + of(self.release[1], n)
            # Only what was taken is freed.
            m.d.comb += Assume(freed <= taken[n])
            m.d.sync += taken[n].eq(taken[n] - freed + of(self.spent, n))
            m.d.comb += Assert(taken[n] <= totals[n])
        for n in range(2):
            m.d.comb += dut.release[n].eq(self.release[n])
        return m


@pytest.mark.soak
@pytest.mark.req("TL-148", "TL-149", "TL-150", "TL-220")
def test_no_bucket_gives_more_than_was_announced():
    prove(CreditBench(), mode="bmc", depth=CYCLES)


class UnderflowBench(CreditBench):
    """The same account kept apart, to tell exactly when a field takes too much."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = CreditCheck(ANNOUNCED, releases=2)
        totals = (*ANNOUNCED.vc, ANNOUNCED.pool)
        taken = Signal(4)
        chosen = Signal(3)
        m.d.comb += [chosen.eq(Mux(self.spent.pool, 4, self.spent.vc)), dut.spent.eq(self.spent)]
        m.d.comb += Assume(self.spent.count <= 4)
        # All spending is from one bucket, which is fixed, and nothing is released.
        fixed, known = Signal(3), Signal()
        m.d.sync += [fixed.eq(chosen), known.eq(1)]
        m.d.comb += Assume(~known | (fixed == chosen))
        for n, total in enumerate(totals):
            with m.If((chosen == n) & self.spent.valid):
                m.d.comb += Assert(dut.underflow == (taken + self.spent.count > total))
        with m.If(self.spent.valid & ~dut.underflow):
            m.d.sync += taken.eq(taken + self.spent.count)
        m.d.comb += Assume(~known | ~dut.underflow | self.spent.valid)
        stopped = Signal()
        m.d.sync += stopped.eq(stopped | dut.underflow)
        m.d.comb += Assume(~stopped)
        return m


@pytest.mark.req("TL-146", "TL-220")
def test_underflow_is_exact():
    prove(UnderflowBench(), mode="bmc", depth=7)
