"""Egress of one port in the request plane: what was read for it waits here to be sent."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.lib.shift_queue import ShiftQueue
from ualink.lib.through_queue import ThroughQueue
from ualink.switch.arrival import RequestArrival
from ualink.switch.mend import UPSET_LAYOUT, Successor, mended
from ualink.switch.queue_depths import EGRESS_DEPTH, egress_room
from ualink.switch.transfer import transfer_layout
from ualink.upli.channels import CODED_LAYOUTS, beat_stream

__all__ = ["RequestEgress"]

_FOUND = data.StructLayout({"wrong": 1, "poison": 1})


class RequestEgress(wiring.Component):
    """Sends Requests in the order in which they come, each with its first beat of data (UALink_200 §2.7.8).

    A data-bearing Request and its first beat come in the same cycle, the other beats in the next ones, and so they are
    offered: together, the other beats in the following accepted slots of the data channel. Either may be taken first,
    the Request or beats. Meanwhile Requests without data that come behind it pass; the next data-bearing Request is
    offered when the beats of the one before it are gone, and what comes behind that one waits, too. One cycle from
    input to output.

    Here the code of the core ends: what was found wrong of a beat comes with it, and what is offered has a code that
    becomes its parity. A Request is dropped with all its beats if it or the first of them was wrong. A later beat that
    was wrong goes as a poisoned one, for its transfer has begun; so does any whose data were (UALink_200 §3.1.2,
    §3.1.4).

    Attributes
    ----------
    arrival : ``RequestArrival``, seen from here. A Request that says it has data is dropped if no first beat came with
        it, and one that says it has none if one did.
    under_way : 1 bit, from registers: something is here.
    req, orig_data : what the port sends, coded; ``valid`` is a few gates behind registers.
    upset : ``UPSET_LAYOUT``, registers.
    """

    def __init__(self):
        super().__init__(
            {
                "arrival": In(RequestArrival()),
                "under_way": Out(1),
                "req": Out(beat_stream("req", coded=True)),
                "orig_data": Out(beat_stream("orig_data", coded=True)),
                "upset": Out(UPSET_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.requests = requests = Queue(CODED_LAYOUTS["req"], EGRESS_DEPTH)
        m.submodules.beats = beats = Queue(transfer_layout("orig_data"), EGRESS_DEPTH)
        # What is known of them a cycle later, when they can be offered.
        m.submodules.bad_requests = bad_requests = ThroughQueue(1, EGRESS_DEPTH)
        m.submodules.found = found = ThroughQueue(_FOUND, EGRESS_DEPTH)
        # Beats are to come of a transfer whose Request or first beat has gone; the first beat of the oldest has.
        within, ahead = Signal(), Signal()
        # Whether Requests have data, apart because it is asked first.
        m.submodules.kinds = kinds = ShiftQueue(1, EGRESS_DEPTH)
        # The next beat that comes is the first of its transfer.
        leads = Signal(init=1)
        begins, waits, goes, data_goes = Signal(), Signal(), Signal(), Signal()
        drops, dropping, data_drops, fill = Signal(), Signal(), Signal(), Signal()
        oldest, beat, arrival = requests.output, beats.output.p, self.arrival
        with_data, bad = kinds.output.p, bad_requests.output.p
        # In the cycle before; whether its data came as it says.
        came, came_data, came_with, alone = Signal(), Signal(), Signal(), Signal()
        with m.If(arrival.come_data):
            m.d.sync += leads.eq(arrival.transfer.end)
        begun_with = Signal()  # the Request that comes has the first beat that comes
        m.d.comb += [
            self.under_way.eq((requests.level != 0) | (beats.level != 0)),
            begun_with.eq(arrival.come_data & leads),
            requests.input.valid.eq(arrival.come),
            requests.input.p.eq(arrival.item),
            kinds.input.valid.eq(arrival.come),
            kinds.input.p.eq(begun_with),
            bad_requests.input.valid.eq(came),
            bad_requests.input.p.eq(arrival.wrong | alone | (came_with & arrival.beat_wrong)),
            beats.input.valid.eq(arrival.come_data),
            beats.input.p.eq(arrival.transfer),
            found.input.valid.eq(came_data),
            found.input.p.wrong.eq(arrival.beat_wrong),
            found.input.p.poison.eq(arrival.poison),
            begins.eq(kinds.output.valid & with_data & ~within & ~ahead & ~dropping),
            waits.eq(with_data & ((within & ~ahead) | dropping)),
            drops.eq(kinds.output.valid & bad & Mux(with_data, begins, 1)),
            data_drops.eq(dropping | (begins & bad)),
            goes.eq(self.req.valid & self.req.ready),
            data_goes.eq(self.orig_data.valid & self.orig_data.ready),
            self.req.p.eq(oldest.p),
            self.req.valid.eq(kinds.output.valid & ~waits & ~bad),
            oldest.ready.eq((self.req.ready & ~waits & ~bad) | drops),
            kinds.output.ready.eq(oldest.ready),
            bad_requests.output.ready.eq(oldest.ready),
            self.orig_data.valid.eq(beats.output.valid & (within | (begins & ~bad))),
            beats.output.ready.eq((self.orig_data.ready & (within | (begins & ~bad))) | data_drops),
            found.output.ready.eq(beats.output.ready),
        ]
        m.d.sync += [came.eq(arrival.come), came_data.eq(arrival.come_data), came_with.eq(begun_with)]
        m.d.sync += alone.eq(arrival.with_data ^ begun_with)
        kept = Signal(data.StructLayout({"offset": 2, "vc": 2}), reset_less=True)
        m.d.comb += fill.eq(within & found.output.p.wrong)
        successor = Successor(fill, kept, beat.end)
        sent = mended(m, "orig_data", beat.beat, found.output.p.poison, successor)
        m.d.comb += Value.cast(self.orig_data.p).eq(sent)
        with m.If(data_goes):
            m.d.sync += kept.offset.eq(self.orig_data.p.offset)
            with m.If(~within):
                m.d.sync += kept.vc.eq(self.orig_data.p.vc)
        m.d.sync += [
            within.eq(~(data_goes & beat.end) & (within | data_goes | (goes & with_data & ~ahead))),
            ahead.eq(~goes & (ahead | (data_goes & ~within))),
            dropping.eq(data_drops & ~(beats.output.valid & beat.end)),
            arrival.room.eq(egress_room(requests.level, beats=1)),
            arrival.data_room.eq(egress_room(beats.level)),
            self.upset.control.eq(drops | (data_goes & fill)),
            self.upset.data.eq(data_goes & found.output.p.poison),
        ]
        return m
