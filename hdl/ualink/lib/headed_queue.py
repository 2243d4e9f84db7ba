"""A first-in first-out queue whose oldest payloads are in registers."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory

from ualink.lib.memory_marks import NEVER_MEET
from ualink.lib.occupancy import Occupancy
from ualink.lib.queue import Queue, ram_attributes, successor

__all__ = ["HeadedQueue"]

HEADS = 2


class HeadedQueue(Queue):
    """A ``Queue``, cycle by cycle, with ``output`` out of registers: no memory stands before what looks at it.

    Parameters and members are those of ``Queue``.

    The two oldest payloads are in registers, the others in a memory without write-through. A payload goes into the
    memory when both registers stay taken or others wait there, and is read two cycles later at the earliest; what is
    before it lasts that long.
    """

    def elaborate(self, platform):
        m = Module()
        heads = [Signal(self.shape, name=f"head_{n}", reset_less=True) for n in range(HEADS)]
        valid = [Signal(name=f"valid_{n}") for n in range(HEADS)]
        inside = self.inside
        pushed, popped, place = Signal(), Signal(), Signal()
        refilled, stored, found, behind = Signal(), Signal(), Signal(), Signal(self.shape)
        m.d.comb += [
            self.input.ready.eq(~inside.full),
            self.output.valid.eq(valid[0]),
            self.output.p.eq(heads[0]),
            pushed.eq(self.input.valid & ~inside.full),
            popped.eq(valid[0] & self.output.ready),
            place.eq(popped | ~valid[1]),
        ]
        first, direct = Signal(), Signal()
        m.d.comb += first.eq(~valid[0] | (popped & ~valid[1]))
        if self.depth > HEADS:
            waiting = self._store(m, pushed & (~place | stored) & ~direct, refilled, found, behind)
            m.d.comb += [
                stored.eq(waiting.some),
                refilled.eq(place & found),
                # Were it written, the oldest would be out before it can be read.
                direct.eq(first & refilled & pushed & (waiting.level == 1)),
            ]
        # One payload comes to the heads in a cycle with ``place``: from the memory, or else what is pushed; with
        # ``direct`` both, the first one and the second.
        arrives = Signal()
        m.d.comb += arrives.eq(refilled | (place & pushed & ~stored))
        with m.If(first):
            m.d.sync += [heads[0].eq(Mux(found, behind, self.input.p)), valid[0].eq(arrives)]
            m.d.sync += valid[1].eq(direct)
        with m.Elif(popped):
            m.d.sync += [heads[0].eq(heads[1]), valid[1].eq(arrives)]
        with m.Elif(~valid[1]):
            m.d.sync += valid[1].eq(arrives)
        with m.If(place):
            m.d.sync += heads[1].eq(Mux(found & ~first, behind, self.input.p))
        inside.count(m, pushed, popped)
        return m

    def _store(self, m, written, refilled, found, behind):
        """The memory behind the heads; gives how many payloads are in it."""
        depth = self.depth - HEADS
        attrs = NEVER_MEET | (ram_attributes(self.shape, depth) or {})
        m.submodules.storage = storage = memory.Memory(shape=self.shape, depth=depth, init=[], attrs=attrs)
        write, read = storage.write_port(), storage.read_port()
        write_index, read_index, next_read_index = (Signal(range(depth), name=name) for name in _INDICES)
        waiting = Occupancy(depth, name="waiting")
        waiting.count(m, written, refilled)
        m.d.comb += [
            write.addr.eq(write_index),
            write.data.eq(self.input.p),
            write.en.eq(written),
            next_read_index.eq(Mux(refilled, successor(read_index, depth - 1), read_index)),
            read.addr.eq(next_read_index),
            behind.eq(read.data),
        ]
        m.d.sync += [
            read_index.eq(next_read_index),
            # What is written in this cycle is not what is read in it.
            found.eq(Mux(refilled, waiting.level > 1, waiting.some)),
        ]
        with m.If(written):
            m.d.sync += write_index.eq(successor(write_index, depth - 1))
        return waiting


_INDICES = ("write_index", "read_index", "next_read_index")
