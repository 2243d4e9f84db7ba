"""Catch buffer that keeps what a Control half-flit brings together, in one row of a memory."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, memory

from ualink.lib.queue import successor
from ualink.lib.select import select_one

from .catch_buffer import CatchBuffer

__all__ = ["CatchLines"]


class CatchLines(CatchBuffer):
    """``CatchBuffer`` for devices whose memories cost less than multiplexers; members and timing are the same.

    No field moves: the fields of a half-flit are a row of a memory of ``entries`` rows, read without a clock, of which
    one field after the other goes into the register behind ``output``. The first field of a half-flit that finds
    nothing before it goes there at once.
    """

    def elaborate(self, platform):
        m = Module()
        fields = data.ArrayLayout(self.shape, self.entries)
        m.submodules.lines = lines = memory.Memory(shape=fields, depth=self.entries, init=[])
        m.submodules.masks = masks = memory.Memory(shape=self.entries, depth=self.entries, init=[])
        write_line, write_mask = lines.write_port(), masks.write_port()
        last = self.entries - 1

        # Row ``row`` has the fields ``rest`` to give; rows after it, up to the one that is written next, have all. In
        # the next cycle it is row ``becomes``.
        rest = Signal(self.entries)
        row = Signal(range(self.entries), init=last)
        free_row = Signal(range(self.entries))
        next_row = Signal(range(self.entries))
        becomes = Signal(range(self.entries))
        filled, left, new, new_left = Signal(), Signal(self.entries), Signal(self.entries), Signal(self.entries)
        m.d.comb += [
            next_row.eq(successor(row, last)),
            new.eq(Mux(self.load, self.places.valid, 0)),
            filled.eq(new.any()),
            left.eq(rest & (rest - 1)),
            new_left.eq(new & (new - 1)),
            write_line.addr.eq(free_row),
            write_line.data.eq(self.field),
            write_line.en.eq(filled),
            write_mask.addr.eq(free_row),
            write_mask.data.eq(new),
            write_mask.en.eq(filled),
            becomes.eq(row),
        ]
        m.d.sync += row.eq(becomes)
        mask = self._row(m, masks, successor(becomes, last), next_row)
        with m.If(filled):
            m.d.sync += free_row.eq(successor(free_row, last))
        with m.If(~rest.any()):
            m.d.sync += rest.eq(new_left)
            with m.If(filled):
                m.d.comb += becomes.eq(next_row)
        with m.Elif(left.any()):
            m.d.sync += rest.eq(left)
        with m.Elif(next_row != free_row):
            m.d.sync += rest.eq(mask)
            m.d.comb += becomes.eq(next_row)
        with m.Else():
            m.d.sync += rest.eq(new)
            with m.If(filled):
                m.d.comb += becomes.eq(next_row)

        first, first_new = Signal(self.entries), Signal(self.entries)
        m.d.comb += [first.eq(rest & ~left), first_new.eq(Mux(rest.any(), 0, new & ~new_left))]
        m.d.sync += self.output.valid.eq(rest.any() | filled)
        self._give(m, lines, (row, becomes, first), (free_row, first_new))
        return m

    def _give(self, m, lines, old, new):
        """Give a field of the row that is read, which becomes another, or of the one that is written: each with which
        field of it."""
        (row, becomes, first), (_, first_new) = old, new
        line = self._row(m, lines, becomes, row)
        kept, come = ([Value.cast(fields[n]) for n in range(self.entries)] for fields in (line, self.field))
        m.d.comb += Value.cast(self.following).eq(select_one([*first, *first_new], [*kept, *come]))
        m.d.sync += self.output.p.eq(self.following)

    def _row(self, m, storage, becomes, row=None):
        """What ``storage`` holds in the row that ``becomes`` named in the cycle before: ``row``, if that is at hand."""
        if row is None:
            row = Signal.like(becomes, name="shown")
            m.d.sync += row.eq(becomes)
        read = storage.read_port(domain="comb")
        m.d.comb += read.addr.eq(row)
        return read.data
