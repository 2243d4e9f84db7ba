"""Catch buffer: takes what a Control half-flit brings at once and hands it on one by one."""

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError

__all__ = ["CatchBuffer", "places_layout", "places_of"]


def places_layout(entries: int) -> data.StructLayout:
    """Which of ``entries`` fields are there, how many are before each, and how many there are."""
    return data.StructLayout(
        {"valid": entries, "before": data.ArrayLayout(range(entries + 1), entries), "count": range(entries + 1)}
    )


def places_of(m, places, valid) -> None:
    """Assign ``places``, of ``places_layout``, for the fields of the mask ``valid``."""
    before = [sum(valid[:n], start=0) for n in range(len(valid) + 1)]
    m.d.comb += [places.valid.eq(valid), places.count.eq(before[-1])]
    m.d.comb += [places.before[n].eq(before[n]) for n in range(len(valid))]


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
    following : combinational: what ``output.payload`` will be in the next cycle, for a memory that is to be read then.
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
        level = Signal(range(self.entries + 1))
        remaining = Signal(range(self.entries + 1))
        m.d.comb += [
            remaining.eq(level - level.any()),
            self.output.valid.eq(level.any()),
            self.output.payload.eq(entry[0]),
            self.following.eq(next_entry[0]),
        ]
        m.d.sync += entry.eq(next_entry)
        m.d.sync += level.eq(remaining + Mux(self.load, self.places.count, 0))

        for n in range(self.entries):
            with m.If(n < remaining):
                if n + 1 < self.entries:
                    m.d.comb += next_entry[n].eq(entry[n + 1])
            with m.Else():
                here = [remaining + self.places.before[i] == n for i in range(self.entries)]
                fields = [Value.cast(field) for field in self.field]
                chosen = [Mux(place & self.places.valid[i], fields[i], 0) for i, place in enumerate(here)]
                m.d.comb += Value.cast(next_entry[n]).eq(reduce(or_, chosen))
        return m
