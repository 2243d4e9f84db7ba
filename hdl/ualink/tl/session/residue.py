"""Beats of transfers that were under way when the link went down."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ResidueDrain"]


class ResidueDrain(wiring.Component):
    """Lets through the beats of transfers that have been started, and drops what is still to come of them while
    offline.

    The queue in front holds the beats of many transfers in a row. When the link loses a transfer whose beats have not
    all been taken, the rest must go before the next transfer's beats can be found.

    ``most`` is the number of beats that started transfers can have outstanding together. Latency 0.

    Attributes
    ----------
    online : link state; beats pass only while it is high and nothing is being dropped.
    start, beats : a transfer starts in this cycle and ``beats`` of it will pass in later cycles.
    draining : left-over beats are being dropped; no transfer may start.
    i, o : beats; one passes only for a transfer that has been started, or, with ``first_beats``, to start one itself.
    """

    def __init__(self, shape, *, most: int, first_beats: bool):
        self.most = most
        self.first_beats = first_beats
        super().__init__(
            {
                "online": In(1),
                "start": In(1),
                "beats": In(range(5)),
                "draining": Out(1),
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        owed = Signal(range(self.most + 1))
        stale = Signal()
        passes = Signal()
        first = (owed == 0) & self.first_beats
        m.d.comb += [
            self.draining.eq(stale),
            passes.eq(self.online & ~stale & ((owed != 0) | first)),
            self.o.p.eq(self.i.p),
            self.o.valid.eq(self.i.valid & passes),
            self.i.ready.eq((passes & self.o.ready) | (stale & (owed != 0))),
        ]
        leaves = self.i.valid & self.i.ready & (owed != 0)
        stay, following = (Signal(range(self.most + 5), name=name) for name in ("stay", "following"))
        # Whether a transfer starts is known late.
        m.d.comb += [stay.eq(owed - leaves), following.eq(Mux(self.start, owed + self.beats - leaves, stay))]
        m.d.sync += [owed.eq(following), stale.eq((stale | ~self.online) & (following != 0))]
        return m
