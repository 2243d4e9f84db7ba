"""A short queue whose entries are all in sight, so that several can leave at once."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError

__all__ = ["LookAheadQueue"]


class LookAheadQueue(wiring.Component):
    """Queue of ``depth`` entries of ``shape``; one enters and up to ``most`` leave per cycle.

    An entry accepted in one cycle is visible in the next; ``i.ready`` depends on registers only.

    Attributes
    ----------
    i : entries in.
    entries : entry 0 is the oldest; entries from ``count`` on have no meaning.
    count : entries held, 0 after reset.
    take : entries that leave in this cycle, oldest first, at most ``count`` and ``most``, which is ``depth`` if not
        given.
    """

    def __init__(self, shape, depth: int, most: int | None = None):
        if depth < 1:
            raise ConfigError(f"look-ahead queue of depth {depth!r}; it must be 1 or more")
        self.depth = depth
        self.most = depth if most is None else most
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "entries": Out(shape).array(depth),
                "count": Out(range(depth + 1)),
                "take": In(range(self.most + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape = self.i.payload.shape()
        stored = [Signal(shape, name=f"entry_{n}", reset_less=True) for n in range(self.depth)]
        kept = Signal(range(self.depth + 1))
        m.d.comb += [
            self.i.ready.eq(self.count != self.depth),
            kept.eq(self.count - self.take),
        ]
        m.d.sync += self.count.eq(kept + (self.i.valid & self.i.ready))
        for n, entry in enumerate(stored):
            m.d.comb += self.entries[n].eq(entry)
            with m.If(kept > n), m.Switch(self.take):
                for taken in range(1, min(self.most + 1, self.depth - n)):
                    with m.Case(taken):
                        m.d.sync += entry.eq(stored[n + taken])
            with m.Else():
                m.d.sync += entry.eq(self.i.payload)
        return m
