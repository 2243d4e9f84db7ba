"""A place in the way of Responses where one more can be put in."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import CODED_LAYOUTS, beat_stream

__all__ = ["ResponseInsertion"]


class ResponseInsertion(wiring.Component):
    """Lets the beats of a channel pass, and puts one in between two transfers. Latency 0; while nothing is inserted it
    is a wire.

    What is on offer stays on offer: a beat goes in once the one that was offered before is taken. The transfers that
    come meanwhile wait, none is parted.

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.

    Members
    -------
    beats_in, beats_out : streams of coded beats.
    insert : 1 bit, put ``beat`` in; stays up until ``inserted``, or falls and nothing more begins.
    beat : a transfer of one beat.
    inserted : 1 bit, it is taken in this cycle.
    idle : 1 bit, reset value 1: the stage is a wire.
    """

    def __init__(self, channel: str):
        self._channel = channel
        super().__init__(
            {
                "beats_in": In(beat_stream(channel, coded=True)),
                "beats_out": Out(beat_stream(channel, coded=True)),
                "insert": In(1),
                "beat": In(CODED_LAYOUTS[channel]),
                "inserted": Out(1),
                "idle": Out(1, init=1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        came, leaves = self.beats_in, self.beats_out
        inserting = Signal()
        waits, whole = Signal(), Signal()
        m.d.comb += [
            leaves.valid.eq(came.valid | inserting),
            leaves.p.eq(Mux(inserting, self.beat, came.p)),
            came.ready.eq(leaves.ready & ~inserting),
            self.inserted.eq(inserting & leaves.ready),
            self.idle.eq(~inserting),
            waits.eq(leaves.valid & ~leaves.ready),
            whole.eq(1),
        ]
        if self._channel == "rd_rsp":
            left = Signal(2)  # beats of the transfer that are still to come
            left_after = Signal(2)
            m.d.comb += [left_after.eq(left), whole.eq(left_after == 0)]
            with m.If(came.valid & came.ready):
                m.d.comb += left_after.eq(Mux(left == 0, came.p.num_beats, left - 1))
            m.d.sync += left.eq(left_after)
        with m.If(self.inserted):
            m.d.sync += inserting.eq(0)
        with m.Elif(self.insert & ~waits & whole):
            m.d.sync += inserting.eq(1)
        return m
