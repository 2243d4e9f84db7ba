"""Egress of one port in the request plane: what was read for it waits here to be sent."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.lib.shift_queue import ShiftQueue
from ualink.switch.queue_depths import EGRESS_DEPTH, egress_room
from ualink.switch.transfer import transfer_layout
from ualink.upli.channels import REQ_LAYOUT, beat_stream
from ualink.upli.commands import has_orig_data

__all__ = ["RequestEgress"]


class RequestEgress(wiring.Component):
    """Sends Requests in the order in which they come, each with its first beat of data (UALink_200 §2.7.8).

    A data-bearing Request and its first beat come in the same cycle, the other beats in the next ones, and so they are
    offered: together, the other beats in the following accepted slots of the data channel. Either may be taken first,
    the Request or beats. Meanwhile Requests without data that come behind it pass; the next data-bearing Request is
    offered when the beats of the one before it are gone, and what comes behind that one waits, too. One cycle from
    input to output.

    Attributes
    ----------
    come, come_data : 1 bit each: ``item``, ``REQ_LAYOUT``, is a Request; ``transfer`` is a beat.
    under_way : 1 bit, from registers: something is here.
    room, data_room : 1 bit each, from registers: there is room for what is granted in this cycle, and for all that
        comes before it.
    req, orig_data : what the port sends; ``valid`` is a few gates behind registers.
    """

    def __init__(self):
        super().__init__(
            {
                "come": In(1),
                "item": In(REQ_LAYOUT),
                "come_data": In(1),
                "transfer": In(transfer_layout("orig_data")),
                "under_way": Out(1),
                "room": Out(1),
                "data_room": Out(1),
                "req": Out(beat_stream("req")),
                "orig_data": Out(beat_stream("orig_data")),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.requests = requests = Queue(REQ_LAYOUT, EGRESS_DEPTH)
        m.submodules.beats = beats = Queue(transfer_layout("orig_data"), EGRESS_DEPTH)
        # Beats are to come of a transfer whose Request or first beat has gone; the first beat of the oldest has.
        within, ahead = Signal(), Signal()
        # Whether Requests have data, apart because it is asked first.
        m.submodules.kinds = kinds = ShiftQueue(1, EGRESS_DEPTH)
        begins, waits, goes, data_goes = Signal(), Signal(), Signal(), Signal()
        oldest, with_data = requests.output, kinds.output.p
        m.d.comb += [
            self.under_way.eq((requests.level != 0) | (beats.level != 0)),
            requests.input.valid.eq(self.come),
            requests.input.p.eq(self.item),
            kinds.input.valid.eq(self.come),
            kinds.input.p.eq(has_orig_data(self.item.cmd)),
            beats.input.valid.eq(self.come_data),
            beats.input.p.eq(self.transfer),
            begins.eq(kinds.output.valid & with_data & ~within & ~ahead),
            waits.eq(with_data & within & ~ahead),
            goes.eq(self.req.valid & self.req.ready),
            data_goes.eq(self.orig_data.valid & self.orig_data.ready),
            self.req.p.eq(oldest.p),
            self.req.valid.eq(kinds.output.valid & ~waits),
            oldest.ready.eq(self.req.ready & ~waits),
            kinds.output.ready.eq(self.req.ready & ~waits),
            self.orig_data.p.eq(beats.output.p.beat),
            self.orig_data.valid.eq(beats.output.valid & (within | begins)),
            beats.output.ready.eq(self.orig_data.ready & (within | begins)),
        ]
        m.d.sync += [
            within.eq(~(data_goes & beats.output.p.end) & (within | data_goes | (goes & with_data & ~ahead))),
            ahead.eq(~goes & (ahead | (data_goes & ~within))),
            self.room.eq(egress_room(requests.level, beats=1)),
            self.data_room.eq(egress_room(beats.level)),
        ]
        return m
