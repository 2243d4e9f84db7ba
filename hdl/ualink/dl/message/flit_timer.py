"""Flit times since something happened."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["FlitTimer"]


class FlitTimer(wiring.Component):
    """Counts flit times and stops at the highest number.

    ``restart`` is a register before it acts on the count, so that it may take its cycle.

    Parameters
    ----------
    width : of the count.

    Members
    -------
    slot_end : a flit time has passed.
    restart : count from the next cycle on.
    restarted : there was a ``restart`` in the cycle before.
    count : flit times since ``restart``; 0 in the cycle after it. Reset value 0.
    """

    def __init__(self, width: int):
        super().__init__({"slot_end": In(1), "restart": In(1), "restarted": Out(1), "count": Out(width)})

    def elaborate(self, platform):
        m = Module()
        counted = Signal.like(self.count)
        m.d.comb += self.count.eq(Mux(self.restarted, 0, counted))
        m.d.sync += [
            self.restarted.eq(self.restart),
            # Every number that may follow is there before it is known which does.
            counted.eq(Mux(self.restarted, self.slot_end, Mux(self.slot_end & ~counted.all(), counted + 1, counted))),
        ]
        return m
