"""Catch buffer for slow clocks."""

from amaranth.hdl import Mux, Signal, Value

from ualink.lib.select import select_one

from .catch_lines import CatchLines

__all__ = ["LeanCatch"]


class LeanCatch(CatchLines):
    """``CatchLines`` without a register behind ``output``; members and timing are the same, but ``following`` is 0.

    A row is written before the first field of it is read, and no more than ``entries`` fields are inside at once, so no
    row is written anew while a field of it is on show.
    """

    def _give(self, m, lines, old, new):
        (row, _, first), (new_row, first_new) = old, new
        line = self._row(m, lines, Mux(first.any(), row, new_row))
        field = Signal(self.entries)
        m.d.sync += field.eq(first | first_new)
        m.d.comb += Value.cast(self.output.p).eq(select_one(field, [Value.cast(line[n]) for n in range(self.entries)]))
