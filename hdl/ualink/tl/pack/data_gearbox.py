"""Beats in, half-flits out: the data that the fields of a Control half-flit owe, in the order of their sectors."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.tl.format.fields import MessageType
from ualink.tl.format.half_flits import (
    DATA_JOB_LAYOUT,
    HALF_FLIT_LAYOUT,
    ORIG_DATA_BEAT_LAYOUT,
    READ_DATA_BEAT_LAYOUT,
    DataSource,
)

from .share import REQUESTS_IN_SIGHT, RESPONSES_IN_SIGHT

__all__ = ["DataGearbox"]


class DataGearbox(wiring.Component):
    """Serves the data jobs of one Control half-flit, lowest sector first, and shows the next two half-flits owed.

    A beat gives its lower, then its upper 32 bytes; the last beat of a job with byte enables gives these as a third
    half-flit: enable of byte i of the 256-byte block in bit i (ruling D04). Both halves of a beat in error become
    Poisoned Data messages (UALink_200 §5.3). A beat leaves its queue with its first half-flit; what is left of it is
    carried, so that two half-flits can leave every cycle whatever their alignment. Latency 0 from a beat to ``window``.

    Attributes
    ----------
    load : take over the jobs of the fields that go; only when no job is pending.
    requests, requests_go, responses, responses_go : jobs of the fields in sight, and which of these go.
    request_below : Request 0 stands below the Responses; all other Requests stand above them.
    orig_data, rd_data : beats, in the order of the Requests and of the Read Responses.
    window, available : the next two half-flits owed, and how many of them are there.
    take : half-flits that leave in this cycle, at most ``available``; one only when at most one is carried.
    """

    def __init__(self):
        super().__init__(
            {
                "load": In(1),
                "requests": In(DATA_JOB_LAYOUT).array(REQUESTS_IN_SIGHT),
                "requests_go": In(REQUESTS_IN_SIGHT),
                "responses": In(DATA_JOB_LAYOUT).array(RESPONSES_IN_SIGHT),
                "responses_go": In(RESPONSES_IN_SIGHT),
                "request_below": In(1),
                "orig_data": In(stream.Signature(ORIG_DATA_BEAT_LAYOUT)),
                "rd_data": In(stream.Signature(READ_DATA_BEAT_LAYOUT)),
                "window": Out(HALF_FLIT_LAYOUT).array(2),
                "available": Out(range(3)),
                "take": In(range(3)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        job, pop, last = Signal(DATA_JOB_LAYOUT), Signal(), Signal()
        beat = Signal(2)
        m.d.comb += last.eq(beat == job.num_beats)
        m.d.sync += beat.eq(Mux(pop, Mux(last, 0, beat + 1), beat))
        head_valid = self._select_job(m, job, pop & last)

        from_rd_rsp = job.source == DataSource.RD_RSP
        head, error, beat_valid = Signal(512), Signal(), Signal()
        with m.If(from_rd_rsp):
            m.d.comb += [head.eq(self.rd_data.p.data), error.eq(self.rd_data.p.error)]
            m.d.comb += beat_valid.eq(self.rd_data.valid)
        with m.Else():
            m.d.comb += [head.eq(self.orig_data.p.data), error.eq(self.orig_data.p.error)]
            m.d.comb += beat_valid.eq(self.orig_data.valid)
        m.d.comb += [self.rd_data.ready.eq(pop & from_rd_rsp), self.orig_data.ready.eq(pop & ~from_rd_rsp)]

        lower, upper, enables = (Signal(HALF_FLIT_LAYOUT, name=name) for name in ("lower", "upper", "enables"))
        for half_flit, bits in ((lower, head[:256]), (upper, head[256:])):
            m.d.comb += [
                half_flit.data.eq(Mux(error, MessageType.POISONED_DATA, bits)),
                half_flit.message.eq(error),
            ]
        m.d.comb += enables.data.eq(self._byte_enables(m, job, beat, pop))

        # Half-flits carried over from the last beat that left; there are two only after the last beat of a job.
        carry = [Signal(HALF_FLIT_LAYOUT, name=f"carry_{n}", reset_less=True) for n in range(2)]
        carried = Signal(range(3))
        gain = Signal(range(4))
        m.d.comb += [
            self.window[0].eq(Mux(carried == 0, lower, carry[0])),
            self.window[1].eq(Mux(carried == 0, upper, Mux(carried == 1, lower, carry[1]))),
            self.available.eq(Mux(head_valid & beat_valid, 2, carried)),
            pop.eq(self.take > carried),
            gain.eq(Mux(pop, 2 + (job.byte_enables & last), 0)),
        ]
        m.d.sync += carried.eq(carried + gain - self.take)
        with m.If(pop):
            m.d.sync += [
                carry[0].eq(Mux((carried == 0) & (self.take == 2), enables, upper)),
                carry[1].eq(enables),
            ]
        return m

    def _select_job(self, m, job, done):
        """Show the pending job of the lowest sector as ``job`` and drop it when ``done``; return whether there is
        one."""
        # In the order of their sectors: Request 0 if it stands below, the Responses, the Requests.
        sources = [self.requests[0], *self.responses, *self.requests]
        goes = Cat(
            self.requests_go[0] & self.request_below,
            self.responses_go,
            self.requests_go[0] & ~self.request_below,
            self.requests_go[1:],
        )
        first, *others = (Signal(DATA_JOB_LAYOUT, name=f"job_{n}", reset_less=True) for n in range(len(sources) - 1))
        jobs = [first, *others[:RESPONSES_IN_SIGHT], first, *others[RESPONSES_IN_SIGHT:]]
        pending = Signal(len(jobs))
        with m.If(self.load):
            m.d.sync += [stored.eq(new) for stored, new in zip(jobs, sources, strict=True)]
            m.d.sync += pending.eq(Cat(go & (new.half_flits != 0) for go, new in zip(goes, sources)))
        with m.Elif(done):
            m.d.sync += pending.eq(pending & (pending - 1))
        for n in reversed(range(len(jobs))):
            with m.If(pending[n]):
                m.d.comb += job.eq(jobs[n])
        return pending != 0

    def _byte_enables(self, m, job, beat, pop):
        """The byte-enable half-flit as far as the beat in sight."""
        slot = Signal(2)
        so_far = Signal(256, reset_less=True)
        enables = Signal(256)
        m.d.comb += slot.eq(job.slot + beat)
        for n in range(4):
            part = slice(64 * n, 64 * n + 64)
            m.d.comb += enables[part].eq(Mux(beat == 0, 0, so_far[part]) | Mux(slot == n, self.orig_data.p.byte_en, 0))
        with m.If(pop):
            m.d.sync += so_far.eq(enables)
        return enables
