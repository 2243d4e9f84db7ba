"""Requests on their way to the link: credits are claimed, fields are formed."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.tl.credit.credits import CreditClaimSignature
from ualink.tl.format.fields import (
    UNCOMPRESSED_REQUEST,
    FType,
    first_byte_enable_slot,
    has_byte_enables,
    request_half_flits,
)
from ualink.tl.format.half_flits import REQUEST_FIELD_LAYOUT, SPOILT, DataSource
from ualink.upli.channels import beat_stream
from ualink.upli.code import code_of
from ualink.upli.commands import ReqCmd

from .beat_codes import spoilt_parts

__all__ = ["RequestIntake"]


class RequestIntake(wiring.Component):
    """Turns Request beats that get their credits into Uncompressed Requests, in order. Latency 0.

    A Request without credits stays where it is; its data are claimed with it.

    Parameters
    ----------
    coded : beats come with their code. That of a field is wrong if the beat's is.

    Attributes
    ----------
    enable : Requests may be accepted.
    req : beats in.
    claim : the credits of the Request in sight.
    room, push, field : ``field`` goes out in a cycle with ``push``; only with ``room``.
    spoilt : with ``field``: if an odd number of bits are set, control of the beat was wrong, and so its code must be.
    """

    def __init__(self, config: TLConfig, *, coded: bool = False):
        self.config, self.coded = config, coded
        super().__init__(
            {
                "enable": In(1),
                "req": In(beat_stream("req", coded=coded)),
                "claim": Out(CreditClaimSignature()),
                "room": In(1),
                "push": Out(1),
                "field": Out(REQUEST_FIELD_LAYOUT),
                "spoilt": Out(SPOILT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        req = self.req.p
        uwm = self.config.uwm_has_byte_enables
        field = Signal(UNCOMPRESSED_REQUEST)
        job = self.field.job
        m.d.comb += [
            self.claim.valid.eq(self.req.valid & self.enable & self.room),
            self.claim.vc.eq(req.vc),
            self.claim.beats.eq(Mux(req.cmd[5], req.num_beats + 1, 0)),
            self.claim.take.eq(self.claim.valid & self.claim.granted),
            self.req.ready.eq(self.claim.take),
            self.push.eq(self.claim.take),
        ]
        m.d.comb += [
            field.ftype.eq(FType.UNCOMPRESSED_REQUEST),
            field.cmd.eq(req.cmd),
            field.vchan.eq(req.vc),
            field.asi.eq(req.asi),
            field.tag.eq(req.tag),
            field.pool.eq(self.claim.pool),
            field.attr.eq(req.attr),
            field.len.eq(req.len),
            field.meta_data.eq(req.meta_data),
            field.addr.eq(req.addr[2:]),
            field.src_acc_id.eq(req.src_phys_acc_id),
            field.dst_acc_id.eq(req.dst_phys_acc_id),
            # A plain Read has no beats of its own (ruling D05); read-class vendor commands carry what they were given.
            field.num_beats.eq(Mux(req.cmd == ReqCmd.READ.value, 0, req.num_beats)),
            self.field.field.eq(field),
            self.field.auth_tag.eq(req.auth_tag),
        ]
        m.d.comb += self.spoilt.eq(spoilt_parts("req", req, coded=self.coded))
        bits, pool = Value.cast(field), UNCOMPRESSED_REQUEST["pool"].offset
        m.d.comb += [
            self.field.code.low.eq(code_of(bits[:64])),
            # Which credits it takes is known later than the rest.
            self.field.code.high.eq(code_of(code_of(bits[64:pool], bits[pool + 1 :]), field.pool)),
            self.field.code.auth_tag.eq(code_of(req.auth_tag)),
        ]
        m.d.comb += [
            job.half_flits.eq(request_half_flits(req.cmd, req.num_beats, uwm_has_byte_enables=uwm)),
            job.source.eq(DataSource.ORIG_DATA),
            job.num_beats.eq(req.num_beats),
            job.byte_enables.eq(has_byte_enables(req.cmd, uwm_has_byte_enables=uwm)),
            job.slot.eq(first_byte_enable_slot(req.cmd, req.addr[6:8], reading=self.config.byte_enable_slots)),
        ]
        return m
