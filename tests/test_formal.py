"""Proofs hold what is true and nothing else, whichever solver runs them."""

import pytest
from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import BITWUZLA, Z3, prove


class Counter(wiring.Component):
    """Counts to ``last`` and starts anew; said is that it never exceeds ``bound``."""

    go: In(1)

    def __init__(self, last: int, bound: int):
        self.last, self.bound = last, bound
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        count = Signal(4)
        with m.If(self.go):
            m.d.sync += count.eq(count + 1)
            with m.If(count == self.last):
                m.d.sync += count.eq(0)
        m.d.comb += Assert(count <= self.bound)
        return m


@pytest.mark.parametrize("engine", [Z3, BITWUZLA])
def test_what_is_true_is_proved(engine):
    prove(Counter(9, 9), depth=2, engine=engine)


@pytest.mark.parametrize("engine", [Z3, BITWUZLA])
@pytest.mark.parametrize(("mode", "depth"), [("prove", 10), ("bmc", 10)])
def test_what_is_false_is_not(engine, mode, depth):
    """The solver says when it is false, in the tenth cycle, and the words of ``prove`` have it."""
    with pytest.raises(AssertionError, match="step 9"):
        prove(Counter(9, 8), mode=mode, depth=depth, engine=engine)
