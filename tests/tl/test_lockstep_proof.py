"""Transmitter and receiver call every half-flit the same: the real blocks of both, for every traffic within bounds.

What is sent says itself what it is, and whose, in bits that the receiver does not look at.
"""

import os
from functools import reduce
from operator import or_

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from support.dl.bit_proof import refuted
from ualink.tl.format.fields import MessageType
from ualink.tl.format.half_flits import DataSource, carried_data
from ualink.tl.pack.data_gearbox import DataGearbox
from ualink.tl.pack.half_flit_sequence import HalfFlitSequence
from ualink.tl.receive.error import ReceiveError
from ualink.tl.receive.sequence import ReceiveSequence

WHOLE = bool(os.environ.get("UALINK_SOAK"))
CYCLES = 10 if WHOLE else 6
SECTORS = (1, 6)
"""Sectors in which fields with data may stand: enough for one to be in front of or behind another."""

CONTROL, DATA, TAGS = 1, 2, 3
FIELD = data.StructLayout({"valid": 1, "is_request": 1, "byte_enables": 1, "num_beats": 1})
"""A field with data of one or two beats: a Request, with ``byte_enables`` or not, or a Read Response."""

LABEL = data.StructLayout(
    {
        "type": 8,
        "serial": 4,
        "for_swap": 1,
        "tagged": 1,
        "fields": data.ArrayLayout(FIELD, len(SECTORS)),
        "is_request": 1,
        "half": 1,
        "last_beat": 1,
        "has_byte_enables": 1,
        "is_byte_enables": 1,
        "unused": 64 - 8 - 4 - 2 - 4 * len(SECTORS) - 5 - 2,
        "kind": 2,
    }
)
"""What one quarter of a half-flit tells of it, the others being 0. A Control half-flit and its tags: their number; the
former also whether it was formed for a swap slot, and its fields. A Data half-flit: its field, half and beat."""


def label(half_flit):
    return data.View(LABEL, reduce(or_, (half_flit[low : low + 64] for low in range(0, 256, 64))))


