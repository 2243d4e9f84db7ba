"""What comes back: does it belong to a Request, and is every byte right?"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.traffic.interface import LINE_BITS, TIME_BITS, Command, ErrorKind
from ualink.traffic.line_data import WORDS, difference_state, line_state, line_words, word_constant, write_lanes
from ualink.traffic.source import line_after
from ualink.traffic.tag_table import TAG_BITS, LookUpSignature
from ualink.upli.channels import beat_stream
from ualink.upli.commands import Status

__all__ = ["EVENTS", "REPORT", "Checker"]

EVENTS = (
    "unexpected_tags",
    "duplicate_responses",
    "late_responses",
    "wrong_channels",
    "misrouted_responses",
    "beat_errors",
    "status_errors",
    "poisoned_beats",
)
"""Errors by kind, in the order of ``ErrorKind``."""

_OF_EVENT = (
    ErrorKind.UNEXPECTED_TAG,
    ErrorKind.DUPLICATE,
    ErrorKind.LATE,
    ErrorKind.WRONG_CHANNEL,
    ErrorKind.MISROUTED,
    ErrorKind.BEATS,
    ErrorKind.STATUS,
    ErrorKind.POISON,
)

REPORT = data.StructLayout(
    {
        "kind": ErrorKind,
        "tag": TAG_BITS,
        "offset": 2,
        "status": 4,
        "word": 3,
        "line": LINE_BITS,
        "expected": 64,
        "found": 64,
    }
)
"""An error: the Response's tag, offset and status, the line that was asked for, and of wrong data the first word of 64
bits that is wrong, with its place."""


class Checker(wiring.Component):
    """Takes every Response at once and matches it with its Request.

    A beat on RdRsp is matched one cycle after it was taken and its data are judged two cycles later. Write Responses
    are matched likewise, except in cycles in which a Read Response ends: then they wait.

    A Response ends with its beat with Last, whatever else is wrong with it. It is right when each offset came once,
    RdRspNumBeats is 0 on all beats (Single Beat mode) or the number of beats minus one on all, and Status is the same
    on all. A byte is right when it is the new one or, unless the plan is strict there, the old one. Data of poisoned
    beats and of Responses other than OKAY are not judged. A Response on the wrong channel does not end its Request. A
    Write Response with status ISOLATE is taken and answers none (UALink_200 §3.1.4.3).

    Members
    -------
    own, new_seed, old_seed, check : of ``SettingsSignature``; ``check`` 0: data are not judged.
    rd_rsp, wr_rsp : from the Originator; ready always, or nearly so for ``wr_rsp``.
    rd, wr : look-ups in the tag table.
    now : cycle counter.
    retire, retired : to the tag table.
    write, latency : the Request that ends with ``retire`` was answered on WrRsp; cycles from issue to end.
    good_beat : 1 bit, a RdRsp beat of a Request that waits.
    wrong_bytes : bytes found wrong in this cycle.
    ``EVENTS`` : 1 bit each, what was found wrong in this cycle. Two may come together from two channels: ``_wr``.
    report : what the first of the errors of this cycle is; ``kind`` NONE: there is none.
    sweep, swept : 1 bit, forget what is known of half-received Responses of tag ``swept``; one tag a cycle.
    """

    def __init__(self, tags: int):
        self.tags = tags
        super().__init__(
            {
                "own": In(10),
                "new_seed": In(32),
                "old_seed": In(32),
                "check": In(1),
                "rd_rsp": In(beat_stream("rd_rsp")),
                "wr_rsp": In(beat_stream("wr_rsp")),
                "rd": In(LookUpSignature()),
                "wr": In(LookUpSignature()),
                "now": In(TIME_BITS),
                "retire": Out(1),
                "retired": Out(TAG_BITS),
                "write": Out(1),
                "latency": Out(TIME_BITS),
                "good_beat": Out(1),
                "wrong_bytes": Out(7),
                **{name: Out(2) for name in EVENTS},
                "report": Out(REPORT),
                "sweep": In(1),
                "swept": In(range(tags)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.progress = progress = memory.Memory(shape=_PROGRESS, depth=self.tags, init=[])
        rd_rsp, rd = self.rd_rsp, self.rd

        # A beat of RdRsp and what its tag means.
        valid = Signal()
        beat = Signal(rd_rsp.p.shape(), reset_less=True)
        m.d.sync += valid.eq(rd_rsp.valid)
        with m.If(rd_rsp.valid):
            m.d.sync += beat.eq(rd_rsp.p)
        m.d.comb += [rd_rsp.ready.eq(1), rd.look.eq(rd_rsp.valid), rd.tag.eq(rd_rsp.p.tag)]
        plan = rd.entry.plan
        read_errors = {name: Signal(name=f"read_{name}") for name in EVENTS}
        good, ends, wrong_beat = Signal(), Signal(), Signal()
        on_rd_rsp = (plan.command == Command.READ) | (plan.command == Command.ATOMIC)
        m.d.comb += [
            good.eq(valid & rd.waits & on_rd_rsp),
            ends.eq(good & beat.last),
            wrong_beat.eq(self._progress(m, progress, good, beat, plan.beats)),
            self.good_beat.eq(good),
            read_errors["unexpected_tags"].eq(valid & ~rd.issued),
            read_errors["duplicate_responses"].eq(valid & rd.issued & ~rd.waits & ~rd.lost),
            read_errors["late_responses"].eq(valid & rd.lost),
            read_errors["wrong_channels"].eq(valid & rd.waits & ~on_rd_rsp),
            read_errors["misrouted_responses"].eq(good & (beat.dst_phys_acc_id != self.own)),
            read_errors["beat_errors"].eq(good & wrong_beat),
            read_errors["status_errors"].eq(ends & (beat.status != Status.OKAY)),
            read_errors["poisoned_beats"].eq(good & beat.data_error),
        ]
        read_report, write_report = Signal(REPORT), Signal(REPORT)
        m.d.comb += [
            *_report(m, read_report, read_errors, beat, rd),
            read_report.offset.eq(beat.offset),
        ]
        data_report = self._judge(m, good & (beat.status == Status.OKAY) & ~beat.data_error, beat, plan)

        # A beat of WrRsp.
        wr_rsp, wr = self.wr_rsp, self.wr
        write_valid, matched, answers = Signal(), Signal(), Signal()
        response = Signal(wr_rsp.p.shape(), reset_less=True)
        write_errors = {name: Signal(name=f"write_{name}") for name in EVENTS[:-1] if name != "beat_errors"}
        write_good = Signal()
        on_wr_rsp = (wr.entry.plan.command == Command.WRITE) | (wr.entry.plan.command == Command.WRITE_FULL)
        m.d.comb += [
            matched.eq(write_valid & ~ends),
            wr_rsp.ready.eq(~write_valid | matched),
            answers.eq(wr_rsp.valid & (wr_rsp.p.status != Status.ISOLATE)),
            wr.look.eq(answers & wr_rsp.ready),
            wr.tag.eq(wr_rsp.p.tag),
            write_good.eq(matched & wr.waits & on_wr_rsp),
            write_errors["unexpected_tags"].eq(matched & ~wr.issued),
            write_errors["duplicate_responses"].eq(matched & wr.issued & ~wr.waits & ~wr.lost),
            write_errors["late_responses"].eq(matched & wr.lost),
            write_errors["wrong_channels"].eq(matched & wr.waits & ~on_wr_rsp),
            write_errors["misrouted_responses"].eq(write_good & (response.dst_phys_acc_id != self.own)),
            write_errors["status_errors"].eq(write_good & (response.status != Status.OKAY)),
            *_report(m, write_report, write_errors, response, wr),
        ]
        with m.If(wr_rsp.ready):
            m.d.sync += write_valid.eq(answers)
        with m.If(wr.look):
            m.d.sync += response.eq(wr_rsp.p)

        issued = Mux(ends, rd.entry.issued, wr.entry.issued)
        m.d.comb += [
            self.retire.eq(ends | write_good),
            self.retired.eq(Mux(ends, rd.known, wr.known)),
            self.write.eq(~ends),
            self.latency.eq(self.now - issued),
            *(getattr(self, name).eq(read_errors[name] + write_errors.get(name, 0)) for name in EVENTS),
        ]
        # Data are judged one cycle later than everything else is: an error of the beat before comes first.
        other_report = Signal(REPORT)
        m.d.sync += other_report.eq(Mux(read_report.kind != ErrorKind.NONE, read_report, write_report))
        m.d.comb += self.report.eq(Mux(data_report.kind != ErrorKind.NONE, data_report, other_report))
        return m

    def _progress(self, m, progress, good, beat, beats):
        """1 bit: offset, NumBeats, Last or Status do not fit the beats of the Response that came before."""
        read, write = progress.read_port(domain="comb"), progress.write_port()
        before, after, all_beats = read.data, Signal(4), Signal(4)
        place = beat.tag[: (self.tags - 1).bit_length()]
        multi = beat.num_beats != 0
        m.d.comb += [
            read.addr.eq(place),
            after.eq(before.seen | (1 << beat.offset)),
            all_beats.eq((2 << beats) - 1),
            write.en.eq(good | self.sweep),
            write.addr.eq(Mux(self.sweep, self.swept, place)),
        ]
        with m.If(~self.sweep & ~beat.last):
            m.d.comb += [write.data.seen.eq(after), write.data.status.eq(beat.status), write.data.multi.eq(multi)]
        begun = before.seen != 0
        return (
            (beat.offset > beats)
            | before.seen.bit_select(beat.offset, 1)
            | (multi & (beat.num_beats != beats))
            | (multi & (beat.last != (beat.offset == beats)))
            | (beat.last != (after == all_beats))
            | (begun & ((before.status != beat.status) | (before.multi != multi)))
        )

    def _judge(self, m, enable, beat, plan):
        """Compare the data of a beat, in three steps: what was wanted, which bytes are wrong, which word is told."""
        line = line_after(plan.line, beat.offset)
        state = line_state(m, line, plan.dst, self.new_seed, "wanted")
        # Seeds stay as they are during a run, so that what the old data have in place of the new ones is a constant.
        seeds, old_state = difference_state(m, self.new_seed ^ self.old_seed, "old"), Signal(64)
        m.d.sync += old_state.eq(seeds)
        judging, strict, masked = Signal(), Signal(), Signal()
        kept, kept_old = Signal(_JUDGED, reset_less=True), Signal(64, reset_less=True)
        m.d.sync += judging.eq(enable & self.check & (beat.offset <= plan.beats))
        with m.If(enable):
            m.d.sync += [
                kept.data.eq(beat.data),
                kept.state.eq(state),
                kept_old.eq(state ^ old_state),
                kept.line.eq(line),
                kept.tag.eq(beat.tag),
                kept.offset.eq(beat.offset),
                strict.eq(plan.strict),
                masked.eq(plan.masked),
            ]
        must_be_new = Mux(strict, Mux(masked, write_lanes(kept.state), (1 << 64) - 1), 0)
        new, old = line_words(kept.state), line_words(kept_old)
        wrong, judged = Signal(64), Signal(_JUDGED, reset_less=True)
        for lane in range(64):
            found = kept.data.word_select(lane, 8)
            not_new, not_old = found != new.word_select(lane, 8), found != old.word_select(lane, 8)
            m.d.sync += wrong[lane].eq(judging & not_new & (must_be_new[lane] | not_old))
        m.d.sync += judged.eq(kept)
        m.d.comb += self.wrong_bytes.eq(_ones(wrong))

        report = Signal(REPORT, name="data_report")
        m.d.comb += [report[name].eq(judged[name]) for name in ("line", "tag", "offset")]
        for word in reversed(range(WORDS)):
            with m.If(wrong.word_select(word, 8).any()):
                m.d.comb += [report.kind.eq(ErrorKind.DATA), report.word.eq(word)]
        m.d.comb += [
            report.expected.eq(judged.state ^ Array(Const(word_constant(n), 64) for n in range(WORDS))[report.word]),
            report.found.eq(Array(judged.data.word_select(n, 64) for n in range(WORDS))[report.word]),
        ]
        return report


_JUDGED = data.StructLayout({"data": 512, "state": 64, "line": LINE_BITS, "tag": TAG_BITS, "offset": 2})
"""Data of a beat; what those that were wanted are made of; where they belong."""

_PROGRESS = data.StructLayout({"seen": 4, "status": 4, "multi": 1})
"""Offsets of a Response that have come, all 0 before and after it; Status and mode of its beats."""


def _ones(bits):
    """How many of ``bits`` are 1: four at a time by logic, then a tree of adders."""
    counts = []
    for at in range(0, len(bits), 4):
        a, b, c, d = bits[at : at + 4]
        two = ((a ^ b) & (c ^ d)) | (a & b & ~c & ~d) | (c & d & ~a & ~b)
        three = (a & b & (c ^ d)) | (c & d & (a ^ b))
        counts.append(Cat(a ^ b ^ c ^ d, two | three, a & b & c & d))
    while len(counts) > 1:
        counts = [first + second for first, second in zip(counts[::2], counts[1::2])]
    return counts[0]


def _report(m, report, errors, beat, look):
    """The first of ``errors``, in the order of ``EVENTS``."""
    kind = Signal(ErrorKind, name=f"{report.as_value().name}_kind")
    for name, code in reversed([*zip(EVENTS, _OF_EVENT)]):
        if name in errors:
            with m.If(errors[name]):
                m.d.comb += kind.eq(code)
    return [
        report.kind.eq(kind),
        report.tag.eq(beat.tag),
        report.status.eq(beat.status),
        report.line.eq(look.entry.plan.line),
    ]
