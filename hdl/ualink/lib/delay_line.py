"""A value some steps later, for those who have no register to spare for it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.lib.memory_marks import NEVER_MEET, OUT_OF_REGISTER

__all__ = ["DelayLine"]

ROWS = 4


class DelayLine(wiring.Component):
    """What ``steps`` registers one behind the other would have in the last of them, out of a memory of four rows.

    A step is a cycle with ``move``, in which a value comes in and all others move on. The memory has no register before
    it: for four who take turns (``Interleaver``), for whom it is one of sixteen rows in the place of ``steps`` rings of
    four registers. Nothing protects what says which row is next.

    Parameters
    ----------
    shape : shape-like of a value.
    steps : 2 or 3.
    registered : of four who take turns, ``delayed`` comes out of a register behind the memory, which they share.

    Members
    -------
    move : 1 bit, which may be late; ``value`` : ``shape``, what comes in.
    delayed : ``shape``, what came in with the last step but ``steps`` - 1; anything before there were so many.
    """

    def __init__(self, shape, steps: int, *, registered: bool = False):
        check_choice("delay_line.steps", steps, (2, 3))
        self._steps = steps
        self._shape = shape
        self._attrs = NEVER_MEET | (OUT_OF_REGISTER if registered else {})
        super().__init__({"move": In(1), "value": In(shape), "delayed": Out(shape)})

    def elaborate(self, platform):
        m = Module()
        # The row that is read is written again with a later step.
        m.submodules.storage = storage = memory.Memory(shape=self._shape, depth=ROWS, init=[], attrs=self._attrs)
        write, read = storage.write_port(), storage.read_port()
        row, following = Signal(range(ROWS)), Signal(range(ROWS))
        m.d.comb += [
            following.eq(row + self.move),
            write.addr.eq(row),
            write.data.eq(self.value),
            write.en.eq(self.move),
            read.addr.eq(following - self._steps),
            self.delayed.eq(read.data),
        ]
        m.d.sync += row.eq(following)
        return m
