"""Catch buffer: takes what a Control half-flit brings at once and hands it on one by one."""

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError

__all__ = ["CatchBuffer"]


class CatchBuffer(wiring.Component):
    """Catch buffer of Requests (4 entries of 4 sectors) or Responses (8 of 2), UALink_200 §5.7.

    An entry leaves in every cycle, hence at least one per received flit, and none waits for a flit that may be long in
    coming. New fields go behind the entries that remain, in order. A field loaded in cycle t is offered in t + 1 or
    later. The source rate limit, which counts one retired field per flit, is checked beside it: its ``entries`` bound
    what is outstanding, so that a sender within it never overruns the buffer.

    Attributes
    ----------
    flit : a flit is received; ``valid`` and ``field`` are the fields of its Control half-flit (``valid`` 0 if none).
    load : the flit is accepted.
    restart : the link restarts: nothing is outstanding. What has been loaded still leaves.
    valid : bit n: ``field[n]`` is present; low n first.
    overrun : combinational: the flit has more fields than the rate limit allows.
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
                "flit": In(1),
                "load": In(1),
                "restart": In(1),
                "valid": In(entries),
                "field": In(data.ArrayLayout(shape, entries)),
                "overrun": Out(1),
                "output": Out(stream.Signature(shape, always_ready=True)),
                "following": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        entry = Signal(data.ArrayLayout(self.shape, self.entries), reset_less=True)
        next_entry = Signal(data.ArrayLayout(self.shape, self.entries))
        level = Signal(range(self.entries + 1))
        outstanding = Signal(range(self.entries + 1))
        remaining = Signal(range(self.entries + 1))
        retained = Signal(range(self.entries + 1))

        # Number of fields below each, and of all of them.
        before = [Signal(range(n + 1), name=f"before_{n}") for n in range(self.entries + 1)]
        for n in range(self.entries):
            m.d.comb += before[n + 1].eq(before[n] + self.valid[n])
        new = before[self.entries]

        m.d.comb += [
            remaining.eq(level - level.any()),
            retained.eq(outstanding - outstanding.any()),
            self.overrun.eq(self.flit & (retained + new > self.entries)),
            self.output.valid.eq(level.any()),
            self.output.payload.eq(entry[0]),
            self.following.eq(next_entry[0]),
        ]
        m.d.sync += entry.eq(next_entry)
        m.d.sync += level.eq(remaining + Mux(self.load, new, 0))
        with m.If(self.restart):
            m.d.sync += outstanding.eq(0)
        with m.Elif(self.load):
            m.d.sync += outstanding.eq(retained + new)

        for n in range(self.entries):
            with m.If(n < remaining):
                if n + 1 < self.entries:
                    m.d.comb += next_entry[n].eq(entry[n + 1])
            with m.Else():
                places = [remaining + before[i] == n for i in range(self.entries)]
                fields = [Value.cast(field) for field in self.field]
                chosen = [Mux(place & self.valid[i], fields[i], 0) for i, place in enumerate(places)]
                m.d.comb += Value.cast(next_entry[n]).eq(reduce(or_, chosen))
        return m
