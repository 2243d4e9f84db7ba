"""Catch buffer: takes what a Control half-flit brings at once and hands it on one by one."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError
from ualink.lib.select import select_one

__all__ = ["CatchBuffer", "places_layout", "places_of"]


def places_layout(entries: int) -> data.StructLayout:
    """Which of ``entries`` fields are there, bit k of ``nth[n]``: field n is, and k are before it; and how many there
    are, a bit each for none, one and so on."""
    return data.StructLayout({"valid": entries, "nth": data.ArrayLayout(entries, entries), "count": entries + 1})


def places_of(m, places, valid) -> None:
    """Assign ``places``, of ``places_layout``, for the fields of the mask ``valid``."""
    before = [sum(valid[:n], start=0) for n in range(len(valid) + 1)]
    m.d.comb += [places.valid.eq(valid), places.count.eq(Cat(before[-1] == k for k in range(len(valid) + 1)))]
    for n in range(len(valid)):
        m.d.comb += places.nth[n].eq(Cat(valid[n] & (before[n] == k) for k in range(n + 1)))


class CatchBuffer(wiring.Component):
    """Catch buffer of Requests (4 entries of 4 sectors) or Responses (8 of 2), UALink_200 §5.7.

    An entry leaves in every cycle, hence at least one per received flit, and none waits for a flit that may be long in
    coming. New fields go behind the entries that remain, in order. A field loaded in cycle t is offered in t + 1 or
    later. A sender within the source rate limit, which ``RateCheck`` holds it to, never overruns the buffer.

    Attributes
    ----------
    load : a flit is accepted, with the fields that are at ``places`` (``places_layout``).
    field : ``field[n]`` is that of bit n; low n first.
    output : the oldest entry.
    following : combinational: what ``output.p`` will be in the next cycle, for a memory that is to be read then.
    """

    def __init__(self, entries: int, shape):
        if entries < 1:
            raise ConfigError(f"catch buffer has {entries!r} entries; it needs one or more")
        self.entries = entries
        self.shape = shape
        super().__init__(
            {
                "load": In(1),
                "places": In(places_layout(entries)),
                "field": In(data.ArrayLayout(shape, entries)),
                "output": Out(stream.Signature(shape, always_ready=True)),
                "following": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        entry = Signal(data.ArrayLayout(self.shape, self.entries), reset_less=True)
        next_entry = Signal(data.ArrayLayout(self.shape, self.entries))
        # How many fields are left when the oldest has gone, a bit for each number below ``entries``.
        left = Signal(self.entries, init=1)
        valid = Signal()
        new = Signal(self.entries + 1)
        m.d.comb += [
            new.eq(Mux(self.load, self.places.count, 1)),
            self.output.valid.eq(valid),
            self.output.p.eq(entry[0]),
            self.following.eq(next_entry[0]),
        ]
        m.d.sync += [entry.eq(next_entry), valid.eq(~(left[0] & new[0]))]

        def together(total):
            """``left`` and ``new`` make ``total``."""
            return reduce(or_, (left[a] & new[total - a] for a in range(min(total + 1, self.entries))))

        m.d.sync += left.eq(Cat(together(0) | together(1), *(together(n + 1) for n in range(1, self.entries))))

        fields = [Value.cast(field) for field in self.field]
        for n in range(self.entries):
            here = [
                reduce(or_, (left[n - k] & self.places.nth[i][k] for k in range(min(i, n) + 1)))
                for i in range(self.entries)
            ]
            stays = [(left[n + 1 :].any(), Value.cast(entry[n + 1]))] if n + 1 < self.entries else []
            chosen, values = zip(*stays, *zip(here, fields))
            m.d.comb += Value.cast(next_entry[n]).eq(select_one(chosen, values))
        return m
