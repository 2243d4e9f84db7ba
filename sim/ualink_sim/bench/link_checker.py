"""TL flits that can be told apart, and what checks that all of them arrive in order."""

from random import Random

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import tl_flit_signature

__all__ = ["Checker", "flit_data"]

_WORDS = [Random(n).getrandbits(32) for n in range(16)]


def flit_data(number: Value) -> Value:
    """512 bits that only TL flit ``number`` (32 bits) has."""
    return Cat(number ^ Const(word, 32) for word in _WORDS)


class Checker(wiring.Component):
    """Compares TL flits with what ``LinkTop`` sends.

    Members
    -------
    flit : received flits.
    clear : forget ``longest_gap``.
    delivered, mismatches : flits that came, flits that were not the next of those sent.
    longest_gap : most cycles between two flits.
    """

    def __init__(self):
        super().__init__(
            {
                "flit": In(tl_flit_signature(always_ready=True)),
                "clear": In(1),
                "delivered": Out(32),
                "mismatches": Out(32),
                "longest_gap": Out(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        gap = Signal(16)
        m.d.sync += gap.eq(gap + 1)
        with m.If(self.flit.valid):
            m.d.sync += [self.delivered.eq(self.delivered + 1), gap.eq(0)]
            with m.If(self.flit.p.data != flit_data(self.delivered)):
                m.d.sync += self.mismatches.eq(self.mismatches + 1)
            with m.If(gap > self.longest_gap):
                m.d.sync += self.longest_gap.eq(gap)
        with m.If(self.clear):
            m.d.sync += self.longest_gap.eq(0)
        return m
