"""Proofs of the pacer's bounds, for every rate, every traffic and every window.

The bench weighs flits against rate: over a window, ``balance`` is the sum of the rates of its ticks less FULL_RATE for
each flit that went. With k flits in n ticks of one rate r that is n · r - k · FULL_RATE, so that a lower bound of
the balance bounds k from above, and the other way round:

- balance >= 1 - FULL_RATE is k <= ceil(n · r / FULL_RATE);
- balance <= FULL_RATE - 1 + r gives k >= floor(n · r / FULL_RATE) - 1;
- balance - r >= 1 - 2 · FULL_RATE, where r may vary, is k <= 1 + ceil of the first n - 1 rates over FULL_RATE.
"""

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import BITWUZLA, prove
from ualink.dl.rate.pacer import REFERENCE_RATE, Pacer
from ualink.dl.registers.firmware import FULL_RATE

CAP = 2 * FULL_RATE
"""The balance of a long pause counts no higher, which makes the bound on flits stricter."""


class Bench(wiring.Component):
    """A pacer under free traffic and a free limit; the window begins in any cycle with ``start``."""

    def __init__(self, *, constant=False, saturated=False):
        self._constant = constant
        self._saturated = saturated
        super().__init__(
            {
                "start": In(1),
                "valid": In(1),
                "ready": In(1),
                "partner_rate": In(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.pacer = pacer = Pacer()
        m.d.comb += [
            pacer.flit_in.valid.eq(self.valid),
            pacer.flit_out.ready.eq(self.ready),
            pacer.pace.eq(FULL_RATE),
            pacer.own_rate.eq(FULL_RATE),
            pacer.partner_rate.eq(self.partner_rate),
        ]
        went = Signal()
        window = Signal()
        started = Signal()
        balance = Signal(signed(18))
        result = Signal(signed(18))
        credit_at_start = Signal(16)
        credit = Signal(16)
        last_rate = Signal(16)
        m.d.comb += [
            went.eq(pacer.flit_in.valid & pacer.flit_in.ready),
            credit.eq(pacer.remainder + Mux(pacer.admit, FULL_RATE, 0)),
            result.eq(balance + pacer.rate - Mux(went, FULL_RATE, 0)),
        ]
        with m.If(window | self.start):
            m.d.sync += [
                window.eq(1),
                last_rate.eq(pacer.rate),
                balance.eq(Mux(result > CAP, CAP, result)),
            ]
        with m.If(~window):
            m.d.comb += Assert(balance == 0)
            m.d.sync += credit_at_start.eq(credit)
        m.d.comb += [
            Assert(pacer.rate >= REFERENCE_RATE),
            Assert(pacer.rate <= FULL_RATE),
            Assert(pacer.remainder < FULL_RATE),
            Assert(~window | (last_rate <= FULL_RATE)),
            Assert(~window | (credit_at_start < 2 * FULL_RATE)),
            Assert(~went | pacer.flit_out.valid),
            Assert(pacer.flit_out.valid == (self.valid & pacer.admit)),
        ]

        # An offered flit stays offered.
        waiting = Signal()
        m.d.sync += waiting.eq(pacer.flit_out.valid & ~self.ready)
        with m.If(waiting & self.valid):
            m.d.comb += Assert(pacer.flit_out.valid)

        with m.If(window):
            m.d.comb += [
                Assert(balance <= CAP),
                Assert(balance >= credit - credit_at_start),
                Assert(balance - last_rate >= 1 - 2 * FULL_RATE),
            ]

        if self._constant:
            m.d.sync += started.eq(1)
            with m.If(started):
                m.d.comb += Assume(self.partner_rate == pacer.rate)
            # Out of reset the rate is full; the bound is for windows that begin once another is in force.
            m.d.comb += Assume(started | ~self.start)
            with m.If(~started):
                m.d.comb += [Assert(pacer.admit), Assert(pacer.remainder == 0), Assert(~window)]
            with m.If(pacer.admit):
                m.d.comb += Assert(pacer.remainder < pacer.rate)
            with m.If(window):
                m.d.comb += [
                    Assert(started),
                    Assert(last_rate == pacer.rate),
                    Assert(credit_at_start < FULL_RATE + pacer.rate),
                    Assert(balance >= 1 - FULL_RATE),
                ]
        if self._saturated:
            m.d.comb += Assume(self.valid & self.ready)
            with m.If(window):
                m.d.comb += [
                    Assert(balance == credit - credit_at_start),
                    Assert(balance <= FULL_RATE - 1 + pacer.rate),
                ]
        return m


@pytest.mark.req("DL-008", "DL-108")
def test_at_most_the_rate():
    prove(Bench(constant=True), mode="prove", depth=1, engine=BITWUZLA)


@pytest.mark.req("DL-108", "DL-118")
def test_at_most_one_flit_more_when_the_rate_changes():
    prove(Bench(), mode="prove", depth=1)


def test_at_least_the_rate_less_one_flit():
    prove(Bench(constant=True, saturated=True), mode="prove", depth=1)
