"""Read and Write Responses on their way to the link: credits are claimed, fields are formed, read data split off."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.tl.credit.credits import CreditClaimSignature
from ualink.tl.format.fields import (
    COMPRESSED_RESPONSE,
    COMPRESSED_SINGLE_BEAT_READ_RESPONSE,
    UNCOMPRESSED_RESPONSE,
    FType,
    response_half_flits,
)
from ualink.tl.format.half_flits import (
    READ_DATA_BEAT_LAYOUT,
    RESPONSE_FIELD_LAYOUT,
    SPOILT,
    DataSource,
    carried_code,
    carried_data,
)
from ualink.upli.channels import beat_stream
from ualink.upli.code import code_of

from .beat_codes import code_of_beat, spoilt_parts

__all__ = ["ResponseIntake"]


class ResponseIntake(wiring.Component):
    """Turns Responses that get their credits into Response fields, one per cycle. Latency 1 cycle: a field is offered
    out of a register, with the choice between the two kinds in front of it.

    A Response of status OKAY becomes a Compressed Response, if these are to be used: one beat alone the form for
    Single-Beat Reads, a burst or a Write Response the other one (UALink_200 §5.9.4, §5.9.5, ruling D07).

    Read Responses stay in order among themselves, and so do Write Responses; a kind without credits does not hold up
    the other. When both can go the Read Response goes first, but never twice in a row over a waiting Write Response.
    The first beat of a Read Response gives the field, every beat gives its data.

    Parameters
    ----------
    coded : beats come with their code. That of a field is wrong if control of the beat is, and so is that of the data.

    Attributes
    ----------
    enable : the first beats of Responses may be accepted.
    compress : use the Compressed Responses.
    rd_rsp, wr_rsp : beats in.
    read, write : the credits of the Read Response and of the Write Response in sight; ``valid`` of the one that may go.
    o : Response fields.
    data_room, data_push, rd_data : ``rd_data`` goes out in a cycle with ``data_push``, that of the beat; only with
        ``data_room``. Latency 0: the data are there before their field.
    rd_start : the first beat of a Read Response is accepted in this cycle.
    """

    def __init__(self, *, coded: bool = False):
        self.coded = coded
        super().__init__(
            {
                "enable": In(1),
                "compress": In(1),
                "rd_rsp": In(beat_stream("rd_rsp", coded=coded)),
                "wr_rsp": In(beat_stream("wr_rsp", coded=coded)),
                "read": Out(CreditClaimSignature()),
                "write": Out(CreditClaimSignature()),
                "o": Out(stream.Signature(RESPONSE_FIELD_LAYOUT)),
                "data_room": In(1),
                "data_push": Out(1),
                "rd_data": Out(READ_DATA_BEAT_LAYOUT),
                "rd_start": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rd, wr = self.rd_rsp.p, self.wr_rsp.p
        stored = Signal(RESPONSE_FIELD_LAYOUT, reset_less=True)
        code, _ = code_of_beat("rd_rsp", rd, coded=self.coded)
        of_rd, of_wr = (spoilt_parts(name, beat, coded=self.coded) for name, beat in (("rd_rsp", rd), ("wr_rsp", wr)))
        rest = Signal(2)  # beats to come of the Read Response whose field has gone
        rd_first, rd_waits, wr_waits = Signal(), Signal(), Signal()
        pick_rd, wr_turn = Signal(), Signal()
        room = Signal()
        m.d.comb += [
            room.eq(~self.o.valid | self.o.ready),
            rd_first.eq(rest == 0),
            rd_waits.eq(self.rd_rsp.valid & rd_first & self.data_room & room & self.enable),
            wr_waits.eq(self.wr_rsp.valid & room & self.enable),
            pick_rd.eq(rd_waits & ~(wr_waits & wr_turn)),
            self.read.valid.eq(pick_rd),
            self.read.vc.eq(rd.vc),
            self.read.beats.eq(rd.num_beats + 1),
            self.read.take.eq(pick_rd & self.read.granted),
            self.write.valid.eq(wr_waits & ~pick_rd),
            self.write.vc.eq(wr.vc),
            self.write.take.eq(self.write.valid & self.write.granted),
            self.wr_rsp.ready.eq(self.write.take),
            self.rd_rsp.ready.eq(Mux(rd_first, self.read.take, self.data_room)),
            self.data_push.eq(self.rd_rsp.valid & self.rd_rsp.ready),
            self.rd_start.eq(self.read.take),
            self.rd_data.data.eq(carried_data(rd.data, rd.data_error)),
            self.rd_data.error.eq(rd.data_error),
            self.rd_data.code.data.eq(carried_code(code.data, rd.data_error, Const(0))),
            self.rd_data.spoilt.eq(Cat(code_of(of_rd[n::2]) for n in range(2))),
        ]
        # Whoever of the two was in sight, with credits or without, comes after the other next time.
        with m.If(rd_waits & wr_waits):
            m.d.sync += wr_turn.eq(pick_rd)
        with m.Elif(wr_waits):
            m.d.sync += wr_turn.eq(0)
        with m.If(self.data_push):
            m.d.sync += rest.eq(Mux(rd_first, rd.num_beats, rest - 1))
        # Which of the two fields it would be, before it is known whether any of them can go.
        shows_rd = Signal()
        m.d.comb += shows_rd.eq(self.rd_rsp.valid & rd_first & self.data_room & ~(self.wr_rsp.valid & wr_turn))
        # Both are formed whole; the register takes what it would be as long as there is room. That it is one is known
        # late.
        of_read, of_write = Signal(RESPONSE_FIELD_LAYOUT), Signal(RESPONSE_FIELD_LAYOUT)
        self._form_field(m, of_read, rd, self.read.pool)
        self._form_field(m, of_write, wr, self.write.pool)
        # That control was wrong is known later than the field: its code is spoilt a cycle later.
        spoilt = Signal(SPOILT, reset_less=True)
        with m.If(room):
            m.d.sync += [self.o.valid.eq(self.read.take | self.write.take), stored.eq(Mux(shows_rd, of_read, of_write))]
            m.d.sync += spoilt.eq(Mux(shows_rd, of_rd, of_wr))
        m.d.comb += [self.o.p.eq(stored), self.o.p.code.low.eq(code_of(stored.code.low, spoilt))]
        return m

    def _form_field(self, m, formed, response, pool):
        """``formed`` is the field of ``response``, a beat of RdRsp, or of WrRsp, which has no ``num_beats``."""
        reads = "num_beats" in response.shape().members
        field = Signal(UNCOMPRESSED_RESPONSE)
        compressed, bits = Signal(), Signal(64)
        m.d.comb += [
            field.ftype.eq(FType.UNCOMPRESSED_RESPONSE),
            field.pool.eq(pool),
            field.rd_wr.eq(reads),
            field.vchan.eq(response.vc),
            field.tag.eq(response.tag),
            field.status.eq(response.status),
            field.src_acc_id.eq(response.src_phys_acc_id),
            field.dst_acc_id.eq(response.dst_phys_acc_id),
            compressed.eq(self.compress & (response.status == 0)),
        ]
        short, single = Signal(COMPRESSED_RESPONSE), Signal(COMPRESSED_SINGLE_BEAT_READ_RESPONSE)
        for form, ftype in (
            (short, FType.COMPRESSED_RESPONSE),
            (single, FType.COMPRESSED_SINGLE_BEAT_READ_RESPONSE),
        ):
            m.d.comb += form.ftype.eq(ftype)
            m.d.comb += [form[name].eq(field[name]) for name in ("vchan", "tag", "pool", "dst_acc_id")]
        m.d.comb += [short.len.eq(field.len), short.rd_wr.eq(field.rd_wr)]
        m.d.comb += [single.offset.eq(field.offset), single.last.eq(field.last)]
        if reads:
            # A burst has OFFSET 0 and LAST 1, whatever its first beat says (ruling D07).
            burst = response.num_beats != 0
            m.d.comb += [
                field.len.eq(response.num_beats),
                field.offset.eq(Mux(burst, 0, response.offset)),
                field.last.eq(burst | response.last),
                bits.eq(Mux(compressed, Mux(burst, short, single), field)),
                formed.job.half_flits.eq(response_half_flits(1, response.num_beats)),
                formed.job.num_beats.eq(response.num_beats),
            ]
        else:
            m.d.comb += bits.eq(Mux(compressed, short, field))
        m.d.comb += [
            formed.field.eq(bits),
            formed.compressed.eq(compressed),
            formed.auth_tag.eq(response.auth_tag),
            formed.code.low.eq(code_of(bits[:32], compressed)),
            formed.code.high.eq(code_of(bits[32:])),
            formed.code.auth_tag.eq(code_of(response.auth_tag)),
            formed.job.source.eq(DataSource.RD_RSP),
        ]
