"""Ingress of one port in the request plane: route, deny and steer Requests with their Originator Data."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.deny_log import DenialSignature
from ualink.switch.route_table import LookupSignature
from ualink.switch.steer import Steer, leads_to
from ualink.switch.transfer import SteeredSignature, transfer_layout
from ualink.upli.channels import REQ_LAYOUT, beat_stream
from ualink.upli.commands import has_orig_data

__all__ = ["RequestIngress"]


class RequestIngress(wiring.Component):
    """Routes each Request on its own and sends its OrigData beats after it (UALink_200 §10.1, §10.7).

    A Request is looked up while it is accepted and goes to its queue two cycles later or after; so may its first beat.
    The k-th data-bearing Request owns the next ReqNumBeats + 1 beats of ``orig_data``; these keep the route of their
    Request. A denied Request is dropped with its beats (ruling C-02). Only a data-bearing Request waits until all beats
    of the one before it have gone to their queue; other Requests go on.

    Parameters
    ----------
    egresses : int, egress ports of the switch.

    Attributes
    ----------
    req, orig_data : what the port received.
    lookup : the route table of the station.
    steered_req, steered_orig_data : to the queue of the egress port;
        beats are offered no earlier than their Request leaves.
    denied : a Request is dropped in this cycle.
    under_way : ``egresses`` bit, one-hot or not, from registers and the table: where something goes that is in here.
    """

    def __init__(self, egresses: int):
        self.egresses = egresses
        super().__init__(
            {
                "req": In(beat_stream("req")),
                "orig_data": In(beat_stream("orig_data")),
                "lookup": Out(LookupSignature(egresses)),
                "steered_req": Out(SteeredSignature(REQ_LAYOUT, egresses)),
                "steered_orig_data": Out(SteeredSignature(transfer_layout("orig_data"), egresses)),
                "denied": Out(DenialSignature()),
                "under_way": Out(egresses),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request = Signal(REQ_LAYOUT, reset_less=True)
        holding, leaving = Signal(), Signal()
        data_busy = Signal()  # beats of a Request that has left are still to come
        may_leave = Signal()
        steer = Steer(m, REQ_LAYOUT, self.lookup, self.steered_req, may_leave)
        left_last = steer.payload
        with_data = has_orig_data(left_last.cmd)
        m.d.comb += [
            self.req.ready.eq(~holding | leaving),
            self.lookup.look.eq(self.req.valid & self.req.ready),
            self.lookup.dst_phys_acc_id.eq(self.req.p.dst_phys_acc_id),
            may_leave.eq(~(with_data & data_busy)),
            leaving.eq(holding & steer.free),
            self.denied.valid.eq(steer.drops),
            self.denied.src_phys_acc_id.eq(left_last.src_phys_acc_id),
            self.denied.dst_phys_acc_id.eq(left_last.dst_phys_acc_id),
        ]
        steer.take(m, leaving, request)
        with m.If(self.req.ready):
            m.d.sync += [holding.eq(self.req.valid), request.eq(self.req.p)]

        steered = self.steered_orig_data
        kept_where = Signal.like(steer.where, reset_less=True)
        kept_denied = Signal(reset_less=True)
        kept_left = Signal.like(request.num_beats, reset_less=True)
        where = Signal.like(kept_where)
        denied = Signal()
        left = Signal.like(kept_left)  # beats to come after this one
        active = Signal()
        moved = Signal()
        m.d.comb += [
            active.eq(data_busy | (steer.leaves & with_data)),
            where.eq(Mux(data_busy, kept_where, steer.where)),
            denied.eq(Mux(data_busy, kept_denied, steer.denied)),
            left.eq(Mux(data_busy, kept_left, left_last.num_beats)),
            steered.payload.beat.eq(self.orig_data.p),
            steered.payload.end.eq(left == 0),
            steered.valid.eq(where & (self.orig_data.valid & active & ~denied).replicate(len(where))),
            self.orig_data.ready.eq(active & (denied | (steered.ready & where).any())),
            moved.eq(self.orig_data.valid & self.orig_data.ready),
        ]
        comes_in = leads_to(self.lookup) & (holding & ~self.lookup.denied).replicate(self.egresses)
        m.d.comb += self.under_way.eq(comes_in | steer.under_way)
        with m.If(active):
            m.d.sync += [
                data_busy.eq(~(moved & (left == 0))),
                kept_where.eq(where),
                kept_denied.eq(denied),
                kept_left.eq(left - moved),
            ]
        return m
