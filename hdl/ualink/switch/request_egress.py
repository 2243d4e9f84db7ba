"""Egress of one port in the request plane: what was read for it waits here to be sent."""

from amaranth.hdl import Module, Signal, Value
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
    come with data as it says. A later beat that was wrong goes as a poisoned one, for its transfer has begun; so does
    any whose data were (UALink_200 §3.1.2, §3.1.4).

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
        dropping = Signal()
        drops, data_drops, fill = Signal(), Signal(), Signal()
        with_data, bad = line.has_data, line.request.bad
        beat, found = line.beat.transfer, line.beat.found
        wiring.connect(m, wiring.flipped(self.arrival), line.arrival)
        m.d.comb += [
            self.under_way.eq(line.under_way),
            begins.eq(with_data & ~within & ~ahead & ~dropping),
            waits.eq(with_data & ((within & ~ahead) | dropping)),
            drops.eq(bad & (begins | line.has_none)),
            data_drops.eq(dropping | (begins & bad)),
            goes.eq(self.req.valid & self.req.ready),
            data_goes.eq(self.orig_data.valid & self.orig_data.ready),
            self.req.p.eq(line.request.item),
            self.req.valid.eq((with_data | line.has_none) & ~waits & ~bad),
            line.take.eq((self.req.ready & ~waits & ~bad) | drops),
            self.orig_data.valid.eq(line.has_beat & (within | (begins & ~bad))),
            line.take_beat.eq((self.orig_data.ready & (within | (begins & ~bad))) | data_drops),
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
            dropping.eq(data_drops & ~(line.has_beat & beat.end)),
            self.upset.control.eq(drops | (data_goes & fill)),
            self.upset.data.eq(data_goes & found.poison),
        ]
        return m
