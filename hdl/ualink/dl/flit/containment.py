"""Containment of uncorrectable errors on the way to the TL (UALink_200 §6.7.3, §6.7.4.2)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import tl_flit_signature
from ualink.lib.parity import even_parity, parity_mismatch

__all__ = ["IngressContainment"]


class IngressContainment(wiring.Component):
    """Checks the parity of unpacked TL flits and lets none pass after the first that may be wrong.

    That first one goes on to the TL with ``error`` set (ruling A-37 (DL)), if there is one in the cycle of the fault;
    the link has to go down before another passes. Combinational; parity goes on with the flit, for the TL to check
    once more.

    Members
    -------
    received : TL flits of the unpacker.
    fault : something that decides what ``received`` holds has bad parity, in this cycle.
    flush : the link starts anew: nothing is stopped any more from the next cycle on.
    flit : TL flits to the TL.
    containment : level: an error was found, in this cycle or since the last ``flush``.
    found : pulse: the first cycle of ``containment``.
    """

    def __init__(self):
        super().__init__(
            {
                "received": In(tl_flit_signature(always_ready=True)),
                "fault": In(1),
                "flush": In(1),
                "flit": Out(tl_flit_signature(always_ready=True)),
                "containment": Out(1),
                "found": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        received = self.received.p
        stopped = Signal()
        wrong = Signal()
        bad = Signal()
        m.d.comb += [
            wrong.eq(
                parity_mismatch(received.data, received.parity)
                | even_parity(received.message, received.error, received.control_parity)
            ),
            bad.eq(self.fault | (self.received.valid & (wrong | received.error))),
            self.flit.valid.eq(self.received.valid & ~stopped),
            self.flit.p.eq(received),
            self.flit.p.error.eq(bad),
            self.flit.p.control_parity.eq(received.control_parity ^ bad ^ received.error),
            self.containment.eq(stopped | bad),
            self.found.eq(bad & ~stopped),
        ]
        with m.If(bad):
            m.d.sync += stopped.eq(1)
        with m.If(self.flush):
            m.d.sync += stopped.eq(0)
        return m
