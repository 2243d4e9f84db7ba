"""A register bus from one clock to another."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ualink.csr.table import WORD_BITS, BusSignature

__all__ = ["BusCrossing"]


class BusCrossing(wiring.Component):
    """Hands accesses of domain ``sync`` to registers of another domain, one at a time.

    Two single bits cross, each behind two registers: one turns with each access, the other with each answer. All else
    stands still meanwhile. An access waits while the other clock stands still. The two domains leave reset together.

    Parameters
    ----------
    address_bits : of both buses.
    domain : that of the registers.

    Members
    -------
    bus : to the master, ``BusSignature``, domain "sync".
    far : to the registers, ``BusSignature``, of ``domain``.
    """

    def __init__(self, address_bits: int, domain: str):
        self._domain = domain
        super().__init__({"bus": In(BusSignature(address_bits)), "far": Out(BusSignature(address_bits))})

    def elaborate(self, platform):
        m = Module()
        bus, far, there = self.bus, self.far, m.d[self._domain]
        asked, asked_there, asked_before = Signal(), Signal(), Signal()
        answered, answered_here, answered_before = Signal(), Signal(), Signal()
        reading, writing = Signal(), Signal()
        word, error = Signal(WORD_BITS), Signal()
        m.submodules.asked = FFSynchronizer(asked, asked_there, o_domain=self._domain)
        m.submodules.answered = FFSynchronizer(answered, answered_here)
        with m.If(bus.read | bus.write):
            m.d.sync += [asked.eq(~asked), reading.eq(bus.read), writing.eq(bus.write)]
        there += asked_before.eq(asked_there)
        m.d.comb += [
            far.address.eq(bus.address),
            far.write_data.eq(bus.write_data),
            far.read.eq((asked_there != asked_before) & reading),
            far.write.eq((asked_there != asked_before) & writing),
        ]
        with m.If(far.done):
            there += [answered.eq(~answered), word.eq(far.read_data), error.eq(far.error)]
        came = answered_here != answered_before
        m.d.sync += [
            answered_before.eq(answered_here),
            bus.done.eq(came),
            bus.error.eq(came & error),
            bus.read_data.eq(Mux(came, word, 0)),
        ]
        return m
