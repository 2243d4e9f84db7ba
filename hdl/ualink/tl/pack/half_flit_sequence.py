"""The transmit side of the half-flit sequence: Control, AuthTags and Data half-flits become flits (UALink_200 §5.1)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import TL_FLIT_LAYOUT, tl_flit_signature
from ualink.lib.parity import byte_parity, even_parity
from ualink.tl.format.half_flits import CONTROL_HALF_FLIT_LAYOUT, HALF_FLIT_LAYOUT

from .half_flit_slots import HalfFlitSlots, LowerSlot, UpperSlot

__all__ = ["HalfFlitSequence"]

HELD_LAYOUT = data.StructLayout(
    {name: CONTROL_HALF_FLIT_LAYOUT[name].shape for name in ("data", "message", "requests", "responses")}
)
"""What the control register keeps of a Control half-flit."""


class HalfFlitSequence(wiring.Component):
    """Holds the next Control half-flit, puts half-flits into the slots that ``HalfFlitSlots`` gives them, and registers
    the flit with its parity.

    A Control half-flit without data in its own flit takes 1 cycle from ``formed`` to ``tx_flit`` if nothing is owed and
    nothing held, any other 2 cycles or more. A Message half-flit may take the place of a Control half-flit; it owes
    nothing and has no tags.

    Allowances of ``formed`` (one ``SourceRateLimit`` each for Requests and Responses): connect ``flit``, ``ahead``,
    ``held`` = ``held_requests`` (``held_responses``) and ``issued`` = ``requests`` (``responses``). With ``ahead`` the
    allowance is that of the flit after the one of this cycle, which carries ``held_requests``; without, that of the
    next flit to leave, be it in this cycle, directly, or later, through the register. Neither ``ahead`` nor
    ``held_requests`` depends on ``formed``.

    Attributes
    ----------
    authentication : AuthTags half-flits are sent; constant while the link is online.
    offered, formed : there is something worth a Control half-flit, and what would be sent now. Without ``offered``
        there are FC fields in it at most, and so with ``swap_next`` and ``authentication``.
    outstanding : fields are in the partner's catch buffers, which move on with flits only (UALink_200 §5.7).
    pack : ``formed`` is taken in this cycle, and its data jobs are to be loaded.
    swap_next : what is taken now leaves in a swap slot; ``ahead`` : and not in the flit of this cycle.
    window, available, take : data half-flits, as in ``DataGearbox``.
    flit : a flit enters ``tx_flit`` in this cycle; with ``requests`` and ``responses`` fields in it.
    held_requests, held_responses : fields that the flit of this cycle has if it leaves and ``ahead`` is high.
    tx_flit : flits to the DL.
    """

    def __init__(self):
        super().__init__(
            {
                "authentication": In(1),
                "offered": In(1),
                "formed": In(CONTROL_HALF_FLIT_LAYOUT),
                "outstanding": In(1),
                "pack": Out(1),
                "swap_next": Out(1),
                "ahead": Out(1),
                "window": In(HALF_FLIT_LAYOUT).array(2),
                "available": In(range(3)),
                "take": Out(range(3)),
                "flit": Out(1),
                "requests": Out(range(5)),
                "responses": Out(range(9)),
                "held_requests": Out(range(5)),
                "held_responses": Out(range(9)),
                "tx_flit": Out(tl_flit_signature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.slots = slots = HalfFlitSlots()
        held = Signal(HELD_LAYOUT, reset_less=True)
        advance = ~self.tx_flit.valid | self.tx_flit.ready
        m.d.comb += [
            slots.authentication.eq(self.authentication),
            slots.offered.eq(self.offered),
            slots.half_flits.eq(self.formed.half_flits),
            slots.tagged.eq(self.formed.tagged),
            slots.outstanding.eq(self.outstanding),
            slots.advance.eq(advance),
            slots.available.eq(self.available),
            self.pack.eq(slots.pack),
            self.swap_next.eq(slots.swap_next),
            self.ahead.eq(slots.ahead),
            self.take.eq(slots.take),
            self.flit.eq(slots.flit),
            self.held_requests.eq(Mux(slots.held_leaves, held.requests, 0)),
            self.held_responses.eq(Mux(slots.held_leaves, held.responses, 0)),
        ]
        with m.If(slots.flit):
            m.d.comb += [
                self.requests.eq(Mux(slots.ahead, self.held_requests, self.formed.requests)),
                self.responses.eq(Mux(slots.ahead, self.held_responses, self.formed.responses)),
            ]
        with m.If(slots.hold):
            m.d.sync += [held[name].eq(self.formed[name]) for name, _ in HELD_LAYOUT]

        lower, upper = Signal(HALF_FLIT_LAYOUT), Signal(HALF_FLIT_LAYOUT)
        with m.Switch(slots.lower):
            with m.Case(LowerSlot.DATA):
                m.d.comb += lower.eq(self.window[0])
            with m.Case(LowerSlot.HELD):
                m.d.comb += [lower.data.eq(held.data), lower.message.eq(held.message)]
            with m.Case(LowerSlot.FORMED):
                m.d.comb += [lower.data.eq(self.formed.data), lower.message.eq(self.formed.message)]
        with m.Switch(slots.upper):
            with m.Case(UpperSlot.DATA):
                m.d.comb += upper.eq(Mux(slots.lower == LowerSlot.DATA, self.window[1], self.window[0]))
            with m.Case(UpperSlot.TAGS):
                m.d.comb += upper.data.eq(self.formed.tags)

        stored = Signal(TL_FLIT_LAYOUT, reset_less=True)
        m.d.comb += self.tx_flit.p.eq(stored)
        with m.If(advance):
            m.d.sync += [
                self.tx_flit.valid.eq(self.flit),
                stored.data.eq(Cat(lower.data, upper.data)),
                stored.message.eq(Cat(lower.message, upper.message)),
                # Nothing resets this register: a member that is not driven would stay what it was at power-up.
                stored.error.eq(0),
                stored.parity.eq(byte_parity(Cat(lower.data, upper.data))),
                stored.control_parity.eq(even_parity(lower.message, upper.message)),
            ]
        return m
