"""A queue that offers the beats of a transfer only when it holds them all."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.lib.contract import contract
from ualink.lib.queue import Queue
from ualink.switch.transfer import MAX_BEATS

__all__ = ["TransferQueue"]


class TransferQueue(wiring.Component):
    """Queue of up to ``depth`` beats whose reader never finds a gap within a transfer (UALink_200 §2.7.8).

    The first beat of a transfer is offered from the cycle after the one in which its last beat was written.

    Parameters
    ----------
    layout : what is queued, with a bit ``end`` that marks the last beat of a transfer (``transfer_layout``).
    depth : int, beats that fit; 4 or more, because a transfer that does not fit would never be offered.

    Attributes
    ----------
    input, output : streams of ``layout``.
    level : beats inside; 0 after reset.
    """

    def __init__(self, layout, depth: int):
        check_integer("transfer_queue.depth", depth, MAX_BEATS)
        self.layout = layout
        self.depth = depth
        super().__init__(
            {
                "input": In(stream.Signature(layout)),
                "output": Out(stream.Signature(layout)),
                "level": Out(range(depth + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.beats = beats = Queue(self.layout, self.depth)
        whole = Signal(range(self.depth + 1))  # transfers of which the last beat is inside
        wiring.connect(m, wiring.flipped(self.input), beats.input)
        entered = self.input.valid & self.input.ready & self.input.p.end
        left = self.output.valid & self.output.ready & self.output.p.end
        contract(m, beats.input.ready | (whole != 0), "no transfer is longer than the queue")
        m.d.sync += whole.eq(whole + entered - left)
        m.d.comb += [
            self.output.p.eq(beats.output.p),
            self.output.valid.eq(whole != 0),
            self.level.eq(beats.level),
            beats.output.ready.eq(self.output.valid & self.output.ready),
        ]
        return m
