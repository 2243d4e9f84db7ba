"""The transmit half of the transaction layer of one port (UALink_200 §5.5, Figure 5-2)."""

from amaranth.hdl import Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.dl.interface import tl_flit_signature
from ualink.lib.banked_queue import banked_queue
from ualink.lib.headed_queue import headed_queue
from ualink.tl.control import NATURAL_LIMITS, TLControlSignature
from ualink.tl.credit.lean_credits import transmit_credits
from ualink.tl.credit.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT, SourceRateLimit
from ualink.tl.credit.release import CreditRelease
from ualink.tl.format.half_flits import (
    ORIG_DATA_BEAT_LAYOUT,
    READ_DATA_BEAT_LAYOUT,
    REQUEST_FIELD_LAYOUT,
    RESPONSE_FIELD_LAYOUT,
    carried_code,
    carried_data,
)
from ualink.tl.internal import ReceiveStatusSignature
from ualink.tl.pack.data_gearbox import DataGearbox
from ualink.tl.pack.fields_in_sight import FieldsInSight
from ualink.tl.pack.half_flit_sequence import HalfFlitSequence
from ualink.tl.pack.packer import REQUESTS_IN_SIGHT, RESPONSE_ALTERNATIVES, RESPONSES_IN_SIGHT, Packer
from ualink.tl.session.residue import ResidueDrain
from ualink.upli.channels import beat_stream
from ualink.upli.code import code_of

from .beat_codes import code_of_beat
from .request_compression import RequestCompression
from .request_intake import RequestIntake
from .response_intake import ResponseIntake

__all__ = ["Transmit"]

ORIG_DATA_BEATS = 4
READ_DATA_BEATS = 4 * RESPONSES_IN_SIGHT

# Requests that have left their stream and whose data may not have: the two being compressed, those in sight and those
# of one Control half-flit.
REQUESTS_UNDER_WAY = 2 + REQUESTS_IN_SIGHT + 4


