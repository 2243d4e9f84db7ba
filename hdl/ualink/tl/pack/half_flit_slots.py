"""What the two slots of each transmitted flit hold, decided on nothing but counts (UALink_200 §5.1.1)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SEQUENCE_STATE_LAYOUT", "HalfFlitSlots", "LowerSlot", "UpperSlot"]

MOST_HALF_FLITS = 72
"""Data half-flits that the fields of one Control half-flit can owe: eight fields of nine."""

SEQUENCE_STATE_LAYOUT = data.StructLayout(
    {"owed": range(MOST_HALF_FLITS + 1), "holds": 1, "held": range(MOST_HALF_FLITS + 1)}
)
"""Data half-flits ``owed`` by fields that have left; the control register ``holds`` a Control half-flit, which will owe
``held`` of them."""


class LowerSlot(enum.Enum, shape=2):
    """What the lower slot holds: the second last or an earlier half-flit owed, the Control half-flit of the control
    register, or the one that is formed in this cycle."""

    DATA = 0
    HELD = 1
    FORMED = 2


class UpperSlot(enum.Enum, shape=2):
    """What the upper slot holds: a MANDATORY NOP, the next half-flit owed, or the tags of a Control half-flit that
    is formed in this cycle."""

    NOP = 0
    DATA = 1
    TAGS = 2


class HalfFlitSlots(wiring.Component):
    """Counts the data half-flits owed, gives every slot to one half-flit and says when a Control half-flit is taken.

    Lower slot: data with two or more half-flits owed, else the Control half-flit. Upper slot: with one half-flit owed
    before this flit, that one (the swap); else the tags of a Control half-flit that has them, its first data half-flit,
    or a MANDATORY NOP. A flit whose data are not there yet does not leave. With nothing owed, held or offered a flit
    leaves only while fields are ``outstanding``, with no other purpose than to push them on.

    A Control half-flit is taken as late as a slot can be had for it without waiting:

    - Nothing owed, nothing held: one that needs no data in its own flit goes into the flit of this cycle, if that can
      leave, and otherwise waits and may improve. One with data is held then, and leaves in the next flit at the
      earliest.
      One that is not ``offered`` goes with ``outstanding``.
    - Otherwise it is held from the cycle in which the flit before its own leaves. If its own is a swap flit it is taken
      even if it is not ``offered``: the lower slot would be empty. If not, one not offered waits, and so does any with
      authentication, for it will need no data in its own flit.

    So a swap slot finds what was formed for it with ``swap_next``, nothing else does, and one with tags is never held.
    After reset nothing is owed and nothing held. Combinational from inputs to outputs; ``ahead``, ``swap_next`` and
    ``held_leaves`` depend on registers only.

    Attributes
    ----------
    authentication : Control half-flits may have tags; constant while the link is online.
    offered, half_flits, tagged : of the Control half-flit formed, which may depend on ``swap_next`` and ``ahead``.
        Without ``offered`` and for a swap slot it has no data and no tags.
    outstanding : the partner's catch buffers need a flit to move on (``SourceRateLimit``).
    pack, hold : it is taken in this cycle; ``hold``: into the control register rather than into this flit.
    ahead : it would not leave in the flit of this cycle, but in the one after that.
    swap_next : it would leave in a swap slot.
    advance : a flit may leave in this cycle, and a Control half-flit may be taken.
    available, take : data half-flits as in ``DataGearbox``.
    flit, lower, upper : a flit leaves in this cycle, and what its slots hold.
    held_leaves : should a flit leave in this cycle, the held Control half-flit is in it.
    state : the registers.
    """

    def __init__(self):
        super().__init__(
            {
                "authentication": In(1),
                "offered": In(1),
                "half_flits": In(range(MOST_HALF_FLITS + 1)),
                "tagged": In(1),
                "outstanding": In(1),
                "pack": Out(1),
                "hold": Out(1),
                "ahead": Out(1),
                "swap_next": Out(1),
                "advance": In(1),
                "available": In(range(3)),
                "take": Out(range(3)),
                "flit": Out(1),
                "lower": Out(LowerSlot),
                "upper": Out(UpperSlot),
                "held_leaves": Out(1),
                "state": Out(SEQUENCE_STATE_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        owed, holds = self.state.owed, self.state.holds
        held = self.state.held

        # The flit that would leave without the half-flit formed now, and what would be owed then.
        tagged = Signal()
        wanted = Signal(range(3))
        after = Signal(range(MOST_HALF_FLITS + 1))
        m.d.comb += [
            tagged.eq(self.authentication & self.tagged),
            self.ahead.eq(holds | (owed != 0)),
            self.held_leaves.eq(holds & (owed <= 1)),
            self.swap_next.eq(self.ahead & (after == 1)),
        ]
        with m.If(owed > 1):
            m.d.comb += [wanted.eq(2), self.upper.eq(UpperSlot.DATA), after.eq(owed - 2)]
        with m.Elif(owed == 1):
            m.d.comb += [wanted.eq(1), self.upper.eq(UpperSlot.DATA), after.eq(held)]
        with m.Elif(holds & (held != 0)):
            m.d.comb += [wanted.eq(1), self.upper.eq(UpperSlot.DATA), after.eq(held - 1)]
        # By itself: in the chain above, ``after`` would seem to depend on what is formed, which depends on ``after``.
        with m.If(~self.ahead & tagged):
            m.d.comb += self.upper.eq(UpperSlot.TAGS)
        with m.If(owed > 1):
            m.d.comb += self.lower.eq(LowerSlot.DATA)
        with m.Elif(holds):
            m.d.comb += self.lower.eq(LowerSlot.HELD)
        with m.Else():
            m.d.comb += self.lower.eq(LowerSlot.FORMED)

        skips, early, leaves = Signal(), Signal(), Signal()
        m.d.comb += [
            skips.eq((self.half_flits == 0) | tagged),
            early.eq(self.swap_next | ((after == 0) & self.offered & ~self.authentication)),
            leaves.eq((self.offered & skips) | (self.outstanding & ~self.offered)),
            self.flit.eq(self.advance & (self.available >= wanted) & (self.ahead | leaves)),
            self.take.eq(Mux(self.flit, wanted, 0)),
            self.hold.eq(Mux(self.ahead, self.flit & early, self.advance & self.offered & ~skips)),
            self.pack.eq(self.hold | (self.flit & ~self.ahead)),
        ]
        with m.If(self.flit):
            m.d.sync += owed.eq(Mux(self.ahead, after, self.half_flits))
        with m.If(self.hold):
            m.d.sync += [holds.eq(1), held.eq(self.half_flits)]
        with m.Elif(self.flit & self.held_leaves):
            m.d.sync += holds.eq(0)
        return m
