"""Egress of one port in a response plane: whole transfers of the ingress ports in turn."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.round_robin import RoundRobinArbiter
from ualink.lib.select import select_one
from ualink.switch.transfer import transfer_layout
from ualink.upli.channels import CHANNEL_LAYOUTS, beat_stream

__all__ = ["ResponseEgress"]


class ResponseEgress(wiring.Component):
    """Grants the egress port to one ingress port for a transfer at a time, round robin (UALink_200 §10.5).

    The beats of a transfer follow each other on the output in successive accepted slots. Every ingress port is served
    after at most one transfer of each other one. One cycle from ``queues`` to ``rsp``.

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.
    ingresses : int, ingress ports of the switch.

    Attributes
    ----------
    queues : from the queue of each ingress port: a valid beat is the first of a transfer that is there whole.
    rsp : what the port sends.
    leads : 1 bit, the beat on offer is the first of its transfer.
    """

    def __init__(self, channel: str, ingresses: int):
        self.channel = channel
        self.ingresses = ingresses
        super().__init__(
            {
                "queues": In(stream.Signature(transfer_layout(channel))).array(ingresses),
                "rsp": Out(beat_stream(channel)),
                "leads": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobinArbiter(self.ingresses)
        within = Signal()  # a transfer has begun and not ended
        holder = Signal(self.ingresses, reset_less=True)
        chosen = Signal(self.ingresses)
        transfer = Signal(transfer_layout(self.channel))
        beat = Signal(CHANNEL_LAYOUTS[self.channel], reset_less=True)
        free, leads = Signal(), Signal(reset_less=True)
        m.d.comb += [
            self.rsp.p.eq(beat),
            self.leads.eq(leads),
            free.eq(~self.rsp.valid | self.rsp.ready),
            arbiter.requests.eq(Cat(queue.valid for queue in self.queues)),
            arbiter.next.eq(free & ~within),
            chosen.eq(Mux(within, holder, arbiter.grant)),
            transfer.eq(select_one(chosen, [queue.p for queue in self.queues])),
        ]
        m.d.comb += [queue.ready.eq(free & chosen[n]) for n, queue in enumerate(self.queues)]
        with m.If(free):
            m.d.sync += [self.rsp.valid.eq(chosen.any()), beat.eq(transfer.beat), leads.eq(~within)]
            with m.If(chosen.any()):
                m.d.sync += [within.eq(~transfer.end), holder.eq(chosen)]
        return m
