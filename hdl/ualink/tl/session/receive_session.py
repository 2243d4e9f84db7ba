"""The session as the stages of the receiver see it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ReceiveSession"]


class ReceiveSession(wiring.Component):
    """Tells each stage of the receiver whether its flit came in this session, and all of them when what is left of
    another one has to go (UALink_200 §5.8, ruling D18). All outputs come from registers.

    A flit that comes in cycle 0 is classified in cycle 1, checked in cycle 2 and written in cycle 3. ``flush`` begins
    in the cycle after ``online`` fell, and ends when no flit of before is in one of these stages and nothing of before
    is ``occupied``: in the fourth cycle after ``online`` rose at the earliest.

    Attributes
    ----------
    online : DL channel 0 is online.
    discard : level, Drop Mode.
    occupied : something of before is still on its way to UPLI or to the Rx Address Cache.
    ready : the Rx Address Cache is cleared after reset.
    classifying, checking : the flit of this stage came while ``online``; reset 0.
    flush : everything of before goes, and nothing comes; reset 1. running : ``~flush``, for those who decide by it what
        begins: no tree stands behind its register, as behind that of ``flush``.
    buffers_free : the partner may be given credits; reset 0.
    announced : the partner of the flit in the stage that checks had been given credits; reset 0.
    """

    def __init__(self):
        super().__init__(
            {
                "online": In(1),
                "discard": In(1),
                "occupied": In(1),
                "ready": In(1),
                "classifying": Out(1),
                "checking": Out(1),
                "flush": Out(1, init=1),
                "running": Out(1),
                "buffers_free": Out(1),
                "announced": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        writing, stale, still_stale, free_before, runs = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            still_stale.eq(~writing | (stale & self.occupied)),
            runs.eq(self.online & self.classifying & self.checking & ~self.discard & ~still_stale),
            self.announced.eq(free_before | self.buffers_free),
        ]
        m.d.sync += [
            self.classifying.eq(self.online),
            self.checking.eq(self.classifying),
            writing.eq(self.checking),
            stale.eq(still_stale),
            self.flush.eq(~runs),
            self.running.eq(runs),
            self.buffers_free.eq(runs & self.ready),
        ]
        with m.If(~self.checking):
            m.d.sync += free_before.eq(0)
        with m.Elif(self.buffers_free):
            m.d.sync += free_before.eq(1)
        return m
