"""Egress of one port in the request plane: Requests of the ingress ports in turn, with their Originator Data."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.round_robin import RoundRobinArbiter
from ualink.lib.select import select_one
from ualink.switch.transfer import transfer_layout
from ualink.upli.channels import ORIG_DATA_LAYOUT, REQ_LAYOUT, beat_stream
from ualink.upli.commands import has_orig_data

__all__ = ["RequestEgress"]


class RequestEgress(wiring.Component):
    """Grants the Request channel for one Request, the data channel for a transfer (UALink_200 §2.7.8, §10.5).

    A data-bearing Request and its first beat are offered together, the other beats in the following accepted slots of
    the data channel; meanwhile Requests without data pass. The next data-bearing Request is offered when the beats of
    the one before it are gone. One cycle from ``queues`` to ``req``.

    Two round-robin arbiters, one among the queues whose oldest Request bears data and one among the others, take turns
    when both have something to grant: one arbiter for all could serve the same ingress port whenever the data channel
    is free and never another. An ingress port is served after at most one Request of its kind of each other ingress
    port, each with at most one of the other kind or a transfer before it.

    Parameters
    ----------
    ingresses : int, ingress ports of the switch.

    Attributes
    ----------
    queues_req, queues_orig_data : outputs of a ``RequestQueue`` of each ingress port.
    req, orig_data : what the port sends.
    """

    def __init__(self, ingresses: int):
        self.ingresses = ingresses
        super().__init__(
            {
                "queues_req": In(beat_stream("req")).array(ingresses),
                "queues_orig_data": In(stream.Signature(transfer_layout("orig_data"))).array(ingresses),
                "req": Out(beat_stream("req")),
                "orig_data": Out(beat_stream("orig_data")),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.bearing_arbiter = bearing_arbiter = RoundRobinArbiter(self.ingresses)
        m.submodules.other_arbiter = other_arbiter = RoundRobinArbiter(self.ingresses)
        valid = Cat(queue.valid for queue in self.queues_req)
        bears_data = Cat(has_orig_data(queue.p.cmd) for queue in self.queues_req)
        m.d.comb += [bearing_arbiter.requests.eq(valid & bears_data), other_arbiter.requests.eq(valid & ~bears_data)]

        within = Signal()  # a transfer has begun and not ended on the data channel
        holder = Signal(self.ingresses, reset_less=True)
        req_free = Signal()
        orig_data_free = Signal()
        bearing_was_last = Signal()
        bearing = Signal()
        other = Signal()
        chosen = Signal(self.ingresses)
        chosen_data = Signal(self.ingresses)
        transfer = Signal(transfer_layout("orig_data"))
        req = Signal(REQ_LAYOUT, reset_less=True)
        orig_data = Signal(ORIG_DATA_LAYOUT, reset_less=True)
        m.d.comb += [
            self.req.p.eq(req),
            self.orig_data.p.eq(orig_data),
            req_free.eq(~self.req.valid | self.req.ready),
            orig_data_free.eq(~self.orig_data.valid | self.orig_data.ready),
            bearing.eq(
                req_free & orig_data_free & ~within & bearing_arbiter.valid & ~(bearing_was_last & other_arbiter.valid)
            ),
            other.eq(req_free & ~bearing & other_arbiter.valid),
            bearing_arbiter.next.eq(bearing),
            other_arbiter.next.eq(other),
            chosen.eq(Mux(bearing, bearing_arbiter.grant, Mux(other, other_arbiter.grant, 0))),
            chosen_data.eq(Mux(within & orig_data_free, holder, Mux(bearing, bearing_arbiter.grant, 0))),
            transfer.eq(select_one(chosen_data, [queue.p for queue in self.queues_orig_data])),
        ]
        m.d.comb += [queue.ready.eq(chosen[n]) for n, queue in enumerate(self.queues_req)]
        m.d.comb += [queue.ready.eq(chosen_data[n]) for n, queue in enumerate(self.queues_orig_data)]
        with m.If(req_free):
            m.d.sync += [
                self.req.valid.eq(chosen.any()),
                req.eq(select_one(chosen, [queue.p for queue in self.queues_req])),
            ]
        with m.If(bearing | other):
            m.d.sync += bearing_was_last.eq(bearing)
        with m.If(orig_data_free):
            m.d.sync += [
                self.orig_data.valid.eq(chosen_data.any()),
                orig_data.eq(transfer.beat),
            ]
            with m.If(chosen_data.any()):
                m.d.sync += [within.eq(~transfer.end), holder.eq(chosen_data)]
        return m
