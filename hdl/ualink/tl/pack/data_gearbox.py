"""Beats in, half-flits out: the data that the fields of a Control half-flit owe, in the order of their sectors."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.tl.format.half_flits import (
    DATA_JOB_LAYOUT,
    HALF_FLIT_LAYOUT,
    ORIG_DATA_BEAT_LAYOUT,
    READ_DATA_BEAT_LAYOUT,
)
from ualink.upli.code import code_of

from .share import REQUESTS_IN_SIGHT, RESPONSES_IN_SIGHT

__all__ = ["DataGearbox"]


class DataGearbox(wiring.Component):
    """Serves the data jobs of one Control half-flit, lowest sector first, and shows the next two half-flits owed.

    A beat gives its lower, then its upper 32 bytes; the last beat of a job with byte enables gives these as a third
    half-flit: enable of byte i of the 256-byte block in bit i (ruling D04). Both halves of a beat in error are
    messages, as which they have come (``carried_data``). A beat leaves its queue with its first half-flit; what is left
    of it is carried, so that two half-flits can leave every cycle whatever their alignment. Each half-flit has the code
    with which it came. Latency 0 from a beat to ``window``.

    Attributes
    ----------
    load : take over the jobs of the fields that go; only when no job is pending.
    requests, requests_go, responses, responses_go : jobs of the fields in sight, and which of these go: the first ones.
        Those of Requests are about ``orig_data``, those of Responses about ``rd_data``, whatever their ``source``.
    requests_owe, responses_owe : some of these owe any data.
    request_below : Request 0 stands below the Responses; all other Requests stand above them.
    orig_data, rd_data : beats, in the order of the Requests and of the Read Responses.
    window, available : the next two half-flits owed, and how many of them are there.
    wanted, go : half-flits that leave in a cycle with ``go``, which comes late: at most ``available``; one only when at
        most one is carried.
    """

    def __init__(self):
        super().__init__(
            {
                "load": In(1),
                "requests": In(DATA_JOB_LAYOUT).array(REQUESTS_IN_SIGHT),
                "requests_go": In(REQUESTS_IN_SIGHT),
                "responses": In(DATA_JOB_LAYOUT).array(RESPONSES_IN_SIGHT),
                "responses_go": In(RESPONSES_IN_SIGHT),
                "requests_owe": In(1),
                "responses_owe": In(1),
                "request_below": In(1),
                "orig_data": In(stream.Signature(ORIG_DATA_BEAT_LAYOUT)),
                "rd_data": In(stream.Signature(READ_DATA_BEAT_LAYOUT)),
                "window": Out(HALF_FLIT_LAYOUT).array(2),
                "available": Out(range(3)),
                "wanted": In(range(3)),
                "go": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pop, last = Signal(), Signal()
        beat = Signal(2)
        heads, some, from_rd_rsp = self._select_job(m, pop & last)
        request, response = heads["request"], heads["response"]
        head_valid = some["request"] | some["response"]
        # Which of the two kinds it is comes a little later than the rest.
        m.d.comb += last.eq(Mux(from_rd_rsp, beat == response.num_beats, beat == request.num_beats))
        m.d.sync += beat.eq(Mux(pop, Mux(last, 0, beat + 1), beat))

        head, error, code, beat_valid = Signal(512), Signal(), Signal(2), Signal()
        for chosen, beats, spoilt in (
            (from_rd_rsp, self.rd_data, code_of(self.rd_data.p.spoilt)),
            (~from_rd_rsp, self.orig_data, Const(0)),
        ):
            with m.If(chosen):
                m.d.comb += [head.eq(beats.p.data), error.eq(beats.p.error), beat_valid.eq(beats.valid)]
                m.d.comb += code.eq(beats.p.code.data ^ spoilt.replicate(2))
        m.d.comb += [self.rd_data.ready.eq(pop & from_rd_rsp), self.orig_data.ready.eq(pop & ~from_rd_rsp)]

        lower, upper, enables = (Signal(HALF_FLIT_LAYOUT, name=name) for name in ("lower", "upper", "enables"))
        for half_flit, bits, bit in ((lower, head[:256], code[0]), (upper, head[256:], code[1])):
            m.d.comb += [half_flit.data.eq(bits), half_flit.message.eq(error), half_flit.code.eq(bit)]
        self._byte_enables(m, enables, request, beat)

        # Half-flits carried over from the last beat that left; there are two only after the last beat of a job.
        carry = [Signal(HALF_FLIT_LAYOUT, name=f"carry_{n}", reset_less=True) for n in range(2)]
        carried = Signal(range(3))
        pops, after = Signal(), Signal(range(3))
        m.d.comb += [
            self.window[0].eq(Mux(carried == 0, lower, carry[0])),
            self.window[1].eq(Mux(carried == 0, upper, Mux(carried == 1, lower, carry[1]))),
            self.available.eq(Mux(head_valid & beat_valid, 2, carried)),
            pops.eq(self.wanted > carried),
            pop.eq(self.go & pops),
            after.eq(carried + Mux(pops, 2 + (~from_rd_rsp & request.byte_enables & last), 0) - self.wanted),
        ]
        with m.If(self.go):
            m.d.sync += carried.eq(after)
        # What holds nothing may take what a beat would leave before it is known that it goes.
        with m.If(carried == 0):
            m.d.sync += carry[0].eq(Mux(self.wanted == 2, enables, upper))
        with m.Elif(pop):
            m.d.sync += carry[0].eq(upper)
        with m.If(carried != 2):
            m.d.sync += carry[1].eq(enables)
        return m

    def _select_job(self, m, done):
        """Show the pending job of each kind that comes next, and drop that of the lower sector when ``done``. Return
        them, whether there are any of the kind, and whether the Response's is the lower one."""
        # In the order of their sectors: Request 0 if it stands below, the Responses, the Requests. Of each kind the
        # lowest job that owes anything is known before it is known how many go.
        below, is_response = Signal(), Signal()
        most = {"request": REQUESTS_IN_SIGHT, "response": RESPONSES_IN_SIGHT}
        heads = {kind: Signal(DATA_JOB_LAYOUT, name=f"{kind}_head", reset_less=True) for kind in most}
        pending, first = ({kind: Signal(most[kind], name=f"{kind}s_{name}") for kind in most} for name in _PENDING)
        below_goes = self.requests_go[0] & self.request_below & (self.requests[0].half_flits != 0)
        some = {kind: Signal(name=f"some_{kind}s") for kind in most}
        m.d.comb += is_response.eq(~below & some["response"])
        with m.If(self.load):
            m.d.sync += below.eq(below_goes)
        with m.Elif(done):
            m.d.sync += below.eq(0)
        for kind, sources, goes, owe, leaves in (
            ("request", self.requests, self.requests_go, self.requests_owe, done & ~is_response),
            ("response", self.responses, self.responses_go, self.responses_owe, done & is_response),
        ):
            jobs = [Signal(DATA_JOB_LAYOUT, name=f"{kind}_{n}", reset_less=True) for n in range(most[kind])]
            owing, lowest, rest, following = (Signal(most[kind], name=f"{kind}s_{name}") for name in _ORDER)
            m.d.comb += [
                owing.eq(Cat(source.half_flits != 0 for source in sources)),
                lowest.eq(owing & -owing),
                rest.eq(pending[kind] & ~first[kind]),
                following.eq(rest & -rest),
            ]
            with m.If(self.load):
                m.d.sync += [stored.eq(new) for stored, new in zip(jobs, sources, strict=True)]
                m.d.sync += [pending[kind].eq(goes & owing), first[kind].eq(goes & lowest), some[kind].eq(owe)]
                m.d.sync += heads[kind].eq(select_one(lowest, sources))
            with m.Elif(leaves):
                m.d.sync += [pending[kind].eq(rest), first[kind].eq(following), some[kind].eq(rest.any())]
                m.d.sync += heads[kind].eq(select_one(following, jobs))
        return heads, some, is_response

    def _byte_enables(self, m, half_flit, job, beat):
        """The byte-enable half-flit of the Request that comes next as far as the beat in sight, quarter by quarter."""
        slot = Signal(2)
        so_far = Signal(256, reset_less=True)
        so_far_codes = Signal(4, reset_less=True)
        enables, codes = Signal(256), Signal(4)
        new = self.orig_data.p
        m.d.comb += [slot.eq(job.slot + beat), half_flit.data.eq(enables), half_flit.code.eq(code_of(codes))]
        for n in range(4):
            part = slice(64 * n, 64 * n + 64)
            m.d.comb += enables[part].eq(Mux(beat == 0, 0, so_far[part]) | Mux(slot == n, new.byte_en, 0))
            m.d.comb += codes[n].eq(Mux(slot == n, new.code.byte_en, Mux(beat == 0, 0, so_far_codes[n])))
        # A beat that stays adds the same again; what Responses leave is dropped with the first beat of a Request.
        with m.If(self.orig_data.valid):
            m.d.sync += [so_far.eq(enables), so_far_codes.eq(codes)]


_PENDING = ("pending", "first")
_ORDER = ("owing", "lowest", "rest", "following")
