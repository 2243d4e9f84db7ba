"""A first-in first-out queue whose oldest payloads are in registers."""

from collections.abc import Collection
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, memory

from ualink.lib.memory_marks import NEVER_MEET
from ualink.lib.occupancy import Occupancy
from ualink.lib.parity import protects_data
from ualink.lib.presence import Presence
from ualink.lib.queue import Queue, UnhurriedQueue, ram_attributes, successor

__all__ = ["HeadedQueue", "headed_queue"]

HEADS = 3
"""What finds so many in the queue can be written, be read and stand in its place before it is the oldest."""

FEW = 4
"""So many payloads are in registers alone: a memory with its read register would be more of them."""


class HeadedQueue(Queue):
    """A ``Queue``, cycle by cycle, with ``output`` out of registers: no memory stands before what looks at it.

    Members are those of ``Queue``. A queue that has become empty begins anew, whatever upsets have left behind. What
    chooses the payload that is offered is there three times, and an upset of one of them is outvoted. None of this is
    done in what is ``WithoutDataParity``.

    Each payload has its place in a ring of three registers, ``depth`` if that is four or less. It goes there at once if
    fewer than three are in the queue; else it waits in a memory without write-through, and comes to its place three
    cycles later or after. The memory has ``depth - 3`` rows; there is none where all have a register.

    A place is written in every cycle in which it is free, with whatever there is, and is free from the cycle after the
    one in which its payload leaves. So neither ``input.valid`` nor ``output.ready``, both of which may be late, reaches
    a place, nor ``output.ready`` the memory: it changes no more than a few bits.

    Parameters
    ----------
    shape, depth : as of ``Queue``.
    decisive : names of members of ``shape``, and of layouts in it, that are wanted early. A copy of the oldest's is in
        a register of their own, which ``output.ready`` does reach; the others come through a multiplexer of the places.
    watched : somebody sees when all of a payload is zero, but what is ``decisive``, where none is. There is no time for
        a vote then, and an upset may show that in place of a payload for a cycle, and is outvoted behind it.
    """

    def __init__(self, shape, depth: int, *, decisive: Collection[str] = (), watched: bool = False):
        super().__init__(shape, depth)
        self._watched = watched
        self._early = _bits_of(shape, decisive)
        self.astray = Signal()
        """1 bit, for those who watch the queue: in the cycle before, what the memory has was not from the row that is
        read to the one that is written, or nobody knew how much that is."""

    def elaborate(self, platform):
        m = Module()
        ring = self.depth if self.depth <= FEW else HEADS
        heads = [Signal(Shape.cast(self.shape).width, name=f"head_{n}", reset_less=True) for n in range(ring)]
        # The place of what leaves next, and of what comes next, even if it waits in the memory before. Of the latter
        # the last bit is not kept: whatever an upset makes of the others, it is one place.
        oldest, kept = Signal(ring, init=1, name="oldest"), Signal(ring - 1, init=int(ring > 1), name="newest")
        newest = Signal(ring, name="newest_place")
        free = Signal(ring, init=-1)
        # The same place, and not of it: of two registers with the same bits tools make one. Without protection each
        # chooses half of the payload, which one alone would be long in reaching.
        others = Signal(ring, init=(1 << ring) - 2)
        pushed, popped, direct = Signal(), Signal(), Signal(init=1)
        due, behind = Signal(ring), Signal(len(heads[0]))
        inside, payload = self.inside, Value.cast(self.input.p)
        none, here, shows, settled, home = Const(0), oldest, (oldest, ~others), oldest, newest
        if protects_data():
            none = ~self.level.any()
            # By the third of them an upset of one is outvoted; it is made in another way, so that it stays one.
            third, voted = Signal(ring, init=1, name="third"), Signal(ring, name="voted")
            m.d.comb += voted.eq(_most_of(oldest, ~others, third))
            here, settled, home = voted, Mux(none, newest, voted), Mux(none, 1, newest)
            # Of two that do not agree nothing comes of what one alone says, nor is it halves of two payloads.
            shows = (oldest & ~others,) * 2 if self._watched else (voted, voted)
        m.d.comb += [
            newest.eq(_one_place(kept)),
            self.input.ready.eq(~inside.full),
            self.output.valid.eq(inside.some),
            pushed.eq(self.input.valid & ~inside.full),
            popped.eq(inside.some & self.output.ready),
        ]
        inside.count(m, pushed, popped)
        if self.depth > ring:
            self._store(m, pushed & ~direct, free, newest, due, behind, none)
            fewer, more = self.level <= HEADS, self.level < HEADS - 1
            m.d.sync += direct.eq(Mux(popped, Mux(pushed, direct, fewer), Mux(pushed, more, direct | none)))
        else:
            m.d.comb += direct.eq(1)
        arrives = due | Mux(pushed & direct, newest, 0)
        m.d.sync += free.eq(((free | none.replicate(ring)) & ~arrives) | Mux(popped, here, 0))
        next_oldest = Signal(ring)
        m.d.comb += next_oldest.eq(Mux(popped, here.rotate_left(1), settled))
        m.d.sync += [
            kept.eq(Mux(pushed, newest.rotate_left(1), home)),
            oldest.eq(next_oldest),
            others.eq(~next_oldest),
        ]
        if protects_data():
            m.d.sync += third.eq(Cat(~(next_oldest & ~(1 << n)).any() for n in range(ring)))
        becomes = [Signal.like(head, name=f"next_{n}") for n, head in enumerate(heads)]
        for n, (head, value) in enumerate(zip(heads, becomes)):
            m.d.comb += value.eq(Mux(free[n], Mux(due[n], behind, payload), head))
            m.d.sync += head.eq(value)
        chosen = Signal.like(heads[0], name="chosen")
        half = len(chosen) // 2
        m.d.comb += [
            chosen[:half].eq(_selected(shows[0], [head[:half] for head in heads])),
            chosen[half:].eq(_selected(shows[1], [head[half:] for head in heads])),
        ]
        shown = chosen
        if self._early:
            early = Signal(len(self._early), reset_less=True)
            follows = _selected(here.rotate_left(1), [self._early_of(value) for value in becomes])
            m.d.sync += early.eq(Mux(popped, follows, Mux(inside.some, early, self._early_of(payload))))
            copies = dict(zip(self._early, early))
            shown = Cat(copies.get(n, bit) for n, bit in enumerate(chosen))
        m.d.comb += Value.cast(self.output.p).eq(shown)
        return m

    def _early_of(self, payload):
        return Cat(payload[n] for n in self._early)

    def _store(self, m, written, free, newest, due, behind, none):
        """The memory, empty when ``none`` is in the queue; drives ``due``, the place of the row that has been read, if
        any, and ``behind``, this row."""
        # Two or more: two pushed one after the other can be there although there is room for the first: it has not been
        # read yet.
        rows = self.depth - HEADS
        attrs = NEVER_MEET | (ram_attributes(self.shape, rows) or {})
        m.submodules.storage = storage = memory.Memory(shape=len(behind), depth=rows, init=[], attrs=attrs)
        write, read = storage.write_port(), storage.read_port()
        write_index, read_index, next_read_index = (Signal(range(rows), name=name) for name in _INDICES)
        waiting, found, fill = Occupancy(rows, name="waiting"), Presence(m, "found"), Signal(len(free), init=1)
        several, refilled = Signal(), Signal()
        waiting.count(m, written, refilled)
        m.d.comb += [
            several.eq(waiting.level > 1),
            due.eq(Mux(found.here, fill, 0)),
            refilled.eq((due & free).any()),
            write.addr.eq(write_index),
            write.data.eq(self.input.p),
            write.en.eq(written),
            next_read_index.eq(Mux(refilled, successor(read_index, rows - 1), read_index)),
            read.addr.eq(next_read_index),
            behind.eq(read.data),
        ]
        m.d.sync += read_index.eq(next_read_index)
        # What is written in this cycle is not what is read in it.
        found.becomes(m, Mux(refilled, several, waiting.some))
        with m.If(refilled & several):
            m.d.sync += fill.eq(fill.rotate_left(1))
        with m.Elif(refilled | ~waiting.some):
            # The next row to be read is none, or the one that is written now.
            m.d.sync += fill.eq(newest)
        with m.If(written):
            m.d.sync += write_index.eq(successor(write_index, rows - 1))
        if protects_data():
            with m.If(none):
                m.d.sync += [waiting.level.eq(0), waiting.some.eq(0), read_index.eq(write_index)]
            reached = read_index + waiting.level
            # All rows and none reach the same. Rows keep what has long left, and whatever number it had.
            m.d.sync += self.astray.eq(waiting.torn() | ((reached != write_index) & (reached != write_index + rows)))


