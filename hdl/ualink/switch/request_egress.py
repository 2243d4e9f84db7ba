"""Egress of one port in the request plane: what was read for it waits here to be sent."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.arrival import RequestArrival
from ualink.switch.mend import UPSET_LAYOUT, Successor, mended
from ualink.switch.request_line import RequestLine
from ualink.upli.channels import beat_stream

__all__ = ["RequestEgress"]


class RequestEgress(wiring.Component):
    """Sends Requests in the order in which they come, each with its first beat of data (UALink_200 §2.7.8).

    A data-bearing Request and its first beat come in the same cycle, the other beats in the next ones, and so they are
    offered: together, the other beats in the following accepted slots of the data channel. Either may be taken first,
    the Request or beats. Meanwhile Requests without data that come behind it pass; the next data-bearing Request is
    offered when the beats of the one before it are gone, and what comes behind that one waits, too. One cycle from
    input to output.

    Here the code of the core ends: what was found wrong of a beat comes with it, and what is offered has a code that
    becomes its parity. A Request is dropped with all its beats if it or the first of them was wrong, or if it did not
    come with data as it says: each in a cycle in which it would be taken, or in the second one in which it is the next.
    A later beat that was wrong goes as a poisoned one, for its transfer has begun; so does any whose data were
    (UALink_200 §3.1.2, §3.1.4).

    Attributes
    ----------
    arrival : ``RequestArrival``, seen from here.
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
        m.submodules.line = line = RequestLine()
        # Beats are to come of a transfer whose Request or first beat has gone; the first beat of the oldest has.
        within = Signal()
        ahead = Signal()
        begins, waits, goes, data_goes = Signal(), Signal(), Signal(), Signal()
        # The beats that go, or are to come, are dropped: these; those after them.
        drops = Signal()
        dropping = Signal()
        fill = Signal()
        spoilt = Signal()
        data_spoilt = Signal()
        with_data, bad = line.has_data, line.request.bad
        beat, found = line.beat.transfer, line.beat.found
        wiring.connect(m, wiring.flipped(self.arrival), line.arrival)
        m.d.comb += [
            self.under_way.eq(line.under_way),
            begins.eq(with_data & ~within & ~ahead),
            waits.eq(with_data & within & ~ahead),
            drops.eq(Mux(begins, bad, dropping)),
            self.req.p.eq(line.request.item),
            self.req.valid.eq((with_data | line.has_none) & ~waits & ~bad),
            self.orig_data.valid.eq(line.has_beat & (within | begins) & ~drops),
            # What is found wrong is known late: it goes as if it were sent, or in the next cycle.
            line.take.eq((self.req.ready & ~waits) | spoilt),
            line.take_beat.eq((self.orig_data.ready & (within | begins)) | data_spoilt),
            goes.eq(line.take & (with_data | line.has_none)),
            data_goes.eq(line.take_beat & line.has_beat),
        ]
        kept = Signal(data.StructLayout({"offset": 2, "vc": 2}), reset_less=True)
        m.d.comb += fill.eq(within & found.wrong)
        sent = mended(m, "orig_data", beat.beat, found.poison, Successor(fill, kept, beat.end))
        m.d.comb += Value.cast(self.orig_data.p).eq(sent)
        with m.If(data_goes):
            m.d.sync += kept.offset.eq(self.orig_data.p.offset)
            with m.If(~within):
                m.d.sync += kept.vc.eq(self.orig_data.p.vc)
        m.d.sync += [
            within.eq(~(data_goes & beat.end) & (within | data_goes | (goes & with_data & ~ahead))),
            ahead.eq(~goes & (ahead | (data_goes & ~within))),
            dropping.eq(drops),
            spoilt.eq((begins | ahead | line.has_none) & bad & ~line.take),
            data_spoilt.eq(line.has_beat & (within | begins) & drops & ~line.take_beat),
            self.upset.control.eq((goes & bad) | (data_goes & fill & ~drops) | line.stray),
            self.upset.data.eq(data_goes & found.poison & ~drops),
        ]
        return m
