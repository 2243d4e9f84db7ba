"""The buffer of one ingress port for several egress ports: one memory, a queue in it for each."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.contract import contract
from ualink.lib.memory_marks import NEVER_MEET
from ualink.lib.queue import Queue, ram_attributes
from ualink.lib.select import select_one
from ualink.switch.shares import Shares
from ualink.switch.transfer import SteeredSignature

__all__ = ["SharedBuffer"]


class SharedBuffer(wiring.Component):
    """Queues of beats in one memory, up to one beat written and one read in every cycle.

    A row holds a beat and, in a memory of its own because it is asked for sooner, the number of the row that its queue
    uses next. Each queue owns one empty row, into which its next beat goes together with the number of a free row,
    which the queue owns from then on; so a queue is a number of its oldest row and one of its empty row, and a beat is
    read together with where to go on. A row that was read is free in the next cycle.

    A beat written in cycle t may be read in t + 1. Who reads knows that a beat is there.

    Parameters
    ----------
    shape : shape-like of one beat.
    ways : int, queues.
    depth, shared : as of ``Shares``.

    Attributes
    ----------
    input : ``SteeredSignature``, seen from the buffer; ``ready`` is ``room`` of ``Shares``.
    read : ``ways`` bit, one-hot or 0, from a register: the oldest beat of this queue leaves.
    beat : ``shape``, what was read in the cycle before.
    levels : 0..``depth`` for each queue: beats inside.
    """

    def __init__(self, shape, ways: int, depth: int, shared: int):
        self.shape = shape
        self.ways = ways
        self._shares = Shares(ways, depth, shared)
        self.beats = ways * self._shares.guaranteed + self._shares.shared
        super().__init__(
            {
                "input": In(SteeredSignature(shape, ways)),
                "read": In(ways),
                "beat": Out(shape),
                "levels": Out(range(depth + 1)).array(ways),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.shares = shares = self._shares
        count = self.beats + self.ways
        attrs = NEVER_MEET | (ram_attributes(self.shape, count) or {})
        m.submodules.storage = storage = memory.Memory(shape=self.shape, depth=count, init=[], attrs=attrs)
        m.submodules.following = following = memory.Memory(shape=range(count), depth=count, init=[], attrs=NEVER_MEET)
        write, read = storage.write_port(), storage.read_port()
        write_following, read_following = following.write_port(), following.read_port()
        oldest = [Signal(range(count), name=f"oldest_{n}", init=n) for n in range(self.ways)]
        empty = [Signal(range(count), name=f"empty_{n}", init=n) for n in range(self.ways)]

        pushed, pushes = Signal(self.ways), Signal()
        free = self._free_row(m, count, pushes, read)
        m.d.comb += [
            self.input.ready.eq(shares.room),
            pushed.eq(self.input.valid & shares.room),
            pushes.eq(pushed.any()),
            shares.push.eq(pushed),
            shares.pop.eq(self.read),
            write.en.eq(pushes),
            write.addr.eq(select_one(pushed, empty)),
            write.data.eq(self.input.payload),
            write_following.en.eq(write.en),
            write_following.addr.eq(write.addr),
            write_following.data.eq(free),
        ]
        m.d.comb += [mine.eq(level) for mine, level in zip(self.levels, shares.levels)]

        was_read = Signal(self.ways)
        m.d.comb += [
            read.en.eq(self.read.any()),
            # A queue that is read again goes on where the row that just came says.
            read.addr.eq(Mux((self.read & was_read).any(), read_following.data, select_one(self.read, oldest))),
            read_following.en.eq(read.en),
            read_following.addr.eq(read.addr),
            self.beat.eq(read.data),
        ]
        m.d.sync += was_read.eq(self.read)
        for n in range(self.ways):
            with m.If(pushed[n]):
                m.d.sync += empty[n].eq(free)
            with m.If(was_read[n]):
                m.d.sync += oldest[n].eq(read_following.data)
        return m

    def _free_row(self, m, count, pushes, read):
        """The number of a free row, one that was never used as long as there are any; ``pushes`` takes it."""
        m.submodules.free_rows = returned = Queue(range(count), self.beats)
        unused = Signal(range(count + 1), init=self.ways)
        fresh = Signal(init=1)
        with m.If(pushes & fresh):
            m.d.sync += [unused.eq(unused + 1), fresh.eq(unused != count - 1)]
        m.d.comb += [
            returned.input.p.eq(read.addr),
            returned.input.valid.eq(read.en),
            returned.output.ready.eq(pushes & ~fresh),
        ]
        contract(m, ~pushes | fresh | returned.output.valid, "whoever has room has a free row")
        contract(m, ~read.en | returned.input.ready, "no row is free twice")
        return Mux(fresh, unused, returned.output.p)[: len(read.addr)]
