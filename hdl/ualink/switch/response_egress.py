"""Egress of one port in a response plane: what was read for it waits here to be sent."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.switch.queue_depths import EGRESS_DEPTH, egress_room
from ualink.switch.transfer import MAX_BEATS
from ualink.upli.channels import CHANNEL_LAYOUTS, beat_stream

__all__ = ["ResponseEgress"]


class ResponseEgress(wiring.Component):
    """Sends beats in the order in which they come (UALink_200 §2.7.8). One cycle from input to output.

    The beats of a transfer come in successive cycles and are offered in successive accepted slots.

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.

    Attributes
    ----------
    come : 1 bit: ``beat``, of the layout of ``channel``, comes; ``first``: it is the first of its transfer.
    under_way : 1 bit, from a register: something is here.
    room : 1 bit, from a register: there is room for the transfer that is granted in this cycle, and for all that comes
        before it.
    rsp : what the port sends.
    leads : 1 bit, the beat on offer is the first of its transfer.
    """

    def __init__(self, channel: str):
        self.channel = channel
        super().__init__(
            {
                "come": In(1),
                "beat": In(CHANNEL_LAYOUTS[channel]),
                "first": In(1),
                "under_way": Out(1),
                "room": Out(1),
                "rsp": Out(beat_stream(channel)),
                "leads": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        layout = data.StructLayout({"beat": CHANNEL_LAYOUTS[self.channel], "first": 1})
        m.submodules.beats = beats = Queue(layout, EGRESS_DEPTH)
        m.d.comb += [
            self.under_way.eq(beats.level != 0),
            beats.input.valid.eq(self.come),
            beats.input.p.beat.eq(self.beat),
            beats.input.p.first.eq(self.first),
            self.rsp.valid.eq(beats.output.valid),
            self.rsp.p.eq(beats.output.p.beat),
            self.leads.eq(beats.output.p.first),
            beats.output.ready.eq(self.rsp.ready),
        ]
        m.d.sync += self.room.eq(egress_room(beats.level, beats=1 if self.channel == "wr_rsp" else MAX_BEATS))
        return m
