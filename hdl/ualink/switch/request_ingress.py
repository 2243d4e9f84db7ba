"""Ingress of one port in the request plane: route, deny and steer Requests with their Originator Data."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.parity import protects_data
from ualink.lib.presence import Presence
from ualink.lib.select import only_if
from ualink.switch.closing import Closing
from ualink.switch.deny_log import DenialSignature
from ualink.switch.route_table import LookupSignature
from ualink.switch.steer import Steer, leads_to
from ualink.switch.transfer import DATA_LAYOUT, REQUEST_LAYOUT, SteeredSignature
from ualink.upli.channels import CODED_LAYOUTS, beat_stream
from ualink.upli.code import control_wrong
from ualink.upli.commands import has_orig_data

__all__ = ["RequestIngress"]


class RequestIngress(wiring.Component):
    """Routes each Request on its own and sends its OrigData beats after it (UALink_200 §10.1, §10.7).

    A Request is looked up while it is accepted and goes to its queue two cycles later or after; so may its first beat.
    The k-th data-bearing Request owns the next ReqNumBeats + 1 beats of ``orig_data``; these keep the route of their
    Request. A denied Request is dropped with its beats (ruling C-02). Only a data-bearing Request waits until all beats
    of the one before it have gone to their queue; other Requests go on.

    A Request whose code is wrong says neither where it goes nor which beats are its own: it is dropped, and with it all
    that comes after it, as of ``Closing``. So is one whose entry of the route table is wrong: nobody knows which egress
    it was for. Nor does anything come after beats that did not go where their Request went, or where a Request may have
    come or gone by an upset: others would be taken for its beats. Those of a Request that went before still follow it.

    Parameters
    ----------
    egresses : int, egress ports of the switch.

    Attributes
    ----------
    req, orig_data : what the port received, coded.
    lookup : the route table of the station.
    steered_req, steered_orig_data : to the queue of the egress port, ``REQUEST_LAYOUT`` and ``DATA_LAYOUT``; beats are
        offered no earlier than their Request leaves.
    denied : a Request is dropped in this cycle.
    under_way : ``egresses`` bit, one-hot or not, from registers and the table: where something goes that is in here.
    dropping, upset : as of ``Closing``.
    """

    def __init__(self, egresses: int):
        self.egresses = egresses
        super().__init__(
            {
                "req": In(beat_stream("req", coded=True)),
                "orig_data": In(beat_stream("orig_data", coded=True)),
                "lookup": Out(LookupSignature(egresses)),
                "steered_req": Out(SteeredSignature(REQUEST_LAYOUT, egresses)),
                "steered_orig_data": Out(SteeredSignature(DATA_LAYOUT, egresses)),
                "denied": Out(DenialSignature()),
                "under_way": Out(egresses),
                "dropping": In(1),
                "upset": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.closing = closing = Closing()
        request = Signal(CODED_LAYOUTS["req"], reset_less=True)
        held, leaving = Presence(m, "holding"), Signal()
        holding = held.here
        data_busy = Signal()  # beats of a Request that has left are still to come
        may_leave = Signal()
        steer = Steer(m, REQUEST_LAYOUT, self.lookup, self.steered_req, may_leave)
        # Of what is steered: its code was wrong; it has beats, and so a Request that waits for others' beats has.
        wrong = Signal(name="wrong", reset_less=True)
        with_data = Signal(name="with_data", reset_less=True)
        waits = Signal(name="waits", reset_less=True)
        closes = Signal(name="closes")
        strays = Signal(name="strays")  # beats went to another queue than their Request in the cycle before
        left_last, kind = steer.payload.item, steer.payload.kind
        m.d.comb += [
            self.req.ready.eq(~holding | leaving | closing.closed),
            self.lookup.look.eq(self.req.valid & self.req.ready & ~closing.closed),
            self.lookup.dst_phys_acc_id.eq(self.req.p.dst_phys_acc_id),
            may_leave.eq(~(waits & data_busy)),
            leaving.eq(holding & steer.free),
            closes.eq((steer.drops & wrong) | steer.torn | held.torn),
            self.denied.valid.eq(steer.drops & ~wrong),
            self.denied.src_phys_acc_id.eq(left_last.src_phys_acc_id),
            self.denied.dst_phys_acc_id.eq(left_last.dst_phys_acc_id),
            closing.close.eq(closes | strays),
            closing.dropping.eq(self.dropping),
            closing.waits.eq(self.req.valid | self.orig_data.valid | holding | steer.holding),
            self.upset.eq(closing.upset),
        ]
        steered = Signal(REQUEST_LAYOUT)
        m.d.comb += [
            steered.item.eq(request),
            steered.kind.with_data.eq(has_orig_data(request.cmd)),
            steered.kind.beats.eq(request.num_beats),
        ]
        found_wrong = Signal(name="found_wrong")
        m.d.comb += found_wrong.eq(control_wrong("req", request, request.code) | self.lookup.wrong)
        steer.take(m, leaving & ~closes & ~closing.closed, steered, drop=found_wrong)
        with m.If(steer.free):
            m.d.sync += [
                wrong.eq(found_wrong),
                with_data.eq(steered.kind.with_data & ~found_wrong),
                waits.eq(steered.kind.with_data | found_wrong),
            ]
        with m.If(self.req.ready):
            held.becomes(m, self.req.valid & ~closes & ~closing.closed)
            m.d.sync += request.eq(self.req.p)

        steered_data = self.steered_orig_data
        kept_where = Signal.like(steer.where, reset_less=True)
        kept_meant = Signal.like(steer.meant, reset_less=True)
        kept_denied = Signal(reset_less=True)
        kept_left = Signal.like(kind.beats, reset_less=True)
        where, meant = Signal.like(kept_where), Signal.like(kept_meant)
        denied = Signal()
        left = Signal.like(kept_left)  # beats to come after this one
        active = Signal()
        moved = Signal()
        leaves_now = Signal.like(kept_where)  # where the Request goes whose first beat this may be
        # Beats of the Request that went before can be taken; so can the first one of that which leaves now.
        kept_room, room = Signal(name="kept_room"), Signal(name="room")
        # A beat that is the last of its transfer, of the Request that went before; of that which leaves now.
        ends_kept, ends_now = Signal(name="ends_kept"), Signal(name="ends_now")
        apart = Signal(name="apart")
        m.d.comb += [
            apart.eq(kept_where != kept_meant),
            active.eq(data_busy | (steer.leaves & with_data)),
            where.eq(Mux(data_busy, kept_where, steer.where)),
            meant.eq(Mux(data_busy, kept_meant, steer.meant)),
            denied.eq(Mux(data_busy, kept_denied, steer.denied)),
            left.eq(Mux(data_busy, kept_left, kind.beats)),
            steered_data.payload.transfer.beat.eq(self.orig_data.p),
            steered_data.payload.transfer.end.eq(left == 0),
            steered_data.payload.joins.eq(~data_busy),
            steered_data.meant.eq(meant),
            steered_data.toward.eq(where & self.orig_data.valid.replicate(len(where))),
            leaves_now.eq(self.steered_req.ready & only_if(steer.holding & with_data, steer.where)),
            steered_data.valid.eq(Mux(data_busy, kept_where, leaves_now) & self.orig_data.valid.replicate(len(where))),
            kept_room.eq(kept_denied | (steered_data.ready & kept_where).any()),
            room.eq(steer.denied | (steered_data.ready & steer.where).any()),
            self.orig_data.ready.eq(
                (closing.closed & (~active | (data_busy & apart))) | Mux(data_busy, kept_room, active & room)
            ),
            moved.eq(self.orig_data.valid & self.orig_data.ready),
        ]
        if protects_data():
            m.d.sync += strays.eq(data_busy & apart & ~closing.closed)
        comes_in = leads_to(self.lookup) & (holding & ~self.lookup.denied).replicate(self.egresses)
        m.d.comb += self.under_way.eq(comes_in | steer.where)
        m.d.comb += [
            ends_kept.eq(self.orig_data.valid & data_busy & (kept_left == 0)),
            ends_now.eq(self.orig_data.valid & ~data_busy & with_data & (kind.beats == 0)),
            steered_data.soon.eq(only_if(ends_kept, kept_where) | only_if(ends_now, steer.where)),
            self.steered_req.soon.eq(only_if(~kind.with_data, steer.where)),
        ]
        m.d.sync += data_busy.eq(active & ~(moved & (left == 0)))
        # They count from when it leaves on. Whether it does is known later.
        with m.If(data_busy | (steer.holding & with_data)):
            m.d.sync += [
                kept_where.eq(where),
                kept_meant.eq(meant),
                kept_denied.eq(denied),
                kept_left.eq(left - moved),
            ]
        return m