class LockstepBench(wiring.Component):
    """HalfFlitSequence and DataGearbox, a wire, ReceiveSequence; every input is free in every cycle.

    The receiver takes ``authentication`` to be as it is, if that is ``agreed``. With ``messages`` beats may be bad and
    Message half-flits may come.
    """

    offered: In(1)
    is_message: In(1)
    tagged: In(1)
    fields: In(data.ArrayLayout(FIELD, len(SECTORS)))
    beat_there: In(1)
    beat_bad: In(1)
    ready: In(1)

    def __init__(self, *, authentication, messages, agreed=True):
        self.authentication, self.messages, self.agreed = authentication, messages, agreed
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.sequence = sequence = HalfFlitSequence()
        m.submodules.gearbox = gearbox = DataGearbox()
        m.submodules.receiver = receiver = ReceiveSequence()
        m.d.comb += [
            gearbox.load.eq(sequence.pack),
            gearbox.wanted.eq(sequence.wanted),
            gearbox.go.eq(sequence.go),
            sequence.available.eq(gearbox.available),
            receiver.authentication.eq(self.authentication == self.agreed),
            sequence.tx_flit.ready.eq(self.ready),
        ]
        m.d.comb += [sink.eq(source) for sink, source in zip(sequence.window, gearbox.window, strict=True)]
        if not self.messages:
            m.d.comb += Assume(~self.beat_bad & ~self.is_message)
        self._form(m, sequence, gearbox)
        self._beats(m, sequence, gearbox.orig_data, 1)
        self._beats(m, sequence, gearbox.rd_data, 0)
        self._compare(m, sequence.tx_flit, receiver)
        return m

    def _form(self, m, sequence, gearbox):
        """The free inputs make the half-flit that could be taken now; Request 0 may stand below a Response."""
        own, tags = Signal(LABEL), Signal(LABEL)
        serial = Signal(4)
        m.d.sync += serial.eq(serial + sequence.pack)
        lower, upper = self.fields
        mixed = lower.valid & upper.valid & (lower.is_request != upper.is_request)
        totals = [Const(0), Const(0)]
        for n, field in enumerate(self.fields):
            m.d.comb += Assume(field.is_request | ~field.byte_enables)
            half_flits = Signal(4, name=f"half_flits_{n}")
            with m.If(field.valid):
                m.d.comb += half_flits.eq(2 * (field.num_beats + 1) + field.byte_enables)
            # The field above another one of its kind is the second of them.
            second = n == 1 and lower.valid & ~mixed
            for jobs, goes, source in (
                (gearbox.requests, gearbox.requests_go, DataSource.ORIG_DATA),
                (gearbox.responses, gearbox.responses_go, DataSource.RD_RSP),
            ):
                of_kind = field.is_request == (source is DataSource.ORIG_DATA)
                for place in range(n + 1):
                    with m.If(field.valid & of_kind & ((second if place else ~second) if n else 1)):
                        job = jobs[place]
                        m.d.comb += [
                            goes[place].eq(1),
                            job.half_flits.eq(half_flits),
                            job.source.eq(source),
                            job.num_beats.eq(field.num_beats),
                            job.byte_enables.eq(field.byte_enables),
                        ]
            totals = [
                total + Mux(field.is_request == is_request, half_flits, 0) for is_request, total in enumerate(totals)
            ]
        m.d.comb += [
            gearbox.request_below.eq(mixed & lower.is_request),
            gearbox.requests_owe.eq(totals[1] != 0),
            gearbox.responses_owe.eq(totals[0] != 0),
            own.kind.eq(CONTROL),
            own.type.eq(Mux(self.is_message, MessageType.INITIAL_CREDIT_RELEASE_COMPLETE, 0)),
            own.serial.eq(serial),
            own.for_swap.eq(sequence.swap_next),
            own.tagged.eq(self.tagged),
            own.fields.eq(self.fields),
            tags.kind.eq(TAGS),
            tags.serial.eq(serial),
            sequence.offered.eq(self.offered),
            sequence.counts.request_half_flits.eq(totals[1]),
            sequence.counts.response_half_flits[0].eq(totals[0]),
            sequence.counts.some.eq(sum(totals) != 0),
            sequence.counts.two.eq(sum(totals) == 2),
            sequence.counts.message.eq(self.is_message),
            sequence.counts.tagged.eq(self.tagged if self.authentication else 0),
        ]
        # What is taken is there a cycle later, until it leaves.
        with m.If(sequence.pack):
            m.d.sync += [
                sequence.content.data.eq(own),
                sequence.content.message.eq(self.is_message),
                sequence.content.tags.eq(tags),
            ]
        with m.Elif(sequence.control):
            m.d.sync += sequence.content.eq(-1)
        with_data = Cat(field.valid for field in self.fields).any()
        m.d.comb += [
            Assume(~with_data | self.tagged),  # what brings data is a Request or a Response
            Assume((self.offered & ~self.is_message) | ~self.tagged),
            Assume(~sequence.swap_next | ~self.tagged if self.authentication else 1),
        ]

    def _beats(self, m, sequence, beats, is_request):
        """Beats in the order of their fields, each labelled with its field."""
        waits = Signal(len(SECTORS), name=f"waits_{is_request}")
        fields = Signal(data.ArrayLayout(FIELD, len(SECTORS)), name=f"fields_{is_request}")
        beat = Signal(2, name=f"beat_{is_request}")
        current = Signal(FIELD, name=f"current_{is_request}")
        for n in reversed(range(len(SECTORS))):
            with m.If(waits[n]):
                m.d.comb += current.eq(fields[n])
        last = beat == current.num_beats
        lower, upper, enables = (Signal(LABEL, name=f"{name}_{is_request}") for name in ("lower", "upper", "enables"))
        m.d.comb += [
            lower.kind.eq(DATA),
            lower.is_request.eq(is_request),
            lower.last_beat.eq(last),
            lower.has_byte_enables.eq(current.byte_enables),
            upper.eq(lower),
            upper.half.eq(1),
            enables.eq(lower),
            enables.is_byte_enables.eq(1),
            beats.valid.eq(self.beat_there),
            beats.p.data.eq(carried_data(Cat(lower, Const(0, 192), upper, Const(0, 192)), self.beat_bad)),
            beats.p.error.eq(self.beat_bad),
        ]
        if is_request:
            m.d.comb += beats.p.byte_en.eq(enables)
        popped, left = beats.valid & beats.ready, Signal.like(waits, name=f"left_{is_request}")
        m.d.comb += [left.eq(Mux(popped & last, waits & (waits - 1), waits)), Assert(~popped | waits.any())]
        with m.If(sequence.pack):
            m.d.comb += Assert(~left.any(), "jobs are loaded only when every beat of those before has gone")
            m.d.sync += [waits.eq(Cat(f.valid & (f.is_request == is_request) for f in self.fields)), beat.eq(0)]
            m.d.sync += fields.eq(self.fields)
        with m.Elif(popped):
            m.d.sync += [waits.eq(left), beat.eq(Mux(last, 0, beat + 1))]

    def _compare(self, m, tx_flit, receiver):
        """What the receiver makes of a flit, and what the flit says of itself."""
        halves = tx_flit.p.data[:256], tx_flit.p.data[256:]
        message = tx_flit.p.message
        lower, upper = Signal(LABEL), Signal(LABEL)
        m.d.comb += [
            lower.eq(label(halves[0])),
            upper.eq(label(halves[1])),
            receiver.valid.eq(tx_flit.valid & tx_flit.ready),
            receiver.message.eq(message),
            receiver.lower_type.eq(halves[0][:8]),
            receiver.upper_type.eq(halves[1][:8]),
            receiver.upper_is_zero.eq(halves[1] == 0),
            receiver.tagged.eq(lower.tagged),
        ]
        brings = Const(0)
        for sector, field in zip(SECTORS, lower.fields):
            owes = receiver.data_field[sector]
            m.d.comb += [
                receiver.data_fields[sector].eq(field.valid),
                owes.is_request.eq(field.is_request),
                owes.byte_enables.eq(field.byte_enables),
                owes.left.eq(2 * field.num_beats + 1 + field.byte_enables),
            ]
            brings = brings + Mux(receiver.control & field.valid, owes.left + 1, 0)

        owed, serial = Signal(8), Signal(4)
        with m.If(receiver.valid):
            m.d.sync += owed.eq(owed + brings - receiver.lower.valid - receiver.upper.valid)
            m.d.comb += [
                Assert(receiver.error == ReceiveError.NONE),
                Assert((lower.kind == CONTROL) == (owed <= 1)),
                Assert(receiver.control == ((lower.kind == CONTROL) & ~message[0])),
                Assert(receiver.tags == (upper.kind == TAGS)),
                Assert(~receiver.tags | (upper.serial == lower.serial)),
            ]
            with m.If(lower.kind == CONTROL):
                # Every Control half-flit comes once, in order, and in the kind of slot for which it was formed.
                m.d.sync += serial.eq(serial + 1)
                m.d.comb += [Assert(lower.serial == serial), Assert(lower.for_swap == (owed == 1))]
            self._compare_data(m, receiver.lower, lower, message[0])
            self._compare_data(m, receiver.upper, upper, message[1])

    def _compare_data(self, m, slot, told, message):
        poison = message & (told.type == MessageType.POISONED_DATA.value)
        m.d.comb += Assert(slot.valid == ((told.kind == DATA) | poison))
        with m.If(poison):
            m.d.comb += Assert(slot.poison & ~slot.byte_enables)
        with m.Elif(slot.valid):
            last = Mux(told.has_byte_enables, told.is_byte_enables, told.half & told.last_beat)
            m.d.comb += [
                Assert(slot.is_request == told.is_request),
                Assert(slot.byte_enables == told.is_byte_enables),
                Assert(told.is_byte_enables | (slot.half == told.half)),
                Assert(slot.last == last),
                Assert(~slot.poison),
            ]


@pytest.mark.soak
@pytest.mark.req(
    *("TL-015", "TL-038", "TL-039", "TL-040", "TL-042", "TL-043", "TL-044", "TL-045", "TL-048", "TL-049", "TL-050"),
    *("TL-059", "TL-060", "TL-061", "TL-062", "TL-063", "TL-064"),
)
@pytest.mark.parametrize(
    "authentication, messages",
    [(False, True), (True, False)] + [(False, False), (True, True)] * WHOLE,
)
def test_both_ends_call_every_half_flit_the_same(authentication, messages, tmp_path):
    assert not refuted(LockstepBench(authentication=authentication, messages=messages), tmp_path, CYCLES)


def test_ends_that_do_not_agree_about_authentication_are_refuted(tmp_path):
    assert refuted(LockstepBench(authentication=True, messages=False, agreed=False), tmp_path, 4)
