"""Requests into a transaction layer, and what checks the Responses to them."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.lib.queue import Queue
from ualink.upli.channels import beat_stream

from ..model.upli.transactions import ReqCmd
from .link_checker import flit_data
from .tl_pair_requests import PatternSignature, RequestGenerator, tag_for

__all__ = ["MOST_OUTSTANDING", "TrafficSource"]

MOST_OUTSTANDING = 1000


class TrafficSource(wiring.Component):
    """Sends the Requests of a pattern and their data as fast as they are taken, while ``limit`` of them or fewer wait
    for their Response.

    Offset and last of OrigData beats, which the link does not carry, stay 0.

    Members
    -------
    pattern : what is requested.
    limit : Requests that may wait for their Responses; 0: none is sent.
    req, orig_data : what is sent; rd_rsp, wr_rsp : what comes back.
    mismatches : beats of Responses that are not the next of those expected.
    """

    def __init__(self, end: int):
        self._end = end
        super().__init__(
            {
                "pattern": In(PatternSignature()),
                "limit": In(range(MOST_OUTSTANDING + 1)),
                "req": Out(beat_stream("req")),
                "orig_data": Out(beat_stream("orig_data")),
                "rd_rsp": In(beat_stream("rd_rsp")),
                "wr_rsp": In(beat_stream("wr_rsp")),
                "mismatches": Out(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.generator = generator = RequestGenerator(self._end)
        m.submodules.reads = reads = Queue(generator.req.shape(), MOST_OUTSTANDING)
        m.submodules.writes = writes = Queue(generator.req.shape(), MOST_OUTSTANDING)
        connect(m, flipped(self.pattern), generator.pattern)
        req = generator.req
        waiting = Signal(range(MOST_OUTSTANDING + 1))
        taken = self.req.valid & self.req.ready
        read_answered = self.rd_rsp.valid & self.rd_rsp.p.last
        m.d.comb += [
            self.req.p.eq(req),
            self.req.valid.eq(waiting < self.limit),
            generator.advance.eq(taken),
            reads.input.p.eq(req),
            writes.input.p.eq(req),
        ]
        by_read = (req.cmd == ReqCmd.READ) | (req.cmd == ReqCmd.ATOMIC_R)
        m.d.comb += [reads.input.valid.eq(taken & by_read), writes.input.valid.eq(taken & ~by_read)]
        m.d.sync += waiting.eq(waiting + taken - read_answered - self.wr_rsp.valid)

        # Data may be taken as soon as their Request is.
        owed, beat_number = Signal(range(4 * MOST_OUTSTANDING + 1)), Signal(32)
        beat_taken = self.orig_data.valid & self.orig_data.ready
        m.d.comb += [
            self.orig_data.valid.eq((owed != 0) | (self.req.valid & req.cmd[5])),
            self.orig_data.p.data.eq(flit_data(beat_number)),
            self.orig_data.p.byte_en.eq(Const((1 << 64) - 1)),
        ]
        m.d.sync += owed.eq(owed + Mux(taken & req.cmd[5], req.num_beats + 1, 0) - beat_taken)
        with m.If(beat_taken):
            m.d.sync += beat_number.eq(beat_number + 1)

        self._check(m, reads.output, writes.output)
        return m

    def _check(self, m, reads, writes):
        """Compare Responses with the Requests that wait for one."""
        number = Signal(32)

        def wrong(response, expected):
            beat, req = response.p, expected.p
            tag = tag_for(req.tag, self.pattern.tagged)
            return response.valid & (
                ~expected.valid
                | (beat.tag != req.tag)
                | (beat.status != 0)
                | (beat.dst_phys_acc_id != req.src_phys_acc_id)
                | (beat.auth_tag != tag)
            )

        beat = self.rd_rsp.p
        read_wrong, write_wrong = Signal(), Signal()
        m.d.comb += [
            self.rd_rsp.ready.eq(1),
            self.wr_rsp.ready.eq(1),
            reads.ready.eq(self.rd_rsp.valid & beat.last),
            writes.ready.eq(self.wr_rsp.valid),
            write_wrong.eq(wrong(self.wr_rsp, writes)),
            read_wrong.eq(
                wrong(self.rd_rsp, reads) | (self.rd_rsp.valid & ((beat.data != flit_data(number)) | beat.data_error))
            ),
        ]
        with m.If(self.rd_rsp.valid):
            m.d.sync += number.eq(number + 1)
        m.d.sync += self.mismatches.eq(self.mismatches + read_wrong + write_wrong)
