"""Planned Requests as UPLI beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.traffic.interface import LINE_BITS, PLAN, Command
from ualink.traffic.line_data import line_state, line_words, write_lanes
from ualink.upli.channels import beat_stream
from ualink.upli.commands import ReqCmd

__all__ = ["ONE_REQUEST", "Source", "line_after"]

ONE_REQUEST = 1 << 16
"""What a Request costs of the rate limit."""

SWAP_64 = 0b0100_01_0_0
"""ReqAttr of an Atomic: OpType 04h, elements of 64 bits."""
ALL_BYTES = 0xFF
"""ReqAttr of a Read."""


class Source(wiring.Component):
    """Offers each Request when it may be sent, with its first OrigData beat; the other beats follow without a gap.

    Both are taken in one cycle: each is offered when the other channel is ready, which it has to be of its own accord
    and stay until something is taken.

    Members
    -------
    restart : 1 bit, a run begins.
    run : 1 bit, Requests may be offered.
    may_issue : 1 bit, fewer Requests are outstanding than may be.
    rate : Requests per cycle in 65,536ths; what is not used is not saved up, except for one Request.
    own, vc, new_seed : of ``SettingsSignature``.
    plan : the next Request; ``tag``: a free tag. Both are taken when the Request is.
    req, orig_data : to the Originator.
    bursting : 1 bit, OrigData beats of a Request that was sent are still to come.
    """

    def __init__(self):
        super().__init__(
            {
                "restart": In(1),
                "run": In(1),
                "may_issue": In(1),
                "rate": In(17),
                "own": In(10),
                "vc": In(2),
                "new_seed": In(32),
                "plan": In(stream.Signature(PLAN)),
                "tag": In(stream.Signature(11)),
                "req": Out(beat_stream("req")),
                "orig_data": Out(beat_stream("orig_data")),
                "bursting": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        plan, req, orig_data = self.plan.p, self.req, self.orig_data
        reads, with_data, offered, issued = Signal(), Signal(), Signal(), Signal()
        credit, saved = Signal(18), Signal(18)
        m.d.comb += [
            saved.eq(Mux(issued, credit - ONE_REQUEST, credit)),
            offered.eq(
                self.run
                & self.may_issue
                & self.plan.valid
                & self.tag.valid
                & (credit >= ONE_REQUEST)
                & (reads | ~self.bursting)
            ),
            req.valid.eq(offered & (reads | orig_data.ready)),
            issued.eq(req.valid & req.ready),
            self.plan.ready.eq(issued),
            self.tag.ready.eq(issued),
        ]
        with m.If(self.restart):
            m.d.sync += credit.eq(ONE_REQUEST)
        with m.Else():
            m.d.sync += credit.eq(Mux(saved >= ONE_REQUEST, ONE_REQUEST, saved) + self.rate)

        more = Signal(2)
        m.d.comb += [
            reads.eq(plan.command == Command.READ),
            with_data.eq(~reads),
            more.eq(Mux(reads, 0, plan.beats)),
            req.p.src_phys_acc_id.eq(self.own),
            req.p.dst_phys_acc_id.eq(plan.dst),
            req.p.tag.eq(self.tag.p),
            req.p.num_beats.eq(more),
            req.p.addr.eq(Cat(Const(0, 6), plan.line)),
            req.p.len.eq(Cat(Const(15, 4), plan.beats)),
            req.p.vc.eq(self.vc),
        ]
        with m.Switch(plan.command):
            for command, cmd, attr in (
                (Command.READ, ReqCmd.READ, ALL_BYTES),
                (Command.WRITE, ReqCmd.WRITE, 0),
                (Command.ATOMIC, ReqCmd.ATOMIC_R, SWAP_64),
                (Command.WRITE_FULL, ReqCmd.WRITE_FULL, 0),
            ):
                with m.Case(command):
                    m.d.comb += [req.p.cmd.eq(cmd), req.p.attr.eq(attr)]

        # The rest of a transfer, while the next Request is already offered.
        offset, to_come = Signal(2), Signal(2)
        line, dst, masked, vc = Signal(LINE_BITS), Signal(10), Signal(), Signal(2)
        bursting = self.bursting
        m.d.comb += bursting.eq(to_come != 0)
        with m.If(issued & with_data):
            m.d.sync += [
                to_come.eq(plan.beats),
                offset.eq(1),
                line.eq(plan.line),
                dst.eq(plan.dst),
                masked.eq(plan.masked),
                vc.eq(self.vc),
            ]
        with m.Elif(bursting & orig_data.ready):
            m.d.sync += [to_come.eq(to_come - 1), offset.eq(offset + 1)]
        state = line_state(
            m,
            Mux(bursting, line_after(line, offset), plan.line),
            Mux(bursting, dst, plan.dst),
            self.new_seed,
            "written",
        )
        m.d.comb += [
            orig_data.valid.eq(bursting | (offered & with_data & req.ready)),
            orig_data.p.data.eq(line_words(state)),
            orig_data.p.byte_en.eq(
                Mux(Mux(bursting, masked, plan.masked), write_lanes(state), ~Const(0, 64)),
            ),
            orig_data.p.offset.eq(Mux(bursting, offset, 0)),
            orig_data.p.last.eq(Mux(bursting, to_come == 1, plan.beats == 0)),
            orig_data.p.vc.eq(Mux(bursting, vc, self.vc)),
        ]
        return m


def line_after(line, offset):
    """The line ``offset`` lines after ``line``, in the same block."""
    return Cat((line[:2] + offset)[:2], line[2:])
