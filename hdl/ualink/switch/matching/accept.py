"""Which grant an ingress port accepts, and what it sends from then on."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.switch.matching.turns import above, first_of, turns

__all__ = ["Accept"]


class Accept(wiring.Component):
    """Accepts one grant in a cycle, in a round robin whose place moves with every accepted one (UALink_200 §10.5).

    Grants were made when somewhat less was known, so one counts only if its item is there still and, if it has data,
    both ends are free. Pressing grants come first, in a round robin of their own.

    Parameters
    ----------
    egresses : int, egress ports of the bank.

    Attributes
    ----------
    grants, grants_data, pressing : ``egresses`` bit each: what each egress port grants to this ingress port.
    with_data, without : ``egresses`` bit each, from registers: the oldest item for there has data or none.
    beats : 2 bit for each egress port: beats of that item less one.
    egress_busy : ``egresses`` bit: that egress port takes data of another item in the next cycle.
    move : 1 bit, as of ``turns``.
    accept : ``egresses`` bit, one-hot or 0: this item is taken, in the cycle of its grant.
    start : the same from a register.
    hold : ``egresses`` bit, one-hot or 0, from registers: a beat of data is read for that egress port.
    held, held_long : ``egresses`` bit each, from registers: there are 1 or more beats to come after it, 2 or more.
    ends : 1 bit, from a register: what ``hold`` reads is the last beat of an item.
    soon_free : 1 bit, from a register: there is at most one beat to come.
    """

    def __init__(self, egresses: int):
        self.egresses = egresses
        inputs = ("grants", "grants_data", "pressing", "with_data", "without", "egress_busy")
        outputs = ("accept", "start", "hold", "held", "held_long")
        super().__init__(
            {
                **{name: In(egresses) for name in inputs},
                "beats": In(2).array(egresses),
                "move": In(1),
                **{name: Out(egresses) for name in outputs},
                "ends": Out(1, init=1),
                "soon_free": Out(1, init=1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        every = self.egresses
        eligible, pressing = Signal(every), Signal(every)
        accept, starts_data = self.accept, Signal()
        place = turns(m, "accepted", move=self.move, lag=1, chosen=self.start)
        first_pressing = Signal(every)
        was_pressing = Signal()
        may_start = self.with_data & ~self.egress_busy & self.ends.replicate(every)
        m.d.comb += [
            eligible.eq(self.grants & ((self.grants_data & may_start) | (~self.grants_data & self.without))),
            pressing.eq(eligible & self.pressing),
            accept.eq(Mux(pressing.any(), first_of(pressing, first_pressing), first_of(eligible, place))),
            starts_data.eq((accept & self.grants_data).any()),
        ]
        m.d.sync += [self.start.eq(accept), was_pressing.eq(pressing.any())]
        with m.If(was_pressing):
            m.d.sync += first_pressing.eq(above(self.start))

        left = Signal(2)  # beats to come after the one that is read
        left_then, hold_then = Signal.like(left), Signal(every)
        with m.If(starts_data):
            m.d.comb += [left_then.eq(select_one(accept, self.beats)), hold_then.eq(accept)]
        with m.Elif(~self.ends):
            m.d.comb += [left_then.eq(left - 1), hold_then.eq(self.hold)]
        m.d.sync += [
            left.eq(left_then),
            self.hold.eq(hold_then),
            self.held.eq(hold_then & (left_then != 0).replicate(every)),
            self.held_long.eq(hold_then & left_then[1].replicate(every)),
            self.ends.eq(left_then == 0),
            self.soon_free.eq(~left_then[1]),
        ]
        return m
