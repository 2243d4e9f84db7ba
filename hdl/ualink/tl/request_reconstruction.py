"""Rebuilds the UPLI Request from a Request field."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import REQ_LAYOUT
from ualink.upli.commands import ReqCmd

from .fields import UNCOMPRESSED_REQUEST, FType

__all__ = ["REQUEST_ENTRY_LAYOUT", "RequestReconstruction"]

REQUEST_ENTRY_LAYOUT = data.StructLayout({"beat": REQ_LAYOUT, "pool": 1})
"""A Request in the receive queue; ``pool`` is POOL of its field, VCHAN is ``beat.vc``."""


class RequestReconstruction(wiring.Component):
    """Turns Request fields, in order, into Requests; combinational (UALink_200 §5.9.1).

    There is no Rx Address Cache here: CLOAD is ignored and every Compressed Request reads an entry that was never
    loaded. Plain Reads get num_beats 0, whatever NUMBEATS says; other commands keep it (ruling D05). AuthTags are 0, as
    they are when authentication is off.

    Attributes
    ----------
    field : Request fields as ``request_field`` gives them.
    request : the Requests.
    missing : the offered field is a Compressed Request whose address is not known; it gives no Request.
    """

    def __init__(self):
        super().__init__(
            {
                "field": In(stream.Signature(128, always_ready=True)),
                "request": Out(stream.Signature(REQUEST_ENTRY_LAYOUT, always_ready=True)),
                "missing": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        field = data.View(UNCOMPRESSED_REQUEST, self.field.payload)
        beat = self.request.payload.beat
        compressed = field.ftype == FType.COMPRESSED_REQUEST.value
        m.d.comb += [
            self.missing.eq(self.field.valid & compressed),
            self.request.valid.eq(self.field.valid & ~compressed),
            self.request.payload.pool.eq(field.pool),
            beat.asi.eq(field.asi),
            beat.src_phys_acc_id.eq(field.src_acc_id),
            beat.dst_phys_acc_id.eq(field.dst_acc_id),
            beat.tag.eq(field.tag),
            beat.addr[2:].eq(field.addr),
            beat.cmd.eq(field.cmd),
            beat.len.eq(field.len),
            beat.attr.eq(field.attr),
            beat.meta_data.eq(field.meta_data),
            beat.vc.eq(field.vchan),
        ]
        with m.If(field.cmd != ReqCmd.READ.value):
            m.d.comb += beat.num_beats.eq(field.num_beats)
        return m
