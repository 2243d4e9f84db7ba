"""A short queue whose entries are all in sight, so that several can leave at once."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError
from ualink.lib.select import select_one

__all__ = ["LookAheadQueue", "exactly"]


def exactly(bits):
    """For 0 to all of ``bits``, of which the first ones are set, whether it is so many."""
    return [~bits[0], *(bits[n] & ~bits[n + 1] for n in range(len(bits) - 1)), bits[-1]]


class LookAheadQueue(wiring.Component):
    """Queue of ``depth`` entries of ``shape``; one enters and up to all of them leave per cycle.

    An entry accepted in one cycle is visible in the next; ``i.ready`` is a register. ``chosen`` may come late in a
    cycle: what each number of entries that leave would make of the queue waits for it.

    Parameters
    ----------
    alternatives : how many may leave is known in so many ways.

    Attributes
    ----------
    i : entries in; also without ``i.ready`` in a cycle in which an entry leaves, but then only if the giver knows so.
    entries : entry 0 is the oldest; one whose bit of ``valid`` is 0 has no meaning.
    valid : bit n: entry n is there; the first ones are. 0 after reset.
    chosen : one bit is set: bit 0, nothing leaves in this cycle, or bit n + 1, what ``takes[n]`` says.
    takes : bit n: entry n leaves; the first ones do, only valid ones.
    """

    def __init__(self, shape, depth: int, alternatives: int = 1):
        if depth < 1:
            raise ConfigError(f"look-ahead queue of depth {depth!r}; it must be 1 or more")
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "entries": Out(shape).array(depth),
                "valid": Out(depth),
                "chosen": In(alternatives + 1),
                "takes": In(depth).array(alternatives),
            }
        )

    def elaborate(self, platform):
        m = Module()
        new = Value.cast(self.i.p)
        stored = [Signal(len(new), name=f"entry_{n}", reset_less=True) for n in range(self.depth)]
        # An entry behind the last valid one takes what comes in.
        filled = [Signal(len(new), name=f"filled_{n}") for n in range(self.depth)]
        m.d.comb += [sink.eq(Mux(valid, entry, new)) for sink, valid, entry in zip(filled, self.valid, stored)]
        following = [Cat(filled, self._with_new(self.valid))]
        # By the number of entries that leave.
        for alternative, take in enumerate(self.takes):
            ways = Signal(self.depth + 1, name=f"ways_{alternative}")
            m.d.comb += ways.eq(Cat(exactly(take)))
            entries, kept = [], []
            for n in range(self.depth):
                near = self.depth - n
                kept.append(_any(ways[k] & self.valid[n + k] for k in range(near)))
                entries.append(select_one(ways[:near], filled[n:]) | Mux(ways[near:].any(), new, 0))
            left = Signal(self.depth, name=f"left_{alternative}")
            m.d.comb += left.eq(Cat(kept))
            following.append(Cat(entries, self._with_new(left)))
        m.d.comb += self.i.ready.eq(~self.valid[-1])
        m.d.sync += Cat(stored, self.valid).eq(select_one(self.chosen, following))
        for n, entry in enumerate(stored):
            m.d.comb += Value.cast(self.entries[n]).eq(entry)
        return m

    def _with_new(self, kept):
        return kept | Mux(self.i.valid, Cat(1, kept[:-1]), 0)


def _any(terms):
    return reduce(or_, terms, Const(0))
