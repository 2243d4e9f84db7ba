"""Containment of uncorrectable errors on the way to the TL (UALink_200 §6.7.3, §6.7.4.2)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import tl_flit_signature
from ualink.lib.parity import ProtectedRegister, even_parity, parity_mismatch

__all__ = ["IngressContainment"]

STATE_LAYOUT = data.StructLayout({"valid": 1, "error": 1, "stopped": 1, "found": 1})
"""What leaves: a TL flit, marked; nothing passes any more, as an error was found, just now."""


class IngressContainment(wiring.Component):
    """Checks the parity of unpacked TL flits and lets none pass after the first that may be wrong.

    That first one goes on to the TL with ``error`` set (ruling A-37 (DL)), if there is one in the cycle of the fault;
    the link has to go down before another passes. Messages stop with that cycle. What passes leaves one cycle later,
    out of registers; parity goes on with the flit, for the TL to check once more.

    Members
    -------
    received, received_message : TL flits and DL message dwords of the unpacker.
    fault : something that decides what these hold has bad parity, in this cycle.
    flush : the link starts anew: what comes meanwhile is dropped, and nothing is stopped from the next cycle on.
    flit, message : TL flits to the TL; DL message dwords.
    containment : level, with the flit that is marked: an error was found since the last ``flush``. With an upset in
        here it comes a cycle after the flit.
    found : pulse: the first cycle of ``containment``.
    """

    def __init__(self):
        super().__init__(
            {
                "received": In(tl_flit_signature(always_ready=True)),
                "received_message": In(stream.Signature(32, always_ready=True)),
                "fault": In(1),
                "flush": In(1),
                "flit": Out(tl_flit_signature(always_ready=True)),
                "message": Out(stream.Signature(32, always_ready=True)),
                "containment": Out(1),
                "found": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.state = state = ProtectedRegister(STATE_LAYOUT)
        now, then = state.q, state.d
        received = self.received.p
        flit = Signal.like(received, reset_less=True)
        wrong = Signal()
        bad = Signal()
        m.d.comb += [
            wrong.eq(
                parity_mismatch(received.data, received.parity)
                | even_parity(received.message, received.error, received.control_parity)
            ),
            bad.eq(self.fault | (self.received.valid & (wrong | received.error))),
            state.clear.eq(self.flush),
            then.valid.eq(self.received.valid & ~now.stopped & ~state.mismatch & ~self.flush),
            then.error.eq(bad),
            then.stopped.eq((now.stopped | bad | state.mismatch) & ~self.flush),
            then.found.eq(bad & ~now.stopped & ~state.mismatch & ~self.flush),
            self.flit.valid.eq(now.valid),
            self.flit.p.eq(flit),
            # An upset in here marks the flit that it makes or meets; one that it takes away is lost with the link.
            self.flit.p.error.eq(now.error | state.mismatch),
            self.flit.p.control_parity.eq(flit.control_parity ^ flit.error ^ self.flit.p.error),
            self.containment.eq(now.stopped),
            self.found.eq(now.found | (state.mismatch & ~now.stopped)),
        ]
        m.d.sync += [
            flit.eq(received),
            self.message.valid.eq(self.received_message.valid & ~now.stopped & ~bad & ~self.flush),
            self.message.p.eq(self.received_message.p),
        ]
        return m
