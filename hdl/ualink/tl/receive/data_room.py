"""Room in the data memories of a TL receiver, counted where flits are accepted."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["DataRoom"]


class DataRoom(wiring.Component):
    """Counts the free places of a memory that is written one cycle after a flit was accepted.

    A place is free in the second cycle after it was left; it is taken with the flit. So what is accepted finds its
    place, and a partner that keeps to its credits, which it gets back later, is never refused.

    Parameters
    ----------
    places : places of the memory.
    leave : how many may be left in one cycle.

    Attributes
    ----------
    take : one is taken; only with ``room``. left : bit each: one is left.
    room : there is one; reset 1.
    """

    def __init__(self, places: int, leave: int = 1):
        self.places = places
        super().__init__({"take": In(1), "left": In(leave), "room": Out(1)})

    def elaborate(self, platform):
        m = Module()
        free, left = Signal(range(self.places + 1), init=self.places), Signal(len(self.left))
        now, room = Signal(range(self.places + 1)), Signal(init=1)
        m.d.comb += [now.eq(free + sum(left[1:], start=left[0])), self.room.eq(room)]
        # What is taken is known late.
        m.d.sync += [
            left.eq(self.left),
            free.eq(Mux(self.take, now - 1, now)),
            room.eq(Mux(self.take, now > 1, now != 0)),
        ]
        return m
