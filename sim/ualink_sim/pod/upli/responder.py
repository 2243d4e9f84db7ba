"""The half of an accelerator that answers: it checks what it is asked and given, and knows what its memory holds."""

from amaranth.hdl import Array, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.traffic.line_data import line_state, line_words
from ualink.upli.channels import beat_stream
from ualink.upli.commands import ReqCmd, Status

from .layouts import LINES, key_of

__all__ = ["Responder"]

BLOCK = 4
"""Lines of a block of 256 bytes, which no request leaves."""
READS = 64
_READ = data.StructLayout(
    {"tag": 11, "src": 10, "number": 32, "line": 51, "beats": 2, "status": Status, "keys": data.ArrayLayout(32, BLOCK)}
)


class Responder(wiring.Component):
    """Carries out Requests in the order in which they come, a Read in a cycle, a Write as fast as its data come.

    Memory holds for each line the key from which its data follow. All bytes of a Write are compared with what its
    source must have sent: if one differs, or the Request is not younger than those before it of the same source, the
    status of the Response is TARGET_ABORT; it is DECODE_ERROR if the Request is for another accelerator.

    Parameters
    ----------
    accelerators : int, of the pod.

    Members
    -------
    number : the accelerator; constant.
    spoil : one bit of the data of each Read Response is wrong.
    req, orig_data, rd_rsp, wr_rsp : the UPLI Completer's channels, as streams.
    """

    def __init__(self, accelerators: int):
        self._accelerators = accelerators
        super().__init__(
            {
                "number": In(10),
                "spoil": In(1),
                "req": In(beat_stream("req")),
                "orig_data": In(beat_stream("orig_data")),
                "rd_rsp": Out(beat_stream("rd_rsp")),
                "wr_rsp": Out(beat_stream("wr_rsp")),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request, given = self.req.p, self.orig_data.p
        m.submodules.reads = reads = Queue(_READ, READS)
        line = Signal(51)
        beat = Signal(2)  # of a Write
        self._writes, takes, last = Signal(), Signal(), Signal()
        m.d.comb += [
            line.eq(request.addr[6:]),
            last.eq(beat == request.num_beats),
            self._writes.eq((request.cmd == ReqCmd.WRITE) | (request.cmd == ReqCmd.WRITE_FULL)),
            takes.eq(
                self.req.valid & self._writes & self.orig_data.valid & (~last | ~self.wr_rsp.valid | self.wr_rsp.ready)
            ),
            self.orig_data.ready.eq(takes),
            reads.input.valid.eq(self.req.valid & ~self._writes),
            self.req.ready.eq(Mux(self._writes, takes & last, reads.input.ready)),
        ]
        status = self._judge(m)
        key = key_of(request.auth_tag, request.src_phys_acc_id)
        banks = self._memory(m, line + beat, key, takes)

        state = line_state(m, line + beat, self.number, key, "given")
        differs, differed = Signal(), Signal()
        m.d.comb += differs.eq(
            differed
            | (given.data != line_words(state))
            | (given.byte_en != Const((1 << 64) - 1, 64))
            | (given.offset != beat)
            | (given.last != last)
            | given.error
        )
        with m.If(self.wr_rsp.ready):
            m.d.sync += self.wr_rsp.valid.eq(0)
        with m.If(takes):
            m.d.sync += [beat.eq(Mux(last, 0, beat + 1)), differed.eq(differs & ~last)]
            with m.If(last):
                answer = self.wr_rsp.p
                m.d.sync += [
                    self.wr_rsp.valid.eq(1),
                    answer.auth_tag.eq(request.auth_tag),
                    answer.src_phys_acc_id.eq(self.number),
                    answer.dst_phys_acc_id.eq(request.src_phys_acc_id),
                    answer.tag.eq(request.tag),
                    answer.status.eq(Mux((status == Status.OKAY) & differs, Status.TARGET_ABORT, status)),
                ]
        read = reads.input.p
        m.d.comb += [
            read.tag.eq(request.tag),
            read.src.eq(request.src_phys_acc_id),
            read.number.eq(request.auth_tag),
            read.line.eq(line),
            read.beats.eq(request.len[4:]),
            read.status.eq(status),
        ]
        for place in range(BLOCK):
            m.d.comb += read.keys[place].eq(Array(banks)[(line + place)[:2]])
        self._answer_reads(m, reads.output)
        return m

    def _judge(self, m):
        """The status of the Request, whatever its data."""
        request = self.req.p
        numbers = memory.Memory(shape=32, depth=self._accelerators, init=[])
        m.submodules.numbers = numbers
        before, write = numbers.read_port(domain="comb"), numbers.write_port()
        known = Signal()
        status = Signal(Status)
        m.d.comb += [
            known.eq(request.src_phys_acc_id < self._accelerators),
            before.addr.eq(request.src_phys_acc_id),
            write.addr.eq(request.src_phys_acc_id),
            write.data.eq(request.auth_tag),
            write.en.eq(self.req.valid & self.req.ready & known),
        ]
        with m.If((request.dst_phys_acc_id != self.number) | ~known):
            m.d.comb += status.eq(Status.DECODE_ERROR)
        beats = Mux(self._writes, request.len[4:], 0)
        lines = (request.num_beats == beats) & (request.len[:4] == 15) & (request.addr[:6] == 0)
        with m.Elif((request.auth_tag <= before.data) | ~lines):
            m.d.comb += status.eq(Status.TARGET_ABORT)
        return status

    def _memory(self, m, written, key, takes):
        """Keys of the lines of the block of the Request; ``written`` gets ``key`` where it ``takes``."""
        keys = []
        for bank in range(BLOCK):
            m.submodules[f"keys_{bank}"] = lines = memory.Memory(shape=32, depth=LINES // BLOCK, init=[])
            read, write = lines.read_port(domain="comb"), lines.write_port()
            m.d.comb += [
                read.addr.eq(self.req.p.addr[8:]),
                write.addr.eq(self.req.p.addr[8:]),
                write.data.eq(key),
                write.en.eq(takes & (written[:2] == bank)),
            ]
            keys.append(read.data)
        return keys

    def _answer_reads(self, m, read):
        beat, out, key = Signal(2), self.rd_rsp, Signal(32)
        last = beat == read.p.beats
        state = line_state(m, read.p.line + beat, self.number, key, "held")
        m.d.comb += [
            key.eq(read.p.keys[beat]),
            out.valid.eq(read.valid),
            read.ready.eq(out.ready & last),
            out.p.auth_tag[:32].eq(read.p.number),
            out.p.auth_tag[32:].eq(key),
            out.p.src_phys_acc_id.eq(self.number),
            out.p.dst_phys_acc_id.eq(read.p.src),
            out.p.tag.eq(read.p.tag),
            out.p.num_beats.eq(read.p.beats),
            out.p.data.eq(line_words(state) ^ (self.spoil << 77)),
            out.p.status.eq(read.p.status),
            out.p.offset.eq(beat),
            out.p.last.eq(last),
        ]
        with m.If(out.valid & out.ready):
            m.d.sync += beat.eq(Mux(last, 0, beat + 1))
