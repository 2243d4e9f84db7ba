"""A place in the way of Requests and their data where one more can be put in."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.closing import QUIET
from ualink.upli.channels import CODED_LAYOUTS, beat_stream
from ualink.upli.commands import has_orig_data

__all__ = ["RequestInsertion"]


class RequestInsertion(wiring.Component):
    """Lets Requests and their OrigData beats pass, and puts a Request in, with a beat of its own if it bears data.
    Latency 0; while nothing is inserted it is a wire.

    The k-th data-bearing Request owns the k-th transfer of the data channel. So, before one goes in, those that come
    wait, until the beats of all that went before are gone. A Request on offer stays on offer; a beat that is offered
    ahead of its Request may be taken back, which who takes Requests does not look at.

    An upset Request may seem to bear other data than it does, and may be dropped behind this stage with its own. So
    what is owed is forgotten after ``QUIET`` cycles in which nothing is offered: it will not come.

    Members
    -------
    req_in, req_out, orig_data_in, orig_data_out : streams of coded beats.
    insert : 1 bit, put ``request`` in; stays up until ``inserted``, or falls and nothing more begins.
    request, beat : ``num_beats`` is 0 if the Request bears data, which are ``beat``.
    inserted : 1 bit, the last of the two is taken in this cycle.
    idle : 1 bit, reset value 1: the stage is a wire.
    """

    def __init__(self):
        super().__init__(
            {
                "req_in": In(beat_stream("req", coded=True)),
                "req_out": Out(beat_stream("req", coded=True)),
                "orig_data_in": In(beat_stream("orig_data", coded=True)),
                "orig_data_out": Out(beat_stream("orig_data", coded=True)),
                "insert": In(1),
                "request": In(CODED_LAYOUTS["req"]),
                "beat": In(CODED_LAYOUTS["orig_data"]),
                "inserted": Out(1),
                "idle": Out(1, init=1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        req, data = self.req_in, self.orig_data_in
        req_out, data_out = self.req_out, self.orig_data_out
        holding = Signal()  # Requests wait for data of others
        inserting = Signal()  # and for the one that is put in
        req_gone = Signal()
        data_gone = Signal()
        data_open = Signal()
        # Beats that Requests own which have passed, and that have not passed themselves: two transfers at most. A first
        # beat may be taken one cycle before its Request, which is on offer then.
        owed = Signal(5)
        owed_after = Signal(5)
        req_is_gone, data_is_gone = Signal(), Signal()
        m.d.comb += [
            self.idle.eq(~holding & ~inserting),
            data_open.eq(self.idle | (holding & (owed != 0))),
            req_out.valid.eq(Mux(inserting, ~req_gone, req.valid & self.idle)),
            req_out.p.eq(Mux(inserting, self.request, req.p)),
            req.ready.eq(req_out.ready & self.idle),
            data_out.valid.eq(Mux(inserting, ~data_gone, data.valid & data_open)),
            data_out.p.eq(Mux(inserting, self.beat, data.p)),
            data.ready.eq(data_out.ready & data_open),
            req_is_gone.eq(req_gone | req_out.ready),
            data_is_gone.eq(data_gone | data_out.ready),
            self.inserted.eq(inserting & req_is_gone & data_is_gone),
            owed_after.eq(
                owed
                + Mux(req.valid & req.ready & has_orig_data(req.p.cmd), req.p.num_beats + 1, 0)
                - (data.valid & data.ready)
            ),
        ]
        quiet = Signal(range(QUIET))
        with m.If(req.valid | data.valid):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != QUIET - 1):
            m.d.sync += quiet.eq(quiet + 1)
        m.d.sync += owed.eq(owed_after)
        with m.If((quiet == QUIET - 1) & ~req.valid & ~data.valid):
            m.d.sync += owed.eq(0)
        with m.If(inserting):
            m.d.sync += [
                inserting.eq(~self.inserted),
                req_gone.eq(req_is_gone),
                data_gone.eq(data_is_gone),
            ]
        with m.Elif(holding):
            m.d.sync += [
                holding.eq(self.insert & (owed_after != 0)),
                inserting.eq(self.insert & (owed_after == 0)),
                req_gone.eq(0),
                data_gone.eq(~has_orig_data(self.request.cmd)),
            ]
        with m.Elif(self.insert & ~(req_out.valid & ~req_out.ready)):
            m.d.sync += holding.eq(1)
        return m
