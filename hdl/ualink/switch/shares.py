"""Who may put one more beat into a buffer that several queues share."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.occupancy import Occupancy
from ualink.switch.queue_depths import guaranteed, shared_by

__all__ = ["Shares"]


class Shares(wiring.Component):
    """Counts the beats of each queue of a buffer (UALink_200 §10.4).

    A queue always has room for the first ``guaranteed(depth)`` beats, a maximal transfer. What it holds beyond them
    comes out of ``shared`` places that belong to all queues, and it never holds more than ``depth``: a queue that
    stands still leaves to the others what is guaranteed to them, and what it may not take.

    Parameters
    ----------
    ways : int, queues.
    depth : int, beats that one queue may hold.
    shared : int, places for what queues hold beyond their guaranteed beats.

    Attributes
    ----------
    push, pop : ``ways`` bit each, one-hot or 0: a beat enters a queue that has ``room``, a beat leaves.
    room : ``ways`` bit, from registers; all ones after reset.
    levels : 0..``depth`` for each queue, reset value 0.
    """

    def __init__(self, ways: int, depth: int, shared: int):
        self.ways, self.depth = ways, depth
        self.guaranteed = guaranteed(depth)
        self.shared = shared_by(ways, depth, shared)
        super().__init__(
            {
                "push": In(ways),
                "pop": In(ways),
                "room": Out(ways),
                "levels": Out(range(depth + 1)).array(ways),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Of each queue: it has what is guaranteed to it, it has more, it may have no more.
        spent, beyond, capped = (Signal(self.ways, name=name) for name in ("spent", "beyond", "capped"))
        for n, level in enumerate(self.levels):
            push, pop = self.push[n], self.pop[n]
            rises, falls = push & ~pop, pop & ~push
            m.d.sync += level.eq(Mux(rises, level + 1, Mux(falls, level - 1, level)))
            for flag, least in ((spent, self.guaranteed), (beyond, self.guaranteed + 1), (capped, self.depth)):
                m.d.sync += flag[n].eq(
                    Mux(rises, level >= least - 1, Mux(falls, level >= least + 1, flag[n])),
                )
        if not self.shared:
            m.d.comb += self.room.eq(~spent)
            return m
        pool = Occupancy(self.shared, name="pool")
        same = (self.push & self.pop).any()
        pool.count(m, (self.push & spent).any() & ~same, (self.pop & beyond).any() & ~same)
        m.d.comb += self.room.eq(~spent | (~capped & ~Cat(pool.full).replicate(self.ways)))
        return m
