"""The transmit side of the half-flit sequence: Control, AuthTags and Data half-flits become flits (UALink_200 §5.1)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import TL_FLIT_LAYOUT, tl_flit_signature
from ualink.lib.parity import byte_parity, even_parity
from ualink.tl.format.half_flits import CONTROL_CONTENT_LAYOUT, CONTROL_COUNTS_LAYOUT, HALF_FLIT_LAYOUT

from .half_flit_slots import HalfFlitSlots, LowerSlot, UpperSlot

__all__ = ["HalfFlitSequence"]


class HalfFlitSequence(wiring.Component):
    """Decides by counts when a Control half-flit goes, and a cycle later puts half-flits into the slots that
    ``HalfFlitSlots`` has given them, and registers the flit with its parity.

    A Control half-flit without data in its own flit takes 2 cycles from ``counts`` to ``tx_flit`` if nothing is owed
    and nothing held, any other 3 cycles or more. A Message half-flit may take the place of a Control half-flit; it owes
    nothing and has no tags. Nothing is decided while a flit that was decided on cannot enter ``tx_flit``.

    Allowances of ``counts`` (one ``SourceRateLimit`` each for Requests and Responses): connect ``flit``, ``ahead``,
    ``held`` = ``held_requests`` (``held_responses``) and ``issued`` = ``requests`` (``responses``). With ``ahead`` the
    allowance is that of the flit after the one of this cycle, which carries ``held_requests``; without, that of the
    next flit to leave, be it in this cycle, directly, or later, through the register. Neither ``ahead`` nor
    ``held_requests`` depends on ``counts``.

    Attributes
    ----------
    authentication : AuthTags half-flits are sent; constant while the link is online.
    offered, counts : there is something worth a Control half-flit, and what would be sent now. Without ``offered``
        there are FC fields in it at most, and so with ``swap_next`` and ``authentication``.
    content : the Control half-flit taken last, from the cycle after ``pack`` until the next one.
    outstanding : fields are in the partner's catch buffers, which move on with flits only (UALink_200 §5.7).
    pack : what ``counts`` tells of is taken in this cycle, and its data jobs are to be loaded; only with ``advance``.
    advance : what was decided before enters ``tx_flit`` in this cycle or has done so.
    swap_next : what is taken now leaves in a swap slot; ``ahead`` : and not in the flit of this cycle.
    window, available, take : data half-flits, as in ``DataGearbox``.
    flit : a flit is decided on in this cycle; with ``requests`` and ``responses`` fields in it.
    held_requests, held_responses : fields that the flit of this cycle has if it leaves and ``ahead`` is high.
    tx_flit : flits to the DL.
    """

    def __init__(self):
        super().__init__(
            {
                "authentication": In(1),
                "offered": In(1),
                "counts": In(CONTROL_COUNTS_LAYOUT),
                "content": In(CONTROL_CONTENT_LAYOUT),
                "outstanding": In(1),
                "pack": Out(1),
                "advance": Out(1),
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
        leaves, hold = Signal(), Signal()
        room = ~self.tx_flit.valid | self.tx_flit.ready
        held_requests, held_responses = (Signal.like(self.counts[name]) for name in ("requests", "responses"))
        m.d.comb += [
            slots.authentication.eq(self.authentication),
            slots.offered.eq(self.offered),
            slots.half_flits.eq(self.counts.half_flits),
            slots.tagged.eq(self.counts.tagged),
            slots.outstanding.eq(self.outstanding),
            self.advance.eq(~leaves | room),
            slots.advance.eq(self.advance),
            slots.available.eq(self.available),
            self.pack.eq(slots.pack),
            self.swap_next.eq(slots.swap_next),
            self.ahead.eq(slots.ahead),
            self.take.eq(slots.take),
            self.flit.eq(slots.flit),
            self.held_requests.eq(Mux(slots.held_leaves, held_requests, 0)),
            self.held_responses.eq(Mux(slots.held_leaves, held_responses, 0)),
        ]
        with m.If(slots.flit):
            m.d.comb += [
                self.requests.eq(Mux(slots.ahead, self.held_requests, self.counts.requests)),
                self.responses.eq(Mux(slots.ahead, self.held_responses, self.counts.responses)),
            ]
        with m.If(slots.hold):
            m.d.sync += [held_requests.eq(self.counts.requests), held_responses.eq(self.counts.responses)]
        self._put_into_slots(m, slots, leaves, hold, room)
        return m

    def _put_into_slots(self, m, slots, leaves, hold, room):
        """What was decided, a cycle later: a flit ``leaves`` as soon as there is ``room``; what was taken is to
        ``hold``."""
        decided_lower, decided_upper = Signal(LowerSlot), Signal(UpperSlot)
        window = [Signal(HALF_FLIT_LAYOUT, name=f"window_{n}", reset_less=True) for n in range(2)]
        held = Signal(HALF_FLIT_LAYOUT, reset_less=True)
        with m.If(self.advance):
            m.d.sync += [
                leaves.eq(slots.flit),
                hold.eq(slots.hold),
                decided_lower.eq(slots.lower),
                decided_upper.eq(slots.upper),
                window[0].eq(self.window[0]),
                window[1].eq(self.window[1]),
            ]
            with m.If(hold):
                m.d.sync += [held.data.eq(self.content.data), held.message.eq(self.content.message)]

        lower, upper = Signal(HALF_FLIT_LAYOUT), Signal(HALF_FLIT_LAYOUT)
        with m.Switch(decided_lower):
            with m.Case(LowerSlot.DATA):
                m.d.comb += lower.eq(window[0])
            with m.Case(LowerSlot.HELD):
                m.d.comb += lower.eq(held)
            with m.Case(LowerSlot.FORMED):
                m.d.comb += [lower.data.eq(self.content.data), lower.message.eq(self.content.message)]
        with m.Switch(decided_upper):
            with m.Case(UpperSlot.DATA):
                m.d.comb += upper.eq(Mux(decided_lower == LowerSlot.DATA, window[1], window[0]))
            with m.Case(UpperSlot.TAGS):
                m.d.comb += upper.data.eq(self.content.tags)

        stored = Signal(TL_FLIT_LAYOUT, reset_less=True)
        m.d.comb += self.tx_flit.p.eq(stored)
        with m.If(room):
            m.d.sync += [
                self.tx_flit.valid.eq(leaves),
                stored.data.eq(Cat(lower.data, upper.data)),
                stored.message.eq(Cat(lower.message, upper.message)),
                # Nothing resets this register: a member that is not driven would stay what it was at power-up.
                stored.error.eq(0),
                stored.parity.eq(byte_parity(Cat(lower.data, upper.data))),
                stored.control_parity.eq(even_parity(lower.message, upper.message)),
            ]
