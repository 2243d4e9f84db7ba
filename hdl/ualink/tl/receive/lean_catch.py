"""Catch buffer for slow clocks, and which catch buffer a receiver has."""

from amaranth.hdl import Mux, Signal, Value

from ualink.config import TLConfig
from ualink.lib.select import select_one

from .catch_buffer import CatchBuffer
from .catch_lines import CatchLines

__all__ = ["LeanCatch", "catch_buffer"]


class LeanCatch(CatchLines):
    """``CatchLines`` without a register behind ``output``; members and timing are the same, but ``following`` is 0.

    A row is written before the first field of it is read, and no more than ``entries`` fields are inside at once, so no
    row is written anew while a field of it is on show.
    """

    def _give(self, m, line, old, new):
        (row, first), (new_row, first_new) = old, new
        shown, field = Signal.like(row, name="shown"), Signal(self.entries)
        m.d.sync += [shown.eq(Mux(first.any(), row, new_row)), field.eq(first | first_new)]
        m.d.comb += [
            line.addr.eq(shown),
            Value.cast(self.output.p).eq(select_one(field, [Value.cast(line.data[n]) for n in range(self.entries)])),
        ]


def catch_buffer(config: TLConfig, entries: int, shape, *, foreseen: bool = False) -> CatchBuffer:
    """The catch buffer that ``config`` wants; with ``foreseen`` one that tells ``following``."""
    kind = CatchBuffer if not config.catch_in_lines else LeanCatch if config.lean and not foreseen else CatchLines
    return kind(entries, shape)
