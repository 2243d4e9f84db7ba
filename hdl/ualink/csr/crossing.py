"""A register bus from one clock to another."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.csr.table import WORD_BITS, BusSignature

__all__ = ["PATIENCE", "BusCrossing"]

PATIENCE = 1_024
"""Cycles: an access takes 7 cycles of the other clock and 5 of this one at most, and the slowest UPLI clock is a tenth
as fast (UALink_200 §6.5)."""


class BusCrossing(wiring.Component):
    """Hands accesses of domain ``sync`` to registers of another domain, one at a time.

    Two single bits cross, each behind two registers: one turns with each access, the other with each answer. All else
    stands still meanwhile. The two domains leave reset together.

    An access that is not answered in ``patience`` cycles, because the other clock stands still, is answered with an
    error here. It is made all the same when that clock runs again; until then every other access is answered with an
    error in the next cycle, and not made.

    Parameters
    ----------
    address_bits : of both buses.
    domain : that of the registers.
    patience : cycles of "sync", 1 or more.

    Members
    -------
    bus : to the master, ``BusSignature``, domain "sync".
    far : to the registers, ``BusSignature``, of ``domain``.
    """

    def __init__(self, address_bits: int, domain: str, patience: int = PATIENCE):
        self._domain, self._patience = domain, patience
        check_integer("patience", patience, 1)
        super().__init__({"bus": In(BusSignature(address_bits)), "far": Out(BusSignature(address_bits))})

    def elaborate(self, platform):
        m = Module()
        bus, far, there = self.bus, self.far, m.d[self._domain]
        asked, asked_there, asked_before = Signal(), Signal(), Signal()
        answered, answered_here, answered_before = Signal(), Signal(), Signal()
        reading, writing = Signal(), Signal()
        address, write_data = Signal.like(bus.address), Signal(WORD_BITS)
        word, error = Signal(WORD_BITS), Signal()
        m.submodules.asked = FFSynchronizer(asked, asked_there, o_domain=self._domain)
        m.submodules.answered = FFSynchronizer(answered, answered_here)

        # What was given up is still to be made over there: what it is for must stay as it is.
        waiting, given_up, left = Signal(), Signal(), Signal(range(self._patience))
        starts, refused, over, came = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            came.eq(answered_here != answered_before),
            starts.eq((bus.read | bus.write) & ~given_up),
            refused.eq((bus.read | bus.write) & given_up),
            over.eq(waiting & (left == 0) & ~came),
        ]
        with m.If(starts):
            m.d.sync += [asked.eq(~asked), reading.eq(bus.read), writing.eq(bus.write)]
            m.d.sync += [address.eq(bus.address), write_data.eq(bus.write_data)]
        m.d.sync += [
            waiting.eq(starts | (waiting & ~came & ~over)),
            given_up.eq(over | (given_up & ~came)),
            left.eq(Mux(starts, self._patience - 1, left - 1)),
        ]

        there += asked_before.eq(asked_there)
        m.d.comb += [
            far.address.eq(address),
            far.write_data.eq(write_data),
            far.read.eq((asked_there != asked_before) & reading),
            far.write.eq((asked_there != asked_before) & writing),
        ]
        with m.If(far.done):
            there += [answered.eq(~answered), word.eq(far.read_data), error.eq(far.error)]
        m.d.sync += [
            answered_before.eq(answered_here),
            bus.done.eq((came & waiting) | over | refused),
            bus.error.eq((came & waiting & error) | over | refused),
            bus.read_data.eq(Mux(came & waiting, word, 0)),
        ]
        return m
