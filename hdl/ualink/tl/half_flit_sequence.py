"""The transmit side of the half-flit sequence (UALink_200 §5.1.1, §5.1.2)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import TL_FLIT_LAYOUT, tl_flit_signature
from ualink.lib.parity import byte_parity, even_parity

from .half_flits import CONTROL_HALF_FLIT_LAYOUT, HALF_FLIT_LAYOUT

__all__ = ["HalfFlitSequence"]


class HalfFlitSequence(wiring.Component):
    """Decides what the two slots of each flit hold and registers the flit with its parity; authentication disabled.

    With two or more data half-flits owed, both slots are data. With one, the lower slot is the next Control half-flit,
    all NOP if there is none, and the upper slot the last data half-flit (the swap). With none, the lower slot is the
    Control half-flit and the upper slot its first data half-flit or a mandatory NOP. A flit whose data are not there
    yet is not offered. Latency 1 cycle to ``tx_flit``.

    Attributes
    ----------
    control : the next Control half-flit, or a Message half-flit in its place.
    control_next : the flit after that of this cycle, if there is one, has a Control slot, and ``control`` is not
        occupied then: a Control half-flit formed now leaves as soon as it may.
    window, available, take : data half-flits, as in ``DataGearbox``.
    flit : a flit enters ``tx_flit`` in this cycle; with ``requests`` and ``responses`` fields in it.
    tx_flit : flits to the DL.
    """

    def __init__(self):
        super().__init__(
            {
                "control": In(stream.Signature(CONTROL_HALF_FLIT_LAYOUT)),
                "control_next": Out(1),
                "window": In(HALF_FLIT_LAYOUT).array(2),
                "available": In(range(3)),
                "take": Out(range(3)),
                "flit": Out(1),
                "requests": Out(range(5)),
                "responses": Out(range(9)),
                "tx_flit": Out(tl_flit_signature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control = self.control.p
        owed = Signal(range(74))
        following = Signal.like(owed)
        control_slot = Signal()
        wanted = Signal(range(3))
        possible = Signal()

        m.d.comb += control_slot.eq(owed <= 1)
        with m.If(~control_slot):
            m.d.comb += [wanted.eq(2), possible.eq(1), following.eq(owed - 2)]
        with m.Elif(owed == 1):
            m.d.comb += [wanted.eq(1), possible.eq(1), following.eq(Mux(self.control.valid, control.half_flits, 0))]
        with m.Else():
            m.d.comb += [
                wanted.eq(control.half_flits != 0),
                possible.eq(self.control.valid),
                following.eq(control.half_flits - wanted),
            ]

        m.d.comb += [
            self.flit.eq((~self.tx_flit.valid | self.tx_flit.ready) & possible & (self.available >= wanted)),
            self.take.eq(Mux(self.flit, wanted, 0)),
            self.control.ready.eq(self.flit & control_slot),
            self.requests.eq(Mux(self.control.valid & self.control.ready, control.requests, 0)),
            self.responses.eq(Mux(self.control.valid & self.control.ready, control.responses, 0)),
            self.control_next.eq(Mux(self.flit, following <= 1, control_slot & ~self.control.valid)),
        ]
        with m.If(self.flit):
            m.d.sync += owed.eq(following)

        lower, upper = Signal(HALF_FLIT_LAYOUT), Signal(HALF_FLIT_LAYOUT)
        with m.If(~control_slot):
            m.d.comb += [lower.eq(self.window[0]), upper.eq(self.window[1])]
        with m.Else():
            with m.If(self.control.valid):
                m.d.comb += [lower.data.eq(control.data), lower.message.eq(control.message)]
            with m.If(wanted != 0):
                m.d.comb += upper.eq(self.window[0])
        stored = Signal(TL_FLIT_LAYOUT, reset_less=True)
        m.d.comb += self.tx_flit.p.eq(stored)
        with m.If(~self.tx_flit.valid | self.tx_flit.ready):
            m.d.sync += [
                self.tx_flit.valid.eq(self.flit),
                stored.data.eq(Cat(lower.data, upper.data)),
                stored.message.eq(Cat(lower.message, upper.message)),
                stored.parity.eq(byte_parity(Cat(lower.data, upper.data))),
                stored.control_parity.eq(even_parity(lower.message, upper.message)),
            ]
        return m
