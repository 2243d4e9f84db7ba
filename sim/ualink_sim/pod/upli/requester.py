"""The half of an accelerator that asks: it issues its requests in order and checks what comes back."""

from amaranth.hdl import Cat, ClockDomain, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.traffic.line_data import line_state, line_words
from ualink.upli.channels import beat_stream
from ualink.upli.commands import ReqCmd

from .layouts import FLAGS, OUTCOME, REQUEST, ROW, SLOTS, TAGS, TIME_BITS, key_of

__all__ = ["Requester", "host_members"]

NUMBER_BITS = 32
JOBS = 8
_JOB = data.StructLayout({"line": 51, "dst": 10, "key": 32, "beats": 2})
_DONE = data.StructLayout({"lap": 1, "completed": TIME_BITS, "status": 4, "wrong": len(FLAGS)})
"""``lap`` tells on which way round the slots it was written."""


def host_members() -> dict[str, wiring.Member]:
    """What an accelerator shows to the host, and its number and time."""
    return {
        "number": In(10),
        "now": In(TIME_BITS),
        "enable": In(1),
        "load": In(1),
        "load_requests": In(data.ArrayLayout(REQUEST, ROW)),
        "load_row": In(range(SLOTS // ROW)),
        "loaded": In(NUMBER_BITS),
        "shown": In(NUMBER_BITS),
        "outcomes": Out(data.ArrayLayout(OUTCOME, ROW)),
        "retired": Out(NUMBER_BITS),
        "foreign": Out(NUMBER_BITS),
    }


class Requester(wiring.Component):
    """Issues what is loaded, one request in a cycle at the most, each as soon as its ``window`` and its tag let it.

    Request n, counted from 0, has the low bits of n as its tag and n + 1 as its authentication tag, from which, with
    its source, the data of a Write follow. Each beat of a Read Response brings in its authentication tag that number,
    and the key of its data: all its bytes follow from that, from the line and from the accelerator that were asked.

    Members
    -------
    number : the accelerator; constant.
    now : 32 bit, the cycle.
    enable : requests are issued.
    load : a rising edge writes ``load_requests``.
    load_requests, load_row : ``ROW`` of ``REQUEST``, and how many rows after ``loaded`` they go.
    loaded : requests that may be issued, since reset; a multiple of ``ROW`` while there are more to come.
    shown, outcomes : ``ROW`` of ``OUTCOME`` from request ``shown`` on, which is none after the next to be issued.
    retired : all requests before this one have their Response.
    foreign : beats that answer nothing that was asked.
    spoil : one bit of the data of each Write is wrong.
    req, orig_data, rd_rsp, wr_rsp : the UPLI Originator's channels, as streams.
    """

    def __init__(self):
        super().__init__(
            {
                **host_members(),
                "spoil": In(1),
                "req": Out(beat_stream("req")),
                "orig_data": Out(beat_stream("orig_data")),
                "rd_rsp": In(beat_stream("rd_rsp")),
                "wr_rsp": In(beat_stream("wr_rsp")),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.requests = self._requests = memory.Memory(
            shape=data.ArrayLayout(REQUEST, ROW), depth=SLOTS // ROW, init=[]
        )
        m.submodules.issued = self._issued = memory.Memory(shape=TIME_BITS, depth=SLOTS, init=[])
        m.submodules.done = self._done = memory.Memory(shape=_DONE, depth=SLOTS, init=[])
        self._following = Signal(NUMBER_BITS)
        self._take(m)
        self._issue(m)
        ends = [self._check_reads(m), self._check_writes(m)]
        self._retire(m, ends)
        self._show(m)
        return m

    def _take(self, m):
        """The host's writes, in a clock domain of their own: no cycle passes while it loads."""
        m.domains.host = host = ClockDomain(reset_less=True)
        write = self._requests.write_port(domain="host")
        m.d.comb += [
            host.clk.eq(self.load),
            write.addr.eq((self.loaded >> (ROW.bit_length() - 1)) + self.load_row),
            write.data.eq(self.load_requests),
            write.en.eq(1),
        ]

    def _request_at(self, m, slot, name):
        """The request in ``slot``."""
        port = self._requests.read_port(domain="comb")
        request = Signal(REQUEST, name=name)
        m.d.comb += [port.addr.eq(slot[ROW.bit_length() - 1 :]), request.eq(port.data[slot[: ROW.bit_length() - 1]])]
        return request

    def _issue(self, m):
        n, req = self._following, self.req
        request = self._request_at(m, n, "request")
        outstanding = self._outstanding = Signal(range(TAGS + 1))
        m.submodules.jobs = jobs = Queue(_JOB, JOBS)
        goes = self._goes = Signal()
        number, job = Signal(NUMBER_BITS), jobs.input.p
        m.d.comb += [
            number.eq(n + 1),
            goes.eq(
                self.enable
                & (n != self.loaded)
                & ((n - self.retired)[:NUMBER_BITS] < TAGS)
                & (outstanding < request.window)
                & (~req.valid | req.ready)
                & (~request.write | jobs.input.ready)
            ),
            jobs.input.valid.eq(goes & request.write),
            job.line.eq(request.line),
            job.dst.eq(request.dst),
            job.key.eq(key_of(number, self.number)),
            job.beats.eq(request.beats),
        ]
        issued = self._issued.write_port()
        m.d.comb += [issued.addr.eq(n), issued.data.eq(self.now), issued.en.eq(goes)]
        with m.If(req.ready):
            m.d.sync += req.valid.eq(0)
        with m.If(goes):
            m.d.sync += [
                n.eq(number),
                req.valid.eq(1),
                req.p.auth_tag.eq(number),
                req.p.src_phys_acc_id.eq(self.number),
                req.p.dst_phys_acc_id.eq(request.dst),
                req.p.tag.eq(n),
                req.p.num_beats.eq(request.write.replicate(2) & request.beats),
                req.p.addr.eq(Cat(Const(0, 6), request.line)),
                req.p.cmd.eq(Mux(request.write, Mux(request.full, ReqCmd.WRITE_FULL, ReqCmd.WRITE), ReqCmd.READ)),
                req.p.len.eq(Cat(Const(15, 4), request.beats)),
                req.p.attr.eq(~request.write.replicate(8)),
            ]
        self._send_data(m, jobs.output)

    def _send_data(self, m, job):
        beat, out = Signal(2), self.orig_data
        last = beat == job.p.beats
        state = line_state(m, job.p.line + beat, job.p.dst, job.p.key, "written")
        m.d.comb += [
            out.valid.eq(job.valid),
            job.ready.eq(out.ready & last),
            out.p.data.eq(line_words(state) ^ (self.spoil << 300)),
            out.p.byte_en.eq(~Const(0, 64)),
            out.p.offset.eq(beat),
            out.p.last.eq(last),
        ]
        with m.If(out.valid & out.ready):
            m.d.sync += beat.eq(beat + 1)
            with m.If(last):
                m.d.sync += beat.eq(0)

    def _find(self, m, tag, name):
        """Number, request and whether it is outstanding, of ``tag``."""
        distance, n = Signal(TAGS.bit_length() - 1, name=f"{name}_distance"), Signal(NUMBER_BITS, name=f"{name}_number")
        done = self._done.read_port(domain="comb")
        pending = Signal(name=f"{name}_pending")
        m.d.comb += [
            distance.eq(tag - self.retired),
            n.eq(self.retired + distance),
            done.addr.eq(n),
            pending.eq((distance < (self._following - self.retired)[:NUMBER_BITS]) & (done.data.lap != _lap(n))),
        ]
        return n, self._request_at(m, n, f"{name}_request"), pending

    def _check_reads(self, m):
        beat = self.rd_rsp.p
        n, request, pending = self._find(m, beat.tag, "read")
        expected, so_far, wrong, status = Signal(2), Signal(len(FLAGS)), Signal(len(FLAGS)), Signal(4)
        kept_status, kept_tag = Signal(4), Signal.like(beat.tag)
        mine, last, end = Signal(), Signal(), Signal()
        state = line_state(m, request.line + expected, request.dst, beat.auth_tag[32:], "read")
        m.d.comb += [
            self.rd_rsp.ready.eq(1),
            mine.eq(self.rd_rsp.valid & pending & ~request.write),
            last.eq(expected == request.beats),
            end.eq(mine & last),
            status.eq(kept_status | beat.status),
            wrong.eq(
                so_far
                | Cat(
                    (beat.src_phys_acc_id != request.dst) | (beat.dst_phys_acc_id != self.number),
                    (beat.offset != expected)
                    | (beat.num_beats != request.beats)
                    | (beat.last != last)
                    | ((expected != 0) & (beat.tag != kept_tag)),
                    beat.auth_tag[:32] != (n + 1)[:NUMBER_BITS],
                    (beat.data != line_words(state)) | beat.data_error,
                )
            ),
        ]
        with m.If(mine):
            m.d.sync += [expected.eq(expected + 1), so_far.eq(wrong), kept_status.eq(status), kept_tag.eq(beat.tag)]
            with m.If(last):
                m.d.sync += [expected.eq(0), so_far.eq(0), kept_status.eq(0)]
        with m.If(self.rd_rsp.valid & ~mine):
            m.d.sync += self.foreign.eq(self.foreign + 1)
        return n, end, status, wrong

    def _check_writes(self, m):
        response = self.wr_rsp.p
        n, request, pending = self._find(m, response.tag, "write")
        end, wrong = Signal(), Signal(len(FLAGS))
        m.d.comb += [
            self.wr_rsp.ready.eq(1),
            end.eq(self.wr_rsp.valid & pending & request.write),
            wrong.eq(
                Cat(
                    (response.src_phys_acc_id != request.dst) | (response.dst_phys_acc_id != self.number),
                    Const(0, 1),
                    response.auth_tag != (n + 1)[:NUMBER_BITS],
                )
            ),
        ]
        # Of two foreign beats in one cycle one counts: any is an error.
        with m.If(self.wr_rsp.valid & ~end):
            m.d.sync += self.foreign.eq(self.foreign + 1)
        return n, end, response.status, wrong

    def _retire(self, m, ends):
        for n, end, status, wrong in ends:
            write = self._done.write_port()
            m.d.comb += [
                write.addr.eq(n),
                write.data.lap.eq(_lap(n)),
                write.data.completed.eq(self.now),
                write.data.status.eq(status),
                write.data.wrong.eq(wrong),
                write.en.eq(end),
            ]
        m.d.sync += self._outstanding.eq(self._outstanding + self._goes - sum(end for _, end, _, _ in ends))
        oldest = self._done.read_port(domain="comb")
        m.d.comb += oldest.addr.eq(self.retired)
        with m.If((self.retired != self._following) & (oldest.data.lap == _lap(self.retired))):
            m.d.sync += self.retired.eq(self.retired + 1)

    def _show(self, m):
        for place in range(ROW):
            issued, done = self._issued.read_port(domain="comb"), self._done.read_port(domain="comb")
            outcome = self.outcomes[place]
            n = Signal(NUMBER_BITS, name=f"shown_{place}")
            m.d.comb += [
                n.eq(self.shown + place),
                issued.addr.eq(n),
                done.addr.eq(n),
                outcome.asked.eq((n - self.shown)[:NUMBER_BITS] < (self._following - self.shown)[:NUMBER_BITS]),
                outcome.done.eq(outcome.asked & (done.data.lap == _lap(n))),
                outcome.issued.eq(issued.data),
                outcome.completed.eq(done.data.completed),
                outcome.status.eq(done.data.status),
                outcome.wrong.eq(done.data.wrong),
            ]


def _lap(n):
    """What the slot of request ``n`` is marked with when it is done: at first all are 0."""
    return ~n[SLOTS.bit_length() - 1]
