"""The memory side of a traffic engine: answers Requests."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.memory_marks import NEVER_MEET
from ualink.traffic.request_rules import RequestRules
from ualink.upli.channels import beat_stream
from ualink.upli.commands import Status, has_orig_data

__all__ = ["Responder"]

AND, OR, XOR, SWAP = 1, 2, 3, 0
"""OpTypes 01h to 04h, by their two low bits."""


class Responder(wiring.Component):
    """A memory of ``lines`` lines of 64 bytes, one for all accelerators and address spaces; addresses wrap around.

    Requests take effect one after the other in the order of the port, and are answered in this order on each channel,
    Reads in Multi-Beat mode. One beat is read or written in a cycle, an Atomic takes two. A Response on RdRsp is
    offered one cycle after its Request, or for an Atomic two. A Response that is not taken stops what follows; nothing
    else does, and the Responses to a Requester beside it are none of this block's business.

    Answered are Read, Write, WriteFull, the Atomics of ``RequestRules`` and the predefined UPLI Write Messages; every
    other Request gets the status that ``RequestRules`` gives. Data of an error status are ones (§2.7.5.1); lanes that a
    Read does not want are 0. A poisoned OrigData beat changes nothing and makes the status TARGET_ABORT (ruling A-15
    of UPLI).

    Parameters
    ----------
    lines : a power of two; the memory has one row more.

    Members
    -------
    own : ReqDstPhysAccID of Requests that are meant for this memory; others are answered, too, and ``foreign``.
    decode : 1 bit, Requests beyond the memory are answered with DECODE_ERROR.
    req, orig_data, rd_rsp, wr_rsp : one port of a Completer.
    served, refused, foreign : 1 bit, a Request was done in this cycle; with a status other than OKAY; for another ID.
    """

    def __init__(self, lines: int):
        self.lines = lines
        super().__init__(
            {
                "own": In(10),
                "decode": In(1),
                "req": In(beat_stream("req")),
                "orig_data": In(beat_stream("orig_data")),
                "rd_rsp": Out(beat_stream("rd_rsp")),
                "wr_rsp": Out(beat_stream("wr_rsp")),
                "served": Out(1),
                "refused": Out(1),
                "foreign": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # One beat is read or written in a cycle. Behind the lines there are the ones of an error status, so that data
        # come from the memory alone, and nothing but their lanes is left to choose.
        ones = self.lines
        contents = [0] * self.lines + [(1 << 512) - 1]
        m.submodules.memory = storage = memory.Memory(shape=512, depth=ones + 1, init=contents, attrs=NEVER_MEET)
        m.submodules.rules = rules = RequestRules()
        read, write = storage.read_port(), storage.write_port(granularity=8)
        request, orig, rd_rsp, wr_rsp = self.req.p, self.orig_data.p, self.rd_rsp, self.wr_rsp
        address_bits = (self.lines - 1).bit_length()
        count, spoilt, old_is_here = Signal(2), Signal(), Signal()
        here, last, done = Signal(), Signal(), Signal()
        with_data = has_orig_data(request.cmd)
        rd_free, wr_free, free = Signal(), Signal(), Signal()
        status, line = Signal(Status), Signal(address_bits)
        okay = rules.status == Status.OKAY
        works = rules.atomic & okay & ~orig.error & ~spoilt
        bad_beat = with_data & orig.error
        may_spoil = rules.atomic | (rules.writes & okay)
        m.d.comb += [
            rules.request.eq(request),
            rules.byte_en.eq(orig.byte_en),
            rules.offset.eq(count),
            rules.beyond.eq(self.decode & (request.addr[6 + address_bits :] != 0)),
            line.eq(Cat((request.addr[6:8] + count)[:2], request.addr[8:])),
            # A beat can be worked on when what it needs is there and what it gives has a place.
            rd_free.eq(~rd_rsp.valid | rd_rsp.ready),
            wr_free.eq(~wr_rsp.valid | wr_rsp.ready),
            last.eq(count == Mux(with_data, request.num_beats, rules.last)),
            free.eq(Mux(rules.on_rd_rsp, rd_free, wr_free)),
            here.eq(self.req.valid & Mux(with_data, self.orig_data.valid & (~last | free) & (rd_free | ~works), free)),
            done.eq(here & last & (~works | old_is_here)),
            self.req.ready.eq(done),
            self.orig_data.ready.eq(here & with_data & (~works | old_is_here)),
            status.eq(Mux(may_spoil & (bad_beat | spoilt), Status.TARGET_ABORT, rules.status)),
        ]
        with m.If(done):
            m.d.sync += [count.eq(0), spoilt.eq(0), old_is_here.eq(0)]
        with m.Elif(here):
            with m.If(works):
                m.d.sync += old_is_here.eq(1)
            with m.Else():
                m.d.sync += [count.eq(count + 1), spoilt.eq(spoilt | bad_beat)]

        gives, failed = Signal(), Signal()
        m.d.comb += [
            gives.eq(Mux(rules.reads, here, done & rules.on_rd_rsp)),
            failed.eq(status != Status.OKAY),
        ]
        changed = Signal(512)
        m.d.comb += [
            read.en.eq((here & ((rules.reads & okay) | (works & ~old_is_here))) | (gives & failed)),
            read.addr.eq(Mux(failed, ones, line)),
            changed.eq(orig.data),
            write.addr.eq(line),
            write.data.eq(changed),
        ]
        # Two bits say what becomes of old and new, so that each bit of the memory costs four inputs.
        operation = Signal(2)
        m.d.comb += operation.eq(Mux(works, request.attr[4:6], SWAP))
        with m.Switch(operation):
            with m.Case(AND):
                m.d.comb += changed.eq(read.data & orig.data)
            with m.Case(OR):
                m.d.comb += changed.eq(read.data | orig.data)
            with m.Case(XOR):
                m.d.comb += changed.eq(read.data ^ orig.data)
        with m.If(here & ((rules.writes & okay & ~orig.error) | (works & old_is_here))):
            m.d.comb += write.en.eq(orig.byte_en & rules.lanes)

        self._respond(m, request, orig, rules, read.data, status, gives, last, done, count)
        m.d.comb += [
            self.served.eq(done),
            self.refused.eq(done & failed),
            self.foreign.eq(done & (request.dst_phys_acc_id != self.own)),
        ]
        return m

    def _respond(self, m, request, orig, rules, found, status, gives, last, done, count):
        rd_rsp, wr_rsp = self.rd_rsp, self.wr_rsp
        lanes = Signal(64, reset_less=True)
        wanted = Signal(64)
        with m.If(status != Status.OKAY):
            m.d.comb += wanted.eq((1 << 64) - 1)
        with m.Elif(rules.reads | rules.atomic):
            m.d.comb += wanted.eq(rules.lanes & (orig.byte_en | rules.reads.replicate(64)))
        with m.If(rd_rsp.ready | ~rd_rsp.valid):
            m.d.sync += rd_rsp.valid.eq(gives)
        with m.If(gives):
            m.d.sync += [
                lanes.eq(wanted),
                *_echo(rd_rsp.p, request),
                rd_rsp.p.status.eq(status),
                rd_rsp.p.num_beats.eq(rules.last),
                rd_rsp.p.offset.eq(Mux(rules.reads, count, 0)),
                rd_rsp.p.last.eq(last),
            ]
        for lane in range(64):
            m.d.comb += rd_rsp.p.data.word_select(lane, 8).eq(Mux(lanes[lane], found.word_select(lane, 8), 0))

        with m.If(wr_rsp.ready | ~wr_rsp.valid):
            m.d.sync += wr_rsp.valid.eq(done & ~rules.on_rd_rsp)
        with m.If(done & ~rules.on_rd_rsp):
            m.d.sync += [*_echo(wr_rsp.p, request), wr_rsp.p.status.eq(status)]


def _echo(response, request):
    return [
        response.tag.eq(request.tag),
        response.vc.eq(request.vc),
        response.src_phys_acc_id.eq(request.dst_phys_acc_id),
        response.dst_phys_acc_id.eq(request.src_phys_acc_id),
    ]
