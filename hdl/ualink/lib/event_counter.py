"""A wide counter of events that is fast and can be read at any time."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer

__all__ = ["EventCounter"]


class EventCounter(wiring.Component):
    """Counts ``width`` bits in segments that carry ahead of time.

    Beside each segment but the lowest one register tells whether all bits below the segment are ones. It changes
    together with them, so all segments step in the same cycle, and ``count`` is a true count in every cycle: whoever
    reads it needs neither a second look nor a copy.

    Parameters
    ----------
    width : bits of the count, which wraps around.
    segment : bits of a segment, 1..``width``.

    Members
    -------
    event : count one up.
    count : the count, two cycles later: an event is a register first, so that what makes it may take its cycle. Reset
        value 0.
    """

    def __init__(self, width: int, segment: int = 16):
        check_integer("segment", segment, 1, width)
        self._segment = segment
        super().__init__({"event": In(1), "count": Out(width)})

    def elaborate(self, platform):
        m = Module()
        happened = Signal()
        m.d.sync += happened.eq(self.event)
        step = happened
        for low in range(0, len(self.count), self._segment):
            part = self.count[low : low + self._segment]
            following = low + self._segment
            with m.If(step):
                m.d.sync += part.eq(part + 1)
            if following < len(self.count):
                below_is_full = Signal(name=f"below_{following}_is_full")
                with m.If(happened):
                    m.d.sync += below_is_full.eq(self.count[:following] == (1 << following) - 2)
                step = happened & below_is_full
        return m
