"""Where Requests and their data wait for their turn behind the buffers."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.lib.shift_queue import ShiftQueue
from ualink.lib.through_queue import ThroughQueue
from ualink.switch.arrival import FOUND_LAYOUT, RequestArrival
from ualink.switch.queue_depths import EGRESS_DEPTH, egress_room
from ualink.switch.transfer import transfer_layout
from ualink.upli.channels import CODED_LAYOUTS

__all__ = ["JUDGED_BEAT", "JUDGED_REQUEST", "RequestLine"]

JUDGED_REQUEST = data.StructLayout({"item": CODED_LAYOUTS["req"], "bad": 1})
"""A Request; it or its first beat was wrong, or it did not come with data as it says."""

JUDGED_BEAT = data.StructLayout({"transfer": transfer_layout("orig_data"), "found": FOUND_LAYOUT})
"""A beat of data and ``end``, and what was found of it."""


class RequestLine(wiring.Component):
    """Queues of Requests and of beats, in the order in which they come. One cycle from input to output.

    Attributes
    ----------
    arrival : ``RequestArrival``, seen from here.
    has_data, has_none : 1 bit each, from registers: the oldest Request came with a first beat, or without.
    has_beat : 1 bit, from a register: there is a beat.
    request : ``JUDGED_REQUEST``, the oldest Request.
    beat : ``JUDGED_BEAT``, the oldest beat: if ``has_data``, the first of that Request, unless beats of the one before
        it are left.
    take, take_beat : 1 bit each: the oldest Request, the oldest beat leaves, if there is one.
    stray : 1 bit, a register: a first beat came without a Request, and was dropped, here or before.
    under_way : 1 bit, from registers: something is here.
    """

    def __init__(self):
        super().__init__(
            {
                "arrival": In(RequestArrival()),
                **{name: Out(1) for name in ("has_data", "has_none", "has_beat")},
                "request": Out(JUDGED_REQUEST),
                "beat": Out(JUDGED_BEAT),
                **{name: In(1) for name in ("take", "take_beat")},
                "stray": Out(1),
                "under_way": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.requests = requests = Queue(CODED_LAYOUTS["req"], EGRESS_DEPTH)
        m.submodules.beats = beats = Queue(transfer_layout("orig_data"), EGRESS_DEPTH)
        # Whether Requests have data, apart because it is asked first.
        m.submodules.kinds = kinds = ShiftQueue(1, EGRESS_DEPTH)
        # What is known of them a cycle later, when they can be taken.
        m.submodules.bad_requests = bad_requests = ThroughQueue(1, EGRESS_DEPTH)
        m.submodules.found = found = ThroughQueue(FOUND_LAYOUT, EGRESS_DEPTH)
        arrival = self.arrival
        leads = Signal(init=1)  # the next beat that comes is the first of its transfer
        begun_with = Signal()  # the Request that comes has the first beat that comes
        # In the cycle before; whether its data came as it says.
        came, came_data, came_with, alone = (Signal(name=name) for name in ("came", "came_data", "came_with", "alone"))
        # After an upset of what reads the buffers: a first beat of which no Request comes is not stored, for it would
        # be taken for that of the next one. One that comes before the transfer before it has ended goes on with that,
        # as one that is wrong, and so do those behind it.
        stored, joins = Signal(name="stored"), Signal(name="joins")
        joining = Signal(name="joining")
        joined = Signal(name="joined")
        m.d.comb += [
            stored.eq(arrival.come_data & (arrival.come | ~leads)),
            joins.eq(~leads & (joining | (arrival.come & arrival.with_data))),
        ]
        with m.If(stored):
            m.d.sync += [leads.eq(arrival.transfer.end), joining.eq(joins & ~arrival.transfer.end)]
        m.d.sync += [
            came.eq(arrival.come),
            came_data.eq(stored),
            joined.eq(joins),
            self.stray.eq((arrival.come_data & ~stored) | arrival.stray),
            came_with.eq(begun_with),
            alone.eq(arrival.with_data ^ begun_with),
            arrival.room.eq(egress_room(requests.level, beats=1)),
            arrival.data_room.eq(egress_room(beats.level)),
        ]
        m.d.comb += [
            begun_with.eq(arrival.come_data & leads),
            requests.input.valid.eq(arrival.come),
            requests.input.p.eq(arrival.item),
            kinds.input.valid.eq(arrival.come),
            kinds.input.p.eq(begun_with),
            bad_requests.input.valid.eq(came),
            bad_requests.input.p.eq(arrival.wrong | alone | (came_with & arrival.beat_wrong)),
            beats.input.valid.eq(stored),
            beats.input.p.eq(arrival.transfer),
            found.input.valid.eq(came_data),
            found.input.p.wrong.eq(arrival.beat_wrong | joined),
            found.input.p.poison.eq(arrival.poison),
            self.has_data.eq(kinds.output.valid & kinds.output.p),
            self.has_none.eq(kinds.output.valid & ~kinds.output.p),
            self.has_beat.eq(beats.output.valid),
            self.request.item.eq(requests.output.p),
            self.request.bad.eq(bad_requests.output.p),
            self.beat.transfer.eq(beats.output.p),
            self.beat.found.eq(found.output.p),
            *(queue.output.ready.eq(self.take) for queue in (requests, kinds, bad_requests)),
            *(queue.output.ready.eq(self.take_beat) for queue in (beats, found)),
            self.under_way.eq((requests.level != 0) | (beats.level != 0)),
        ]
        return m
