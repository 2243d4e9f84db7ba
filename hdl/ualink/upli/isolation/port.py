"""One port of an Originator: which beats pass, and who is answered by a dummy (UALink_200 §3.1.3)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import beat_stream
from ualink.upli.commands import Status, has_orig_data
from ualink.upli.isolation.answer import VendorAnswer, answer_to, as_num_beats_says
from ualink.upli.isolation.history import LIMIT_BITS, TAG_BITS, TIME_BITS, RequestHistory

__all__ = ["OWED_BEATS", "IsolationPort", "RequesterSignature"]

OWED_BEATS = 64
"""OrigData beats that accepted Requests may have to come: more than an Originator ever takes Requests for."""


class RequesterSignature(wiring.Signature):
    """The four channels of one port, seen from an Originator Device: streams of beats."""

    def __init__(self):
        super().__init__(
            {
                "req": Out(beat_stream("req")),
                "orig_data": Out(beat_stream("orig_data")),
                "rd_rsp": In(beat_stream("rd_rsp")),
                "wr_rsp": In(beat_stream("wr_rsp")),
            }
        )


class IsolationPort(wiring.Component):
    """Stands between an Originator Device and one port of its ``Originator``, and remembers what is outstanding.

    Requests and OrigData pass at any time, latency 0, data from the cycle after their Request on: in Isolation the
    agent drops them, which is in Drop Mode then.
    Responses pass, latency 0, if there is a Request with their tag; others are taken and dropped (``stray``).

    While ``isolated`` Responses are taken and dropped, but for one that was on offer before. Each outstanding Request
    is answered by a dummy: Completion Timeout in all beats that have not come yet, data FFh, AuthTag 0, with the VC of
    the Request. A burst that had begun is finished first. A Request that comes in Isolation is taken when OrigData of
    those before is complete, and answered when its own is.

    After reset no Request is taken for as many cycles as there are tags.

    Members
    -------
    device : ``RequesterSignature``, to the Originator Device.
    agent : ``RequesterSignature``, to the port of the ``Originator``.
    now : 32 bits, cycle counter. limit : 31 bits, of the watchdogs in cycles; 0: none.
    isolated : level, from a register. ``closed`` : level, no Request is taken from the device.
    expired : 1 bit, a watchdog is over its limit; ``tag`` : 11 bits, its Request.
    isolate : 1 bit, a Write Response with status ISOLATE was taken in this cycle, outside of Isolation.
    stray : 2 bits, for RdRsp and WrRsp: a beat without a Request was dropped in this cycle, outside of Isolation.
    idle : 1 bit, no Request is outstanding, and no OrigData is to come.
    """

    def __init__(self, tags: int, vendor: VendorAnswer = as_num_beats_says):
        self._history, self._vendor = RequestHistory(tags), vendor
        super().__init__(
            {
                "device": In(RequesterSignature()),
                "agent": Out(RequesterSignature()),
                "now": In(TIME_BITS),
                "limit": In(LIMIT_BITS),
                "isolated": In(1),
                "closed": In(1),
                "expired": Out(1),
                "tag": Out(TAG_BITS),
                "isolate": Out(1),
                "stray": Out(2),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.history = history = self._history
        owed, settled = Signal(range(OWED_BEATS + 1)), Signal()
        self._requests(m, history, owed, settled)
        reads_end, writes_end = Signal(), Signal()
        self._responses(m, history, reads_end, writes_end)
        self._dummies(m, history, owed, settled, reads_end & writes_end)
        m.d.comb += [
            history.now.eq(self.now),
            history.limit.eq(self.limit),
            self.expired.eq(history.expired),
            self.tag.eq(history.found_tag),
            self.idle.eq(~history.lives.any() & (owed == 0)),
        ]
        return m

    def _requests(self, m, history, owed, settled):
        req, orig_data = self.device.req, self.device.orig_data
        answer = answer_to(m, req.p, self._vendor)
        passes, accepted, beats, comes = Signal(), Signal(), Signal(range(5)), Signal()
        room = owed + 4 <= OWED_BEATS
        m.d.comb += [
            passes.eq(history.ready & ~self.closed & Mux(self.isolated, settled & (owed == 0), room)),
            self.agent.req.p.eq(req.p),
            self.agent.req.valid.eq(req.valid & passes),
            req.ready.eq(self.agent.req.ready & passes),
            self.agent.orig_data.p.eq(orig_data.p),
            self.agent.orig_data.valid.eq(orig_data.valid & (owed != 0)),
            orig_data.ready.eq(self.agent.orig_data.ready & (owed != 0)),
            accepted.eq(req.valid & req.ready),
            comes.eq(orig_data.valid & orig_data.ready),
            beats.eq(Mux(accepted & has_orig_data(req.p.cmd), req.p.num_beats + 1, 0)),
            history.accept.eq(accepted),
            history.tag.eq(req.p.tag),
            history.entry.answer.eq(answer),
            history.entry.src.eq(req.p.src_phys_acc_id),
            history.entry.dst.eq(req.p.dst_phys_acc_id),
            history.entry.vc.eq(req.p.vc),
        ]
        m.d.sync += [owed.eq(owed + beats - comes), settled.eq(self.isolated & (settled | (owed == 0)))]

    def _responses(self, m, history, reads_end, writes_end):
        """Drives ``reads_end`` and ``writes_end``: the channel is the dummies' alone."""
        rd, wr = self.agent.rd_rsp, self.agent.wr_rsp
        isolates, rd_known, wr_known = Signal(), Signal(), Signal()
        m.d.comb += [
            isolates.eq(wr.p.status == Status.ISOLATE.value),
            rd_known.eq(history.knows(rd.p.tag)),
            wr_known.eq(history.knows(wr.p.tag) & ~isolates),
            self.isolate.eq(wr.valid & isolates & ~self.isolated),
            self.stray[0].eq(~self.isolated & rd.valid & ~rd_known),
            self.stray[1].eq(~self.isolated & wr.valid & ~wr_known & ~isolates),
            history.rd_beat.eq(rd.valid & rd_known & ~reads_end & self.device.rd_rsp.ready),
            history.rd_tag.eq(rd.p.tag),
            history.rd_offset.eq(rd.p.offset),
            history.rd_last.eq(rd.p.last),
            history.wr_end.eq(wr.valid & wr_known & ~writes_end & self.device.wr_rsp.ready),
            history.wr_tag.eq(wr.p.tag),
        ]
        for source, sink, known, end in (
            (rd, self.device.rd_rsp, rd_known, reads_end),
            (wr, self.device.wr_rsp, wr_known, writes_end),
        ):
            offered = source.valid & known
            with m.If(~end):
                m.d.comb += [sink.p.eq(source.p), sink.valid.eq(offered)]
            m.d.comb += source.ready.eq(sink.ready | ~known | end)
            # What a device has been offered it gets.
            m.d.sync += end.eq(self.isolated & (end | ~offered | sink.ready))

    def _dummies(self, m, history, owed, settled, alone):
        rd, wr = self.device.rd_rsp, self.device.wr_rsp
        burst, burst_tag, last_tag = Signal(), Signal(TAG_BITS), Signal(TAG_BITS)
        with m.If(history.rd_beat):
            in_burst = (self.agent.rd_rsp.p.num_beats != 0) & ~history.rd_last
            m.d.sync += [burst.eq(in_burst), burst_tag.eq(history.rd_tag)]
        with m.Elif(history.retire):
            m.d.sync += burst.eq(0)
        with m.If(history.accept):
            m.d.sync += last_tag.eq(history.tag)
        walks = Signal()
        m.d.sync += walks.eq(self.isolated & alone & (walks | settled))
        m.d.comb += [
            history.begin.eq(alone & settled & ~walks),
            history.first.eq(Mux(burst, burst_tag, 0)),
            history.walk.eq(walks),
        ]

        entry, found = history.found_entry, Signal()
        answer = entry.answer
        sent, missing, others = Signal(4), Signal(4), Signal(4)
        wanted = Cat(answer.num_beats >= n for n in range(4))
        first = Cat(missing[n] & ~missing[:n].any() if n else missing[0] for n in range(4))
        m.d.comb += [
            # The last Request that was taken may have OrigData to come.
            found.eq(walks & history.found & ((history.found_tag != last_tag) | (owed == 0))),
            missing.eq(wanted & ~history.found_beats & ~sent),
            others.eq(missing & ~first),
        ]
        mixed = Signal()
        m.d.comb += mixed.eq(history.found_beats.any() & ~(burst & (history.found_tag == burst_tag)))
        common = {
            "tag": history.found_tag,
            "status": Status.CMPTO,
            "src_phys_acc_id": entry.dst,
            "dst_phys_acc_id": entry.src,
            "vc": entry.vc,
            "auth_tag": 0,
        }
        read = common | {
            "data": Const(-1, 512),
            "data_error": 0,
            "offset": Cat(first[1] | first[3], first[2] | first[3]),
            "last": ~others.any(),
            "num_beats": Mux(mixed, 0, answer.num_beats),
        }
        with m.If(walks):
            m.d.comb += [
                rd.valid.eq(found & answer.on_rd_rsp),
                wr.valid.eq(found & ~answer.on_rd_rsp),
                *(Value.cast(rd.p[name]).eq(value) for name, value in read.items()),
                *(Value.cast(wr.p[name]).eq(value) for name, value in common.items()),
                history.retire.eq(found & Mux(answer.on_rd_rsp, rd.ready & ~others.any(), wr.ready)),
            ]
        with m.If(history.retire | ~walks):
            m.d.sync += sent.eq(0)
        with m.Elif(rd.valid & rd.ready):
            m.d.sync += sent.eq(sent | first)
