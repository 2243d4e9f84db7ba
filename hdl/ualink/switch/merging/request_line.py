"""Where Requests and data of one row of tiles wait for their egress port."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.lib.shift_queue import ShiftQueue
from ualink.lib.through_queue import ThroughQueue
from ualink.switch.arrival import RequestArrival
from ualink.switch.queue_depths import EGRESS_DEPTH, egress_room
from ualink.switch.transfer import transfer_layout
from ualink.upli.channels import CODED_LAYOUTS

__all__ = ["BEAT_LAYOUT", "TOLD_LAYOUT", "RequestLine"]

TOLD_LAYOUT = data.StructLayout({"item": CODED_LAYOUTS["req"], "with_data": 1, "wrong": 1})
"""A Request, and what came with it and was found of it, as of ``RequestArrival``."""

_FOUND = data.StructLayout({"wrong": 1, "poison": 1})

BEAT_LAYOUT = data.StructLayout({"transfer": transfer_layout("orig_data"), "found": _FOUND})
"""The same of a beat of data."""

_REQUEST = data.StructLayout({"item": CODED_LAYOUTS["req"], "with_data": 1})


class RequestLine(wiring.Component):
    """Queues of Requests and of beats, in the order in which they come. One cycle from input to output.

    Attributes
    ----------
    arrival : ``RequestArrival``, seen from here.
    has_data, has_none : 1 bit each, from registers: the oldest Request came with data or without.
    request : ``TOLD_LAYOUT``, the oldest Request.
    beat : ``BEAT_LAYOUT``, the oldest beat: if ``has_data``, the first of that Request, unless beats of the one before
        it are left.
    take, take_beat : 1 bit each: the oldest Request, the oldest beat leaves.
    under_way : 1 bit, from registers: something is here.
    """

    def __init__(self):
        super().__init__(
            {
                "arrival": In(RequestArrival()),
                "has_data": Out(1),
                "has_none": Out(1),
                "request": Out(TOLD_LAYOUT),
                "beat": Out(BEAT_LAYOUT),
                "take": In(1),
                "take_beat": In(1),
                "under_way": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.requests = requests = Queue(_REQUEST, EGRESS_DEPTH)
        m.submodules.beats = beats = Queue(transfer_layout("orig_data"), EGRESS_DEPTH)
        # Whether Requests have data, apart because it is asked first.
        m.submodules.kinds = kinds = ShiftQueue(1, EGRESS_DEPTH)
        # What is known of them a cycle later, when they can be taken.
        m.submodules.bad_requests = bad_requests = ThroughQueue(1, EGRESS_DEPTH)
        m.submodules.found = found = ThroughQueue(_FOUND, EGRESS_DEPTH)
        arrival = self.arrival
        leads = Signal(init=1)  # the next beat that comes is the first of its transfer
        came, came_data = Signal(), Signal()
        with m.If(arrival.come_data):
            m.d.sync += leads.eq(arrival.transfer.end)
        m.d.sync += [
            came.eq(arrival.come),
            came_data.eq(arrival.come_data),
            arrival.room.eq(egress_room(requests.level, beats=1)),
            arrival.data_room.eq(egress_room(beats.level)),
        ]
        m.d.comb += [
            requests.input.valid.eq(arrival.come),
            requests.input.p.item.eq(arrival.item),
            requests.input.p.with_data.eq(arrival.with_data),
            kinds.input.valid.eq(arrival.come),
            kinds.input.p.eq(arrival.come_data & leads),
            bad_requests.input.valid.eq(came),
            bad_requests.input.p.eq(arrival.wrong),
            beats.input.valid.eq(arrival.come_data),
            beats.input.p.eq(arrival.transfer),
            found.input.valid.eq(came_data),
            found.input.p.wrong.eq(arrival.beat_wrong),
            found.input.p.poison.eq(arrival.poison),
            self.has_data.eq(kinds.output.valid & kinds.output.p),
            self.has_none.eq(kinds.output.valid & ~kinds.output.p),
            self.request.item.eq(requests.output.p.item),
            self.request.with_data.eq(requests.output.p.with_data),
            self.request.wrong.eq(bad_requests.output.p),
            self.beat.transfer.eq(beats.output.p),
            self.beat.found.eq(found.output.p),
            *(queue.output.ready.eq(self.take) for queue in (requests, kinds, bad_requests)),
            *(queue.output.ready.eq(self.take_beat) for queue in (beats, found)),
            self.under_way.eq((requests.level != 0) | (beats.level != 0)),
        ]
        return m
