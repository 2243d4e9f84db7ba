"""Responses into a transaction layer, one for each Request that comes out of it, and what checks the Requests."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.lib.queue import Queue
from ualink.upli.channels import beat_stream

from ..model.upli.transactions import ReqCmd
from .link_checker import flit_data
from .tl_pair_requests import PatternSignature, RequestGenerator, tag_for
from .tl_pair_source import MOST_OUTSTANDING

__all__ = ["Responder"]


class Responder(wiring.Component):
    """Answers each Request with status OKAY; the first beat is offered two cycles after the Request at the earliest.

    Members
    -------
    pattern : what the other end, ``sender``, requests.
    req, orig_data : what comes; rd_rsp, wr_rsp : the answers.
    mismatches : Requests and beats of data that are not the next of those expected.
    """

    def __init__(self, sender: int):
        self._sender = sender
        super().__init__(
            {
                "pattern": In(PatternSignature()),
                "req": In(beat_stream("req")),
                "orig_data": In(beat_stream("orig_data")),
                "rd_rsp": Out(beat_stream("rd_rsp")),
                "wr_rsp": Out(beat_stream("wr_rsp")),
                "mismatches": Out(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.expected = expected = RequestGenerator(self._sender)
        m.submodules.reads = reads = Queue(expected.req.shape(), MOST_OUTSTANDING)
        m.submodules.writes = writes = Queue(expected.req.shape(), MOST_OUTSTANDING)
        connect(m, flipped(self.pattern), expected.pattern)
        req = self.req.p
        taken = self.req.valid & self.req.ready
        by_read = (req.cmd == ReqCmd.READ) | (req.cmd == ReqCmd.ATOMIC_R)
        data_number = Signal(32)
        req_wrong, data_wrong = Signal(), Signal()
        m.d.comb += [
            self.req.ready.eq(reads.input.ready & writes.input.ready),
            self.orig_data.ready.eq(1),
            expected.advance.eq(taken),
            reads.input.p.eq(req),
            writes.input.p.eq(req),
            reads.input.valid.eq(taken & by_read),
            writes.input.valid.eq(taken & ~by_read),
            req_wrong.eq(taken & (req.as_value() != expected.req.as_value())),
            data_wrong.eq(
                self.orig_data.valid
                & (
                    (self.orig_data.p.data != flit_data(data_number))
                    | (self.orig_data.p.byte_en != Const((1 << 64) - 1))
                    | self.orig_data.p.error
                )
            ),
        ]
        with m.If(self.orig_data.valid):
            m.d.sync += data_number.eq(data_number + 1)
        m.d.sync += self.mismatches.eq(self.mismatches + req_wrong + data_wrong)

        beat_number, index = Signal(32), Signal(2)
        for response, source in ((self.rd_rsp, reads.output), (self.wr_rsp, writes.output)):
            m.d.comb += [
                response.valid.eq(source.valid),
                response.p.tag.eq(source.p.tag),
                response.p.vc.eq(source.p.vc),
                response.p.src_phys_acc_id.eq(source.p.dst_phys_acc_id),
                response.p.dst_phys_acc_id.eq(source.p.src_phys_acc_id),
                response.p.auth_tag.eq(tag_for(source.p.tag, self.pattern.tagged)),
            ]
        beat = self.rd_rsp.p
        m.d.comb += [
            beat.data.eq(flit_data(beat_number)),
            # Operands of an Atomic are one beat, and so is what it returns.
            beat.num_beats.eq(Mux(reads.output.p.cmd == ReqCmd.READ, reads.output.p.len[4:], 0)),
            beat.offset.eq(index),
            beat.last.eq(index == beat.num_beats),
            reads.output.ready.eq(self.rd_rsp.ready & beat.last),
            writes.output.ready.eq(self.wr_rsp.ready),
        ]
        with m.If(self.rd_rsp.valid & self.rd_rsp.ready):
            m.d.sync += [beat_number.eq(beat_number + 1), index.eq(Mux(beat.last, 0, index + 1))]
        return m
