"""Rebuilds UPLI Responses from Response fields."""

from amaranth.hdl import Const, Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.tl.format.fields import (
    COMPRESSED_RESPONSE,
    COMPRESSED_SINGLE_BEAT_READ_RESPONSE,
    UNCOMPRESSED_RESPONSE,
    FType,
)
from ualink.upli.channels import WR_RSP_LAYOUT
from ualink.upli.code import code_of

from .field_codes import FIELD_CODE_LAYOUT

__all__ = [
    "CATCH_RESPONSE_LAYOUT",
    "READ_RESPONSE_ENTRY_LAYOUT",
    "WRITE_RESPONSE_ENTRY_LAYOUT",
    "ResponseReconstruction",
]

CATCH_RESPONSE_LAYOUT = data.StructLayout({"field": 64, "auth_tag": 64, "code": FIELD_CODE_LAYOUT})
"""A Response field, as ``response_field`` gives it, with its authentication tag, which ``code.upper`` covers too."""

READ_RESPONSE_ENTRY_LAYOUT = data.StructLayout(
    {
        "src_phys_acc_id": 10,
        "dst_phys_acc_id": 10,
        "tag": 11,
        "num_beats": 2,
        "status": 4,
        "offset": 2,
        "last": 1,
        "vc": 2,
        "auth_tag": 64,
        "pool": 1,
        "code": 1,
    }
)
"""A Read Response in the receive queue; ``offset`` and ``last`` have meaning for ``num_beats`` 0. ``code`` is even
parity over all of it."""

WRITE_RESPONSE_ENTRY_LAYOUT = data.StructLayout({"beat": WR_RSP_LAYOUT, "pool": 1, "code": 1})
"""A Write Response behind the catch buffer. ``code`` is even parity over all of it."""


class ResponseReconstruction(wiring.Component):
    """Turns Response fields into Read and Write Responses; combinational (UALink_200 §5.9.2, §5.9.4, §5.9.5).

    LEN other than 0 makes a Read Response a burst, of which OFFSET and LAST are ignored; a Compressed Response to a
    Read with LEN 0 is one beat with offset 0 and last 1 (ruling D07). Compressed forms stand for status OKAY and source
    0.

    The code of a Response is made of that of its field, of what is not taken over and of what is added: an upset of the
    field before shows in it.

    Attributes
    ----------
    field : Response fields with their tags.
    read, write : the Responses; each field gives one of them.
    """

    def __init__(self):
        super().__init__(
            {
                "field": In(stream.Signature(CATCH_RESPONSE_LAYOUT, always_ready=True)),
                "read": Out(stream.Signature(READ_RESPONSE_ENTRY_LAYOUT, always_ready=True)),
                "write": Out(stream.Signature(WRITE_RESPONSE_ENTRY_LAYOUT, always_ready=True)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        field = self.field.p.field
        long = data.View(UNCOMPRESSED_RESPONSE, field)
        short = data.View(COMPRESSED_RESPONSE, field[32:])
        single = data.View(COMPRESSED_SINGLE_BEAT_READ_RESPONSE, field[32:])
        is_long = long.ftype == FType.UNCOMPRESSED_RESPONSE.value
        is_single = long.ftype == FType.COMPRESSED_SINGLE_BEAT_READ_RESPONSE.value
        is_read = Mux(is_long, long.rd_wr, is_single | short.rd_wr)
        m.d.comb += [
            self.read.valid.eq(self.field.valid & is_read),
            self.write.valid.eq(self.field.valid & ~is_read),
        ]

        # VCHAN and TAG have the same place below FTYPE in all three forms.
        for beat in (self.read.p, self.write.p.beat):
            m.d.comb += [beat.vc.eq(long.vchan), beat.tag.eq(long.tag), beat.auth_tag.eq(self.field.p.auth_tag)]
            with m.If(is_long):
                m.d.comb += [
                    beat.src_phys_acc_id.eq(long.src_acc_id),
                    beat.dst_phys_acc_id.eq(long.dst_acc_id),
                    beat.status.eq(long.status),
                ]
            with m.Else():
                m.d.comb += beat.dst_phys_acc_id.eq(short.dst_acc_id)
        m.d.comb += [self.read.p.pool.eq(long.pool), self.write.p.pool.eq(long.pool)]

        read = self.read.p
        with m.If(is_long):
            m.d.comb += [read.num_beats.eq(long.len), read.offset.eq(long.offset), read.last.eq(long.last)]
        with m.Elif(is_single):
            m.d.comb += [read.offset.eq(single.offset), read.last.eq(single.last)]
        with m.Else():
            m.d.comb += [read.num_beats.eq(short.len), read.last.eq(1)]
        self._encode(m, is_long, is_single, long, single, short)
        return m

    def _encode(self, m, is_long, is_single, long, single, short):
        code = self.field.p.code
        whole, upper = (code.lower, code.upper), (code.upper,)
        of_read = (
            code_of(*whole, long.spare, long.rd_wr, long.ftype),
            code_of(*upper, single.spare, single.ftype),
            code_of(*upper, short.spare, short.rd_wr, short.ftype, Const(1)),
        )
        of_write = (
            code_of(*whole, long.spare, long.last, long.rd_wr, long.offset, long.len, long.ftype),
            code_of(*upper, short.spare, short.rd_wr, short.len, short.ftype),
        )
        m.d.comb += [
            self.read.p.code.eq(Mux(is_long, of_read[0], Mux(is_single, *of_read[1:]))),
            self.write.p.code.eq(Mux(is_long, *of_write)),
        ]
