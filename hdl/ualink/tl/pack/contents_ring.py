"""A short ring of entries that are all in sight and never move, for slow clocks."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one

from .look_ahead import exactly

__all__ = ["ContentsRing", "turned"]


class ContentsRing(wiring.Component):
    """Keeps ``depth`` entries of ``shape``; one enters and up to all of them leave per cycle.

    An entry accepted in one cycle is visible in the next. It stays in the place to which it came: who looks at
    ``entries`` turns what it selects them by (``turned``), which is a few bits, and not the entries.

    Attributes
    ----------
    i : entries in, only when there is room, or one leaves in that cycle; ``i.ready`` is always 1.
    entries : entry n counted from the oldest is in the place n after that of ``first``, round the ring.
    first : one-hot, the place of the oldest; place 0 after reset.
    leave : bit n: entry n leaves; the first ones do, only valid ones.
    """

    def __init__(self, shape, depth: int):
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape, always_ready=True)),
                "entries": Out(shape).array(depth),
                "first": Out(depth, init=1),
                "leave": In(depth),
            }
        )

    def elaborate(self, platform):
        m = Module()
        places = [Signal(Value.cast(self.i.p).shape(), name=f"place_{n}", reset_less=True) for n in range(self.depth)]
        new = Signal(self.depth, init=1)
        for n, place in enumerate(places):
            with m.If(self.i.valid & new[n]):
                m.d.sync += place.eq(self.i.p)
            m.d.comb += Value.cast(self.entries[n]).eq(place)
        m.d.sync += self.first.eq(
            select_one(exactly(self.leave), [self.first.rotate_left(n) for n in range(self.depth + 1)])
        )
        with m.If(self.i.valid):
            m.d.sync += new.eq(new.rotate_left(1))
        return m


def turned(chosen, first) -> Cat:
    """Bits to select entries of a ring by: bit n of ``chosen`` is for the entry n after that of ``first``."""
    depth = len(first)
    return Cat(
        reduce(or_, (chosen[n] & first[(place - n) % depth] for n in range(min(depth, len(chosen)))))
        for place in range(depth)
    )