def headed_queue(shape, depth: int, *, decisive: Collection[str] = (), lean: bool, unhurried: bool) -> Queue:
    """A ``HeadedQueue``, or for slow clocks, ``lean``, or ``unhurried``, a plain one, which does the same out of its
    memory."""
    if unhurried:
        return UnhurriedQueue(shape, depth)
    return Queue(shape, depth) if lean else HeadedQueue(shape, depth, decisive=decisive)


def _one_place(bits) -> Value:
    """The first of ``bits`` that is set, or one behind them."""
    return Cat(*(bit & ~bits[:n].any() for n, bit in enumerate(bits)), ~bits.any())


def _most_of(one, other, third) -> Value:
    """Bits that are set in two of three, or in all."""
    return (one & other) | (third & (one | other))


def _selected(places, payloads):
    """Of ``payloads`` the one whose bit of ``places`` is set."""
    return reduce(or_, (payload & place.replicate(len(payload)) for payload, place in zip(payloads, places)))


def _bits_of(shape, names, start=0):
    """Where the members of ``names`` are in ``shape``, and in layouts in it."""
    if not isinstance(shape, data.Layout):
        return []
    bits: list[int] = []
    for name, field in shape:
        first = start + field.offset
        if name in names:
            bits += range(first, first + Shape.cast(field.shape).width)
        else:
            bits += _bits_of(field.shape, names, first)
    return bits


_INDICES = ("write_index", "read_index", "next_read_index")
