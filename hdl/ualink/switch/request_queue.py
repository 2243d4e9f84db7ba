"""Queue between one ingress and one egress port in the request plane."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.switch.transfer import transfer_layout
from ualink.switch.transfer_queue import TransferQueue
from ualink.upli.channels import REQ_LAYOUT, beat_stream
from ualink.upli.commands import has_orig_data

__all__ = ["RequestQueue"]


class RequestQueue(wiring.Component):
    """Requests of one ingress port for one egress port, in order, with their OrigData beats (UALink_200 §10.6, Strict).

    A data-bearing Request is offered once all its beats are inside, so that they can follow it without a gap.

    Parameters
    ----------
    req_depth : int, Requests that fit.
    orig_data_depth : int, beats that fit, 4 or more.

    Attributes
    ----------
    input_req, output_req : streams of Requests; one cycle from input to output.
    input_orig_data, output_orig_data : streams of ``transfer_layout("orig_data")``. The reader takes the first beat
        with the Request; until it has taken the last it takes no other data-bearing Request.
    req_level, orig_data_level : Requests and beats inside; 0 after reset.
    """

    def __init__(self, req_depth: int, orig_data_depth: int):
        self.req_depth = req_depth
        self.orig_data_depth = orig_data_depth
        orig_data = stream.Signature(transfer_layout("orig_data"))
        super().__init__(
            {
                "input_req": In(beat_stream("req")),
                "input_orig_data": In(orig_data),
                "output_req": Out(beat_stream("req")),
                "output_orig_data": Out(orig_data),
                "req_level": Out(range(req_depth + 1)),
                "orig_data_level": Out(range(orig_data_depth + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.requests = requests = Queue(REQ_LAYOUT, self.req_depth)
        m.submodules.orig_data = orig_data = TransferQueue(transfer_layout("orig_data"), self.orig_data_depth)
        wiring.connect(m, wiring.flipped(self.input_req), requests.input)
        wiring.connect(m, wiring.flipped(self.input_orig_data), orig_data.input)
        wiring.connect(m, orig_data.output, wiring.flipped(self.output_orig_data))
        m.d.comb += [
            self.output_req.p.eq(requests.output.p),
            self.output_req.valid.eq(
                requests.output.valid & (~has_orig_data(requests.output.p.cmd) | orig_data.output.valid)
            ),
            requests.output.ready.eq(self.output_req.valid & self.output_req.ready),
            self.req_level.eq(requests.level),
            self.orig_data_level.eq(orig_data.level),
        ]
        return m