class Transmit(wiring.Component):
    """Turns UPLI beats into TL flits: intake with credits, compression, packing, half-flit sequence. One flit a cycle.

    On an idle link a flit is offered 5 cycles after a Response was accepted and 6 after a Request, with data or
    without; a Request takes two cycles less without Address Cache.

    Behind its last field it sends flits without any until a catch buffer that moves with flits only would be empty
    (UALink_200 §5.7 with Figure 5-6): one behind a lone field, eight at most. They leave only in cycles that have
    nothing else to send.

    Nothing but FC fields and Message half-flits leaves before both initial credit releases are complete (ruling D16).
    While ``online`` is low everything is in its reset state, no beat is accepted and no flit offered, except that the
    beats still to come of transfers already begun are taken and dropped (ruling D18).

    All that is made of a beat keeps a code. Where a bit has changed by itself ``tx_flit`` has a wrong parity, over data
    or control (UALink_200 §6.7.3).

    Parameters
    ----------
    coded : beats come with their code, and a flit has a wrong parity, too, if that was wrong. Else their code begins
        here.

    Attributes
    ----------
    online : channel 0 of the link is online. restart : it is not, the transmitter is in reset.
    tx_req, tx_orig_data, tx_rd_rsp, tx_wr_rsp : beats to send; the beats of a Request's data may come any time after
    it.
    tx_flit : flits to the DL.
    control : what firmware decides, of which the transmitter heeds what concerns it.
    authentication : AuthTags half-flits are sent; constant while the link is online.
    status : what the receiver tells of itself and of the partner.
    credits_ready : both initial credit releases are complete.
    protocol_error : sticky until the link goes down, the partner returned more credits than it had given.
    cache_error : sticky until the link goes down, the Tx Address Cache held a word of wrong parity.
    """

    def __init__(self, config: TLConfig, *, coded: bool = False):
        self.config, self.coded = config, coded
        super().__init__(
            {
                "online": In(1),
                "restart": In(1, init=1),
                "tx_req": In(beat_stream("req", coded=coded)),
                "tx_orig_data": In(beat_stream("orig_data", coded=coded)),
                "tx_rd_rsp": In(beat_stream("rd_rsp", coded=coded)),
                "tx_wr_rsp": In(beat_stream("wr_rsp", coded=coded)),
                "tx_flit": Out(tl_flit_signature()),
                "control": In(TLControlSignature()),
                "authentication": In(1),
                "status": In(ReceiveStatusSignature()),
                "credits_ready": Out(1),
                "protocol_error": Out(1),
                "cache_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        in_link = ResetInserter(self.restart)

        request_intake = RequestIntake(config, coded=self.coded)
        compression = RequestCompression(config)
        response_intake = ResponseIntake(coded=self.coded)
        requests = FieldsInSight(REQUEST_FIELD_LAYOUT, config.requests_in_sight)
        responses = FieldsInSight(
            RESPONSE_FIELD_LAYOUT, config.responses_in_sight, responses=True, alternatives=RESPONSE_ALTERNATIVES
        )
        # What leaves them is known late.
        orig_data = headed_queue(ORIG_DATA_BEAT_LAYOUT, ORIG_DATA_BEATS, lean=config.lean, unhurried=config.unhurried)
        rd_data = banked_queue(READ_DATA_BEAT_LAYOUT, READ_DATA_BEATS, lean=config.lean, unhurried=config.unhurried)
        credits = transmit_credits(config)
        release = CreditRelease(config)
        request_limit = SourceRateLimit(REQUEST_LIMIT)
        response_limit = SourceRateLimit(RESPONSE_LIMIT)
        packer = Packer(config)
        gearbox = DataGearbox()
        sequence = HalfFlitSequence()
        orig_residue = ResidueDrain(self.tx_orig_data.p.shape(), most=4 * REQUESTS_UNDER_WAY, first_beats=False)
        rd_residue = ResidueDrain(self.tx_rd_rsp.p.shape(), most=3, first_beats=True)

        m.submodules.request_intake = in_link(request_intake)
        # The partner may have lost any load: after a link down nothing is known of its Rx Address Cache (TL-221). What
        # clears the own one goes on while the link is down.
        was_online = Signal()
        m.d.sync += was_online.eq(self.online)
        m.submodules.compression = ResetInserter(was_online & self.restart)(compression)
        m.submodules.response_intake = in_link(response_intake)
        m.submodules.requests = in_link(requests)
        m.submodules.responses = in_link(responses)
        m.submodules.orig_data = in_link(orig_data)
        m.submodules.rd_data = in_link(rd_data)
        m.submodules.credits = in_link(credits)
        m.submodules.release = in_link(release)
        m.submodules.request_limit = in_link(request_limit)
        m.submodules.response_limit = in_link(response_limit)
        m.submodules.packer = in_link(packer)
        m.submodules.gearbox = in_link(gearbox)
        m.submodules.sequence = in_link(sequence)
        m.submodules.orig_residue = orig_residue
        m.submodules.rd_residue = rd_residue

        # Beats into the queues.
        orig = orig_residue.o.p
        code, upset = code_of_beat("orig_data", orig, coded=self.coded)
        wiring.connect(m, request_intake.claim, credits.request)
        wiring.connect(m, response_intake.read, credits.read)
        wiring.connect(m, response_intake.write, credits.write)
        wiring.connect(m, compression.o, requests.i)
        wiring.connect(m, response_intake.o, responses.i)
        wiring.connect(m, wiring.flipped(self.tx_req), request_intake.req)
        wiring.connect(m, wiring.flipped(self.tx_orig_data), orig_residue.i)
        wiring.connect(m, wiring.flipped(self.tx_rd_rsp), rd_residue.i)
        wiring.connect(m, rd_residue.o, response_intake.rd_rsp)
        wiring.connect(m, wiring.flipped(self.tx_wr_rsp), response_intake.wr_rsp)
        m.d.comb += [
            request_intake.enable.eq(self.online & ~orig_residue.draining),
            request_intake.room.eq(compression.i.ready),
            compression.i.valid.eq(request_intake.push),
            compression.i.p.eq(request_intake.field),
            compression.spoilt.eq(request_intake.spoilt),
            compression.is_switch.eq(self.control.is_switch),
            compression.disable.eq(self.control.disable_tx_cache),
            compression.clear.eq(self.control.clear_tx_cache),
            compression.invalidate_entry.eq(self.control.invalidate_tx_entry),
            compression.invalidate_row.eq(self.control.invalidate_row),
            compression.invalidate_way.eq(self.control.invalidate_way),
            self.cache_error.eq(compression.error),
            orig_residue.online.eq(self.online),
            orig_residue.start.eq(request_intake.push),
            orig_residue.beats.eq(request_intake.claim.beats),
            orig_residue.o.ready.eq(orig_data.input.ready),
            orig_data.input.valid.eq(orig_residue.o.valid),
            orig_data.input.p.data.eq(carried_data(orig.data, orig.error)),
            orig_data.input.p.byte_en.eq(orig.byte_en),
            orig_data.input.p.error.eq(orig.error),
            orig_data.input.p.code.data.eq(carried_code(code.data, orig.error, upset)),
            orig_data.input.p.code.byte_en.eq(code_of(code.byte_en)),
            response_intake.enable.eq(self.online),
            response_intake.compress.eq(~self.control.disable_response_compression & ~self.control.encryption),
            response_intake.data_room.eq(rd_data.input.ready),
            rd_data.input.valid.eq(response_intake.data_push),
            rd_data.input.p.eq(response_intake.rd_data),
            rd_residue.online.eq(self.online),
            rd_residue.start.eq(response_intake.rd_start),
            rd_residue.beats.eq(response_intake.rd_rsp.p.num_beats),
        ]

        # Credits in both directions.
        m.d.comb += [
            credits.update.eq(self.status.fc),
            credits.peer_init_done.eq(self.status.peer_init_done),
            credits.peer_shared_data.eq(self.status.peer_shared_data),
            credits.enable.eq(release.init_sent),
            release.enable.eq(self.status.buffers_free),
            release.release.eq(self.status.release),
            self.status.init_sent.eq(release.init_sent),
            self.credits_ready.eq(release.init_sent & self.status.peer_init_done),
            self.protocol_error.eq(credits.protocol_error),
        ]

        # Control half-flits.
        authentication = Const(0)
        if config.authentication:
            authentication = Signal()
            m.d.sync += authentication.eq(self.authentication)
        m.d.comb += [
            packer.authentication.eq(authentication),
            packer.shared_data.eq(config.shared_data_buffer),
            packer.swap.eq(sequence.swap_next),
            packer.pack.eq(sequence.pack),
            sequence.offered.eq(packer.offered),
            sequence.counts.eq(packer.counts),
            sequence.content.eq(packer.content),
            sequence.outstanding.eq(request_limit.outstanding | response_limit.outstanding),
            packer.request_eligible.eq(requests.eligible),
            packer.request_rows.eq(requests.rows),
            packer.request_tagged.eq(requests.tagged),
            requests.authentication.eq(self.authentication if config.authentication else 0),
            requests.chosen.eq(packer.request_chosen),
            requests.allowance.eq(request_limit.allowance),
            requests.grows.eq(sequence.between_next),
            packer.response_eligible.eq(responses.eligible),
            packer.response_stacks.eq(responses.stacks),
            packer.response_fits.eq(responses.fits),
            packer.response_tagged.eq(responses.tagged),
            responses.authentication.eq(self.authentication if config.authentication else 0),
            responses.chosen.eq(packer.response_chosen),
            responses.allowance.eq(response_limit.allowance),
            responses.grows.eq(sequence.between_next),
            packer.fc_valid.eq(release.valid),
            packer.fc_urgent.eq(release.urgent),
            release.take.eq(packer.fc_take),
            packer.complete.eq(release.complete),
            release.complete_taken.eq(packer.complete_taken),
            gearbox.load.eq(sequence.pack),
            gearbox.requests_go.eq(packer.requests_go),
            gearbox.responses_go.eq(packer.responses_go),
            gearbox.requests_owe.eq(packer.requests_owe),
            gearbox.responses_owe.eq(packer.responses_owe),
            gearbox.request_below.eq(packer.request_below),
        ]
        for limit, issued in ((request_limit, packer.requests_go), (response_limit, packer.responses_go)):
            m.d.comb += [
                limit.taken.eq(sequence.pack),
                limit.issued.eq(issued),
                limit.between.eq(sequence.between),
                limit.flit.eq(sequence.flit_between),
            ]
        for name, sink in (
            ("compressed_requests", requests.limits.compressed),
            ("uncompressed_requests", requests.limits.uncompressed),
            ("compressed_responses", responses.limits.compressed),
            ("uncompressed_responses", responses.limits.uncompressed),
            ("flow_control", packer.flow_control_limit),
        ):
            limit = self.control.limits[name]
            m.d.comb += sink.eq(Mux(limit == 0, NATURAL_LIMITS[name], limit))
        for fields, forms, contents, jobs in (
            (requests, packer.requests, packer.request_contents, gearbox.requests),
            (responses, packer.responses, packer.response_contents, gearbox.responses),
        ):
            # With fewer in sight than the packer has places for, the last of these stay 0 and fall away.
            m.d.comb += [sink.eq(source) for sink, source in zip(forms, fields.forms)]
            m.d.comb += [sink.eq(source) for sink, source in zip(contents, fields.contents)]
            m.d.comb += [sink.eq(source.job) for sink, source in zip(jobs, fields.forms)]
        for fields, takes in ((requests, packer.request_takes), (responses, packer.response_takes)):
            m.d.comb += [sink.eq(source) for sink, source in zip(fields.takes, takes, strict=True)]
        m.d.comb += [sink.eq(source) for sink, source in zip(packer.fc, release.fields, strict=True)]

        # Data half-flits and flits.
        wiring.connect(m, orig_data.output, gearbox.orig_data)
        wiring.connect(m, rd_data.output, gearbox.rd_data)
        m.d.comb += [sink.eq(source) for sink, source in zip(sequence.window, gearbox.window, strict=True)]
        m.d.comb += [
            sequence.available.eq(gearbox.available),
            gearbox.wanted.eq(sequence.wanted),
            gearbox.go.eq(sequence.go),
            self.tx_flit.p.eq(sequence.tx_flit.p),
            self.tx_flit.valid.eq(sequence.tx_flit.valid & self.online),
            sequence.tx_flit.ready.eq(self.tx_flit.ready),
        ]
        return m
