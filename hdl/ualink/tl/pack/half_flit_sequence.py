"""The transmit side of the half-flit sequence: Control, AuthTags and Data half-flits become flits (UALink_200 §5.1)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import TL_FLIT_LAYOUT, tl_flit_signature
from ualink.lib.headed_queue import HeadedQueue
from ualink.lib.parity import byte_parity, even_parity
from ualink.tl.format.half_flits import CONTROL_CONTENT_LAYOUT, CONTROL_COUNTS_LAYOUT, HALF_FLIT_LAYOUT
from ualink.upli.code import wrong

from .half_flit_slots import HalfFlitSlots, LowerSlot, UpperSlot

__all__ = ["HalfFlitSequence"]


class HalfFlitSequence(wiring.Component):
    """Decides by counts when a Control half-flit goes, puts half-flits into the slots that ``HalfFlitSlots`` gives
    them, and adds the parity: a half-flit of wrong code makes ``control_parity`` wrong (UALink_200 §6.7.3).

    A Control half-flit is taken in one cycle, put into a flit in the next one at the earliest, and is in ``tx_flit``
    two cycles after that, if the DL takes flits. That it takes none is heard a cycle late: one flit more is made and
    kept. A Message half-flit may take the place of a Control half-flit; it owes nothing and has no tags.

    Attributes
    ----------
    offered, counts : there is something worth a Control half-flit, and what would be taken now. Without ``offered``
        there are FC fields in it at most, and so with ``swap_next`` and authentication.
    content : the Control half-flit taken last, from the cycle after ``pack`` until ``control``.
    outstanding : fields are in the partner's catch buffers, which move on with flits only (UALink_200 §5.7).
    pack : what ``counts`` tells of is taken in this cycle, and its data jobs are to be loaded.
    control : ``content`` is put into a flit in this cycle.
    swap_next : what is taken now leaves in a swap slot.
    between : in front of it a flit without Control half-flit is still to leave; no more than this one, if it is taken
        now. ``flit_between``: that flit leaves in this cycle.
    between_next : a flit leaves in this cycle, and ``between`` is set in the next one.
    window, available, wanted, go : data half-flits, as in ``DataGearbox``.
    tx_flit : flits to the DL.
    """

    def __init__(self):
        super().__init__(
            {
                "offered": In(1),
                "counts": In(CONTROL_COUNTS_LAYOUT),
                "content": In(CONTROL_CONTENT_LAYOUT),
                "outstanding": In(1),
                "pack": Out(1),
                "control": Out(1),
                "swap_next": Out(1),
                "between": Out(1),
                "flit_between": Out(1),
                "between_next": Out(1),
                "window": In(HALF_FLIT_LAYOUT).array(2),
                "available": In(range(3)),
                "wanted": Out(range(3)),
                "go": Out(1),
                "tx_flit": Out(tl_flit_signature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.slots = slots = HalfFlitSlots()
        m.submodules.made = made = HeadedQueue(TL_FLIT_LAYOUT, 2)
        leaves = Signal()
        m.d.comb += [
            slots.offered.eq(self.offered),
            slots.request_half_flits.eq(self.counts.request_half_flits),
            slots.response_half_flits.eq(self.counts.response_half_flits),
            slots.some.eq(self.counts.some),
            slots.two.eq(self.counts.two),
            slots.tagged.eq(self.counts.tagged),
            slots.outstanding.eq(self.outstanding),
            slots.advance.eq(made.input.ready),
            slots.available.eq(self.available),
            self.pack.eq(slots.pack),
            self.control.eq(slots.control),
            self.swap_next.eq(slots.swap_next),
            self.between.eq(slots.between),
            self.flit_between.eq(slots.flit & slots.between),
            self.between_next.eq(slots.between_next),
            self.wanted.eq(slots.wanted),
            self.go.eq(slots.flit),
        ]

        halves = [Signal(HALF_FLIT_LAYOUT, name=name, reset_less=True) for name in ("lower", "upper")]
        lower, upper = halves
        with m.If(slots.advance):
            m.d.sync += leaves.eq(slots.flit)
            with m.Switch(slots.lower):
                with m.Case(LowerSlot.DATA):
                    m.d.sync += lower.eq(self.window[0])
                with m.Case(LowerSlot.CONTROL):
                    m.d.sync += [lower[name].eq(self.content[name]) for name in ("data", "message", "code")]
            m.d.sync += upper.eq(0)
            with m.Switch(slots.upper):
                with m.Case(UpperSlot.DATA):
                    m.d.sync += upper.eq(Mux(slots.lower == LowerSlot.DATA, self.window[1], self.window[0]))
                with m.Case(UpperSlot.TAGS):
                    m.d.sync += [upper.data.eq(self.content.tags), upper.code.eq(self.content.tags_code)]

        # The DL is ready late: two places between hear of it a cycle later.
        wiring.connect(m, made.output, wiring.flipped(self.tx_flit))
        parities = [byte_parity(half.data) for half in halves]
        upsets = [wrong(half.code, parity, half.message) for half, parity in zip(halves, parities)]
        m.d.comb += [
            made.input.valid.eq(leaves),
            made.input.p.data.eq(Cat(half.data for half in halves)),
            made.input.p.message.eq(Cat(half.message for half in halves)),
            made.input.p.parity.eq(Cat(parities)),
            # Both are wrong of a beat whose control was: together they must not look right.
            made.input.p.control_parity.eq(even_parity(lower.message, upper.message, upsets[0] | upsets[1])),
        ]
        return m
