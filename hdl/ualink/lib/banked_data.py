"""Payloads in two memories in turn, beside a queue that says when one comes and one leaves."""

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.lib.memory_marks import NEVER_MEET
from ualink.lib.queue import ram_attributes, successor
from ualink.lib.select import select_one, several

__all__ = ["BankedData"]


class BankedData(wiring.Component):
    """Keeps a payload for each entry of a queue of ``depth``, which says when one comes and one leaves.

    What is ``coming``, ``pushed`` and ``popped`` may be late in a cycle and reaches no memory: payloads are in two of
    them in turn, so that the one whose payload has left has a cycle to read its next one, and are written a cycle
    later. A payload that the memory would have to give before it has it goes round it, out of one of two registers.

    Parameters
    ----------
    shape : shape-like of one payload.
    depth : int, 1 or more: payloads that fit.

    Members
    -------
    room : 1 bit, register of the queue: it is not full.
    some : 1 bit, there is a payload in it, or may be. After a cycle without one it begins anew, whatever upsets have
        left behind.
    pushed : 1 bit, ``coming`` enters; only with ``room``.
    popped : 1 bit, the oldest leaves; not without one.
    torn : 1 bit: after an upset ``oldest`` may be of two payloads, or of none; only where there is one.
    oldest : that payload, one memory read and a multiplexer behind registers; from the cycle after it was pushed.
    """

    def __init__(self, shape, depth: int):
        check_integer("banked_data.depth", depth, 1)
        self.shape, self.depth = shape, depth
        super().__init__(
            {
                "room": In(1),
                "some": In(1, init=1),
                "coming": In(shape),
                "pushed": In(1),
                "popped": In(1),
                "torn": Out(1),
                "oldest": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows = (self.depth + 1) // 2
        # What came in the cycle before, and in the one before that.
        kept, older = (Signal(Shape.cast(self.shape).width, name=name, reset_less=True) for name in ("kept", "older"))
        m.d.sync += [kept.eq(Value.cast(self.coming)), older.eq(kept)]
        # In one-hot bits the memory that the next payload goes to, and the one that has the oldest.
        into, turn = Signal(2, init=1), Signal(2, init=1)
        with m.If(self.pushed):
            m.d.sync += into.eq(into.rotate_left(1))
        with m.Elif(~self.some):
            m.d.sync += into.eq(Cat(into[0], ~into[0]))
        with m.If(self.popped):
            m.d.sync += turn.eq(turn.rotate_left(1))
        with m.Elif(~self.some):
            m.d.sync += turn.eq(into)
        given, rounds, written = [], [], []
        for n in range(2):
            attrs = NEVER_MEET | (ram_attributes(self.shape, rows) or {})
            m.submodules[f"storage_{n}"] = storage = memory.Memory(shape=len(kept), depth=rows, init=[], attrs=attrs)
            write, read = storage.write_port(), storage.read_port()
            row, before, moved = _row(m, self.pushed & into[n], rows, f"write_{n}")
            read_row, read_before, _ = _row(m, self.popped & turn[n], rows, f"read_{n}")
            with m.If(~self.some):
                m.d.sync += read_before.eq(row)
            m.d.comb += [
                write.addr.eq(before),
                write.data.eq(kept),
                write.en.eq(moved),
                read.addr.eq(read_row),
            ]
            given.append(read.data)
            # It is the row that is read, and with room in the queue nothing is in it; the one that is written now.
            rounds.append(self.room & into[n] & (row == read_row))
            written.append(moved & (before == read_row))
        # Where the next cycle's oldest comes from: ``kept``, ``older`` or a memory.
        source = Signal(4, reset_less=True)
        new, newer = Cat(rounds), Cat(written)
        stay, leave = (
            Cat((new & whose).any(), (newer & whose).any(), ~new & ~newer & whose)
            for whose in (turn, turn.rotate_left(1))
        )
        m.d.sync += source.eq(Mux(self.popped, leave, stay))
        m.d.comb += [
            Value.cast(self.oldest).eq(select_one(source, [kept, older, *given])),
            self.torn.eq(several(source) | ~source.any()),
        ]
        return m


def _row(m, moves, rows, name):
    """The row of a pointer that moves on in the cycle after ``moves``; that of the cycle before; if it moves now."""
    moved, before = Signal(name=f"{name}_moved"), Signal(range(rows), name=f"{name}_before")
    row = Signal(range(rows), name=f"{name}_row")
    m.d.comb += row.eq(Mux(moved, successor(before, rows - 1), before))
    m.d.sync += [moved.eq(moves), before.eq(row)]
    return row, before, moved
