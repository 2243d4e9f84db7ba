"""Turns of rows proved: transfers stay whole, and nobody starves."""

import pytest
from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import BITWUZLA, prove
from ualink.switch.merging.request_turns import MOST_PASSING, RequestTurns

ROWS = 3
LONGEST = 4
"""Beats of a transfer."""


class Bench(wiring.Component):
    """Rows with whatever Requests: what is there stays until it is taken.

    ``waits``, ``data``: what the oldest Request of each row is in the next cycle, if it is another; ``beats``: less
    one, of the transfer that begins. ``who``: the row that is watched.
    """

    def __init__(self):
        super().__init__(
            {
                "waits": In(ROWS),
                "data": In(ROWS),
                "beats": In(2),
                "room": In(1),
                "data_room": In(1),
                "who": In(range(ROWS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.turns = turns = RequestTurns(ROWS)
        there, with_data, left = Signal(ROWS), Signal(ROWS), Signal(2)
        free = ~there | turns.take
        busy = Signal()  # a transfer goes on
        starts = (turns.take & with_data).any()
        length = Mux(busy, left, self.beats)
        m.d.sync += [
            there.eq((there & ~free) | (self.waits & free)),
            with_data.eq((with_data & ~free) | (self.data & free)),
        ]
        with m.If(turns.beat_of.any()):
            m.d.sync += [busy.eq(length != 0), left.eq(length - 1)]
        m.d.comb += [
            turns.has_data.eq(there & with_data),
            turns.has_none.eq(there & ~with_data),
            turns.room.eq(self.room),
            turns.data_room.eq(self.data_room),
            turns.ends.eq(length == 0),
        ]
        self._whole(m, turns, there, with_data, busy, starts)
        self._fair(m, turns, there)
        return m

    def _whole(self, m, turns, there, with_data, busy, starts):
        owner = Signal(ROWS)
        with m.If(turns.beat_of.any()):
            m.d.sync += owner.eq(turns.beat_of)
        for chosen in (turns.take, turns.beat_of):
            m.d.comb += Assert((chosen & (chosen - 1)[:ROWS]) == 0)
        m.d.comb += [
            Assert((turns.take & ~there) == 0),
            Assert(~turns.take.any() | self.room),
            Assert(~starts | (self.data_room & ~busy & (turns.beat_of == turns.take))),
            Assert(Mux(busy, turns.beat_of == owner, turns.beat_of == Mux(starts, turns.take, 0))),
        ]

    def _fair(self, m, turns, there):
        """Cycles in which a Request of ``who`` waits and there is room for all."""
        who, begun = Signal.like(self.who), Signal()
        m.d.sync += begun.eq(1)
        with m.If(~begun):
            m.d.sync += who.eq(Mux(self.who < ROWS, self.who, 0))
        bound = MOST_PASSING * (ROWS - 1) + LONGEST
        waited = Signal(range(bound + 2))
        mine, taken = (Cat(bits).bit_select(who, 1) for bits in (there, turns.take))
        with m.If(~mine | taken):
            m.d.sync += waited.eq(0)
        with m.Elif(self.room & self.data_room & begun):
            m.d.sync += waited.eq(waited + 1)
        m.d.comb += Assert(waited <= bound)


@pytest.mark.req("UPLI-302", "SW-039", "SW-041", "SW-043")
def test_turns_of_three_rows():
    """From reset on, for as long as the longest wait takes; rooms come and go."""
    prove(Bench(), mode="bmc", depth=MOST_PASSING * (ROWS - 1) + LONGEST + 10, engine=BITWUZLA)
