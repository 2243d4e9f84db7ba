"""The buffer of one ingress port for several egress ports: one memory, a queue in it for each."""

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.contract import contract
from ualink.lib.headed_queue import HeadedQueue
from ualink.lib.memory_marks import NEVER_MEET
from ualink.lib.parity import protects_data
from ualink.lib.queue import ram_attributes
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

    A beat written in cycle t may be read in t + 1. Who reads knows that a beat is there. The row is written as soon as
    it is known which one it would be; the queue owns it only if the beat is taken.

    Each row also says which queue its beat was meant for, and the how manieth of that queue it is. So a beat that was
    written or is read by mistake shows, whatever was upset: where it goes, the number of a row, where free rows are,
    how many beats there are. A queue that becomes empty begins anew with what its next beat will be, and where. In what
    is ``WithoutDataParity`` rows say nothing, and no beat is ``astray``.

    Parameters
    ----------
    shape : shape-like of one beat.
    ways : int, queues.
    depth, shared : as of ``Shares``.

    Attributes
    ----------
    input : ``SteeredSignature``, seen from the buffer; ``ready`` is ``room`` of ``Shares``.
    read : ``ways`` bit, one-hot or 0, from a register: the oldest beat of this queue leaves.
    came : ``ways`` bit, a register: ``read`` of the cycle before.
    beat : ``shape``, what was read in the cycle before. Who takes it by ``came`` knows by ``astray`` if that is wrong.
    number : ``numbers``, a shape: which one of its queue ``beat`` is, from 1 on. It takes twice as many beats as there
        are rows, or more, until a number comes again: no row is left then that had it.
    next_number : for each queue, from a register: that of the next beat to be written; reset value 1.
    astray : 1 bit, a few gates behind ``beat``: it is not the one that was to be read.
    levels : 0..``depth`` for each queue: beats inside.
    """

    def __init__(self, shape, ways: int, depth: int, shared: int):
        self.shape = shape
        self.ways = ways
        self._shares = Shares(ways, depth, shared)
        self.beats = ways * self._shares.guaranteed + self._shares.shared
        rows = self.beats + ways
        self.numbers = Shape((2 * rows).bit_length())
        super().__init__(
            {
                "input": In(SteeredSignature(shape, ways)),
                "read": In(ways),
                "came": Out(ways),
                "beat": Out(shape),
                "number": Out(self.numbers),
                "next_number": Out(self.numbers, init=1).array(ways),
                "astray": Out(1),
                "levels": Out(range(depth + 1)).array(ways),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.shares = shares = self._shares
        count = self.beats + self.ways
        row = data.StructLayout({"beat": self.shape, **(self._whose() if protects_data() else {})})
        attrs = NEVER_MEET | (ram_attributes(row, count) or {})
        m.submodules.storage = storage = memory.Memory(shape=row, depth=count, init=[], attrs=attrs)
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
            # An empty row may be written whether its queue then takes it or not.
            write.en.eq(self.input.toward.any()),
            write.addr.eq(select_one(self.input.toward, empty)),
            write.data.beat.eq(self.input.payload),
            write_following.en.eq(write.en),
            write_following.addr.eq(write.addr),
            write_following.data.eq(free),
        ]
        m.d.comb += [mine.eq(level) for mine, level in zip(self.levels, shares.levels)]

        was_read = self.came
        m.d.comb += [
            read.en.eq(self.read.any()),
            # A queue that is read again goes on where the row that just came says.
            read.addr.eq(Mux((self.read & was_read).any(), read_following.data, select_one(self.read, oldest))),
            read_following.en.eq(read.en),
            read_following.addr.eq(read.addr),
            self.beat.eq(read.data.beat),
        ]
        m.d.sync += was_read.eq(self.read)
        for n, level in enumerate(self.levels):
            with m.If(pushed[n]):
                m.d.sync += empty[n].eq(free)
            with m.If(level == 0):
                m.d.sync += oldest[n].eq(empty[n])
            with m.Elif(was_read[n]):
                m.d.sync += oldest[n].eq(read_following.data)
        if protects_data():
            self._count_beats(m, pushed, was_read, write.data, read.data)
        return m

    def _whose(self):
        """What a row says besides the beat."""
        return {"queue": self.ways, "number": self.numbers}

    def _count_beats(self, m, pushed, was_read, written, row):
        due = [Signal(self.numbers, name=f"due_{n}", init=1) for n in range(self.ways)]
        m.d.comb += [
            written.queue.eq(self.input.meant),
            written.number.eq(select_one(self.input.toward, self.next_number)),
            self.number.eq(row.number),
            self.astray.eq((row.queue != was_read) | (row.number != select_one(was_read, due))),
        ]
        for n, level in enumerate(self.levels):
            with m.If(pushed[n]):
                m.d.sync += self.next_number[n].eq(self.next_number[n] + 1)
            with m.If(level == 0):
                m.d.sync += due[n].eq(self.next_number[n])
            with m.Elif(was_read[n]):
                m.d.sync += due[n].eq(due[n] + 1)

    def _free_row(self, m, count, pushes, read):
        """The number of a free row, one that was never used as long as there are any; ``pushes`` takes it."""
        m.submodules.free_rows = returned = HeadedQueue(range(count), self.beats)
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
