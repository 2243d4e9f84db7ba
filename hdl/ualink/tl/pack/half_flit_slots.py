"""What the two slots of each transmitted flit hold, decided on nothing but counts (UALink_200 §5.1.1)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SEQUENCE_STATE_LAYOUT", "HalfFlitSlots", "LowerSlot", "UpperSlot"]

MOST_HALF_FLITS = 72
"""Data half-flits that the fields of one Control half-flit can owe: eight fields of nine."""

SEQUENCE_STATE_LAYOUT = data.StructLayout(
    {
        "owed": range(MOST_HALF_FLITS + 1),
        "many": 1,
        "one": 1,
        "none": 1,
        "holds": 1,
        "held_by_requests": range(37),
        "held_by_responses": data.ArrayLayout(range(33), 2),
        "held_some": 1,
        "held_two": 1,
        "held_tagged": 1,
    }
)
"""Data half-flits ``owed`` by fields that have left, ``many`` if two or more; with ``holds`` a Control half-flit was
taken and has not left, which will owe those held by its Requests and Responses, ``some`` or ``two`` together, and which
has tags or not. With ``holds`` and not ``many`` its flit brings ``one`` data half-flit or ``none``."""


class LowerSlot(enum.Enum, shape=1):
    """What the lower slot holds: the second last or an earlier half-flit owed, or a Control half-flit."""

    DATA = 0
    CONTROL = 1


class UpperSlot(enum.Enum, shape=2):
    """What the upper slot holds: a MANDATORY NOP, the next half-flit owed, or the tags of the Control half-flit."""

    NOP = 0
    DATA = 1
    TAGS = 2


class HalfFlitSlots(wiring.Component):
    """Counts the data half-flits owed, gives every slot to one half-flit and says when a Control half-flit is taken.

    Lower slot: data with two or more half-flits owed, else the Control half-flit. Upper slot: with one half-flit owed
    before this flit, that one (the swap); else the tags of a Control half-flit that has them, its first data half-flit,
    or a MANDATORY NOP. A flit whose data are not there yet does not leave.

    A Control half-flit is taken in the cycle in which the flit before its own leaves, or in any cycle if no such flit
    is there; in the next one it leaves if it can. It is taken if it is ``offered``, while fields are ``outstanding``,
    with no other purpose than to push them on, and always for a swap slot, which would be empty without it.

    After reset nothing is owed and nothing held. All outputs but ``pack`` depend on registers, ``available`` and
    ``advance`` only; ``swap_next`` and ``between`` are registers.

    Attributes
    ----------
    offered, request_half_flits, response_half_flits, some, two, tagged : of the Control half-flit that would be taken
        now, which may depend on ``swap_next`` and ``between``; ``some``, ``two``: so many half-flits together. Without
        ``offered`` it has no data and no tags, and for a swap slot no tags.
    outstanding : the partner's catch buffers need a flit to move on (``SourceRateLimit``).
    pack : it is taken in this cycle, and those before it have left or leave now.
    swap_next : it would leave in a swap slot.
    between : a flit without Control half-flit stands between the one taken last and this one: that of this cycle.
    between_next : a flit leaves in this cycle, and ``between`` is set in the next one.
    advance : a flit may leave in this cycle.
    available, wanted : data half-flits as in ``DataGearbox``, those that leave with the flit. ``wanted`` depends on
        registers only.
    flit, lower, upper : a flit leaves in this cycle, and what its slots hold.
    control : the flit that leaves in this cycle has the Control half-flit that was taken.
    state : the registers.
    """

    def __init__(self):
        super().__init__(
            {
                "offered": In(1),
                "request_half_flits": In(range(37)),
                "response_half_flits": In(data.ArrayLayout(range(33), 2)),
                "some": In(1),
                "two": In(1),
                "tagged": In(1),
                "outstanding": In(1),
                "pack": Out(1),
                "swap_next": Out(1),
                "between": Out(1),
                "between_next": Out(1),
                "advance": In(1),
                "available": In(range(3)),
                "wanted": Out(range(3)),
                "flit": Out(1),
                "lower": Out(LowerSlot),
                "upper": Out(UpperSlot),
                "control": Out(1),
                "state": Out(SEQUENCE_STATE_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        owed, holds = self.state.owed, self.state.holds
        held_some, held_tagged = self.state.held_some, self.state.held_tagged
        # The sum is behind the registers: who packs is late.
        held, after = Signal(range(MOST_HALF_FLITS + 1)), Signal(range(MOST_HALF_FLITS + 1))
        m.d.comb += held.eq(self.state.held_by_requests + sum(self.state.held_by_responses))
        with m.If(self.between):
            m.d.comb += [self.upper.eq(UpperSlot.DATA), after.eq(owed - 2)]
        with m.Elif(owed[0]):
            m.d.comb += [self.upper.eq(UpperSlot.DATA), after.eq(held)]
        with m.Elif(holds & held_tagged):
            m.d.comb += [self.upper.eq(UpperSlot.TAGS), after.eq(held)]
        with m.Elif(holds & held_some):
            m.d.comb += [self.upper.eq(UpperSlot.DATA), after.eq(held - 1)]

        busy, wished, none_after, many_after = Signal(), Signal(), Signal(), Signal()
        enough = (self.between & self.available[1]) | (self.state.one & self.available.any()) | self.state.none
        m.d.comb += [
            self.between.eq(self.state.many),
            self.lower.eq(Mux(self.between, LowerSlot.DATA, LowerSlot.CONTROL)),
            busy.eq(self.between | holds),
            self.wanted.eq(Cat(self.state.one, self.between)),
            self.flit.eq(self.advance & enough),
            self.control.eq(self.flit & ~self.between),
            # Of a flit that leaves: ``after`` is 0; it is more than 1. No Control half-flit owes a single one.
            none_after.eq(Mux(self.between, owed == 2, ~held_some)),
            many_after.eq(Mux(self.between, owed > 3, held_some & (owed[0] | held_tagged | ~self.state.held_two))),
            wished.eq(self.offered | self.outstanding),
            self.pack.eq(Mux(busy, self.flit & (self.swap_next | none_after & wished), wished)),
        ]
        m.d.comb += self.between_next.eq(self.flit & many_after)
        with m.If(self.flit):
            m.d.sync += [owed.eq(after), self.state.many.eq(many_after)]
        # Without ``holds`` they do not matter: only what has been taken stays.
        with m.If(~busy | self.flit):
            m.d.sync += [
                self.state.held_by_requests.eq(self.request_half_flits),
                self.state.held_by_responses.eq(self.response_half_flits),
                held_some.eq(self.some),
                self.state.held_two.eq(self.two),
                held_tagged.eq(self.tagged),
            ]
        # What is taken comes in front of no flit but its own. The other slot has the last half-flit owed, the tags, or
        # the first half-flit that it owes itself.
        brings_one = self.swap_next | (self.some & ~self.tagged)
        with m.If(self.pack):
            m.d.sync += [holds.eq(1), self.state.one.eq(brings_one), self.state.none.eq(~brings_one)]
        with m.Elif(self.flit):
            m.d.sync += [holds.eq(0), self.state.one.eq(0), self.state.none.eq(0)]

        # In the next cycle one half-flit is to be left behind the flit that leaves then: three are owed, or none, and
        # the Control half-flit in that flit brings two and no tags.
        three, none, two_held = Signal(), Signal(), Signal()
        m.d.comb += [
            three.eq(Mux(self.flit, after == 3, owed == 3)),
            none.eq(Mux(self.flit, none_after, owed == 0)),
            two_held.eq(holds & ~self.control & self.state.held_two & ~held_tagged),
        ]
        m.d.sync += self.swap_next.eq(three | (none & Mux(self.pack, self.two & ~self.tagged, two_held)))
        return m
