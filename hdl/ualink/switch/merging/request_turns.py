"""Whose Request goes next to an egress port, and whose beat."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.matching.turns import above, first_of
from ualink.switch.transfer import MAX_BEATS

__all__ = ["MOST_PASSING", "RequestTurns"]

MOST_PASSING = MAX_BEATS + 1
"""Cycles for which a row waits for another one: those of a transfer, and of a Request without data before it."""


class RequestTurns(wiring.Component):
    """Takes one Request in each cycle, of rows that are asked in turn (UALink_200 §10.5).

    A Request with data goes with its first beat, as soon as the beats of the one before it have gone; its others follow
    in the next cycles. One without data goes beside them. When one of either could go, they take turns.

    Nobody starves: a row that has a Request waits for ``MOST_PASSING`` cycles with room of each other row at the most,
    and for one transfer that has begun.

    Parameters
    ----------
    rows : int.

    Attributes
    ----------
    has_data, has_none : ``rows`` bit each: the oldest Request of that row has data or none.
    room, data_room : 1 bit each: the egress takes a Request; it takes all beats of a transfer.
    ends : 1 bit: the beat that goes is the last of its transfer; it may depend on ``beat_of``.
    take : ``rows`` bit, one-hot or 0: that Request goes.
    beat_of : ``rows`` bit, one-hot or 0: a beat of that row goes.
    """

    def __init__(self, rows: int):
        self.rows = rows
        super().__init__(
            {
                **{name: In(rows) for name in ("has_data", "has_none")},
                **{name: In(1) for name in ("room", "data_room", "ends")},
                **{name: Out(rows) for name in ("take", "beat_of")},
            }
        )

    def elaborate(self, platform):
        m = Module()
        within = Signal(self.rows)  # the row of which more beats are to come; 0 if there are none
        data_place = Signal(self.rows)
        other_place = Signal(self.rows)
        data_was_last = Signal()
        data_waits, other_waits, takes_data = Signal(), Signal(), Signal()
        starts, passes = Signal(self.rows), Signal(self.rows)
        m.d.comb += [
            data_waits.eq(self.room & self.data_room & self.has_data.any() & ~within.any()),
            other_waits.eq(self.room & self.has_none.any()),
            takes_data.eq(data_waits & ~(data_was_last & other_waits)),
            starts.eq(Mux(takes_data, first_of(self.has_data, data_place), 0)),
            passes.eq(Mux(other_waits & ~takes_data, first_of(self.has_none, other_place), 0)),
            self.take.eq(starts | passes),
            self.beat_of.eq(starts | within),
        ]
        m.d.sync += within.eq(Mux(self.ends, 0, self.beat_of))
        with m.If(takes_data):
            m.d.sync += data_place.eq(above(starts))
        with m.If(passes.any()):
            m.d.sync += other_place.eq(above(passes))
        with m.If(data_waits | other_waits):
            m.d.sync += data_was_last.eq(takes_data)
        return m
