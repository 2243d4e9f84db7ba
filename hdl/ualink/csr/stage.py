"""Registers in the way of a register bus."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.csr.table import WORD_BITS, BusSignature

__all__ = ["BusStage"]


class BusStage(wiring.Component):
    """Hands each access on ``cycles`` later, and its answer back one cycle later.

    Between the end of an access and the start of the next, the registers have ``cycles`` + 1 cycles.

    Parameters
    ----------
    address_bits : of both buses.
    cycles : 1 or more.

    Members
    -------
    bus : to the master, ``BusSignature``.
    far : to the registers, ``BusSignature``.
    """

    def __init__(self, address_bits: int, cycles: int = 1):
        check_integer("cycles", cycles, 1)
        self._cycles = cycles
        super().__init__({"bus": In(BusSignature(address_bits)), "far": Out(BusSignature(address_bits))})

    def elaborate(self, platform):
        m = Module()
        bus, far = self.bus, self.far
        for name in ("address", "write_data", "read", "write"):
            value = getattr(bus, name)
            for number in range(self._cycles):
                later = Signal.like(value, name=f"{name}_{number}")
                m.d.sync += later.eq(value)
                value = later
            m.d.comb += getattr(far, name).eq(value)
        done, error, word = Signal(), Signal(), Signal(WORD_BITS)
        m.d.sync += [done.eq(far.done), error.eq(far.error), word.eq(far.read_data)]
        m.d.comb += [bus.done.eq(done), bus.error.eq(error), bus.read_data.eq(word)]
        return m
