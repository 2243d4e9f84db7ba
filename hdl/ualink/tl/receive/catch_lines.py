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
        mask = masks.read_port(domain="comb")
        last = self.entries - 1

        # Row ``row`` has the fields ``rest`` to give; rows after it, up to the one that is written next, have all.
        rest = Signal(self.entries)
        row, free_row, next_row = (
            Signal(range(self.entries), init=last),
            Signal(range(self.entries)),
            Signal(range(self.entries)),
        )
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
            mask.addr.eq(next_row),
        ]
        with m.If(filled):
            m.d.sync += free_row.eq(successor(free_row, last))
        with m.If(~rest.any()):
            m.d.sync += rest.eq(new_left)
            with m.If(filled):
                m.d.sync += row.eq(next_row)
        with m.Elif(left.any()):
            m.d.sync += rest.eq(left)
        with m.Elif(next_row != free_row):
            m.d.sync += [rest.eq(mask.data), row.eq(next_row)]
        with m.Else():
            m.d.sync += rest.eq(new)
            with m.If(filled):
                m.d.sync += row.eq(next_row)

        first, first_new = Signal(self.entries), Signal(self.entries)
        m.d.comb += [first.eq(rest & ~left), first_new.eq(Mux(rest.any(), 0, new & ~new_left))]
        m.d.sync += self.output.valid.eq(rest.any() | filled)
        self._give(m, lines.read_port(domain="comb"), (row, first), (free_row, first_new))
        return m

    def _give(self, m, line, old, new):
        """Give a field of the row that is read or of the one that is written: each a row and which field of it."""
        (row, first), (_, first_new) = old, new
        kept, come = ([Value.cast(fields[n]) for n in range(self.entries)] for fields in (line.data, self.field))
        m.d.comb += [
            line.addr.eq(row),
            Value.cast(self.following).eq(select_one([*first, *first_new], [*kept, *come])),
        ]
        m.d.sync += self.output.p.eq(self.following)
