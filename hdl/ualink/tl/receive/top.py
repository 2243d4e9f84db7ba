"""Receive side of the transaction layer of one port."""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.dl.interface import TL_FLIT_LAYOUT, tl_flit_signature
from ualink.lib.parity import even_parity, parity_mismatch
from ualink.tl.internal import ReceiveStatusSignature
from ualink.upli.channels import beat_stream

from .control_decoder import DECODED_LAYOUT, ControlDecoder
from .data import ReceiveData
from .error import ReceiveError
from .errors import ReceiveErrors
from .requests import ReceiveRequests
from .responses import ReceiveResponses
from .sequence import ReceiveSequence

__all__ = ["Receive"]


class Receive(wiring.Component):
    """Turns received TL flits into UPLI beats (UALink_200 §5.5, Figure 5-3).

    A flit is parsed as a Control half-flit in the cycle in which it comes (0), classified and its data written in cycle
    1; its oldest field leaves the catch buffer in cycle 2 and is offered in cycle 3, a Request or Read Response with
    data not before cycle 2 of the flit with the last of its data. One flit per cycle is taken without back-pressure,
    and nothing overflows while the partner keeps to its credits and the source rate limits.

    The first fatal error stops the acceptance of flits, the faulty one included; what came before is still delivered.
    While ``online`` is low everything is dropped and the sequence restarts, but a transfer towards UPLI that has begun
    is finished, however long that takes. Until then, and after reset until the Rx Address Cache is cleared,
    ``buffers_free`` is low, so that the partner of the new session has no credits yet: FC fields and messages count, a
    Request or a Response is an overdrawn credit.

    A Request that came while ``online`` was high has loaded the Rx Address Cache before the next session begins, though
    the link went down in the cycle after it (UALink_200 §5.6.2: every load counts, none is forgotten).

    Attributes
    ----------
    rx_flit : flits from the DL.
    rx_req, rx_orig_data, rx_rd_rsp, rx_wr_rsp : beats towards the UPLI agents.
    online : DL channel 0 is online.
    discard : level, Drop Mode: flits keep the sequence and load the Rx Address Cache, because the partner believes they
        did; nothing else of them counts. It falls only while ``online`` is low.
    authentication : level, constant while ``online``: AuthTags half-flits are expected; low: all tags are 0.
        Ignored without ``config.authentication``.
    is_switch : as in ``TLControlSignature``.
    disable_rx_cache : level, constant while ``online``: do without the Rx Address Cache (UALink_200 §5.10).
    encryption : level, the link may carry encrypted traffic: a Compressed Request that seems to cross 256 bytes is
        counted, for its address may be ciphertext; low: it is an error.
    status : to the transmitter; its ``fc`` comes in cycle 2, and ``init_sent`` is not needed, because the credit checks
        start with all that will be announced. ``buffers_free`` rises in the cycle after ``online`` at the earliest.
    error_valid, error : level, the first fatal error since ``online`` rose.
    unknown_message : pulse, a message of unknown type was received (not fatal, ruling D21).
    half_poisoned : pulse, one half of a beat came poisoned without the other (not fatal; the beat is poisoned).
    last_error : the last fatal error, ``NONE`` if there was none. This log and its counters, which stay at 255, are
        reset by nothing but the reset of the domain.
    error_count, unknown_messages, half_poisoned_beats, block_crossings, isolates : how many there were; the last are
        Write Responses with the status ISOLATE, which are dropped.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "rx_flit": In(tl_flit_signature(always_ready=True)),
                "rx_req": Out(beat_stream("req")),
                "rx_orig_data": Out(beat_stream("orig_data")),
                "rx_rd_rsp": Out(beat_stream("rd_rsp")),
                "rx_wr_rsp": Out(beat_stream("wr_rsp")),
                "online": In(1),
                "discard": In(1),
                "authentication": In(1),
                "encryption": In(1),
                "is_switch": In(1),
                "disable_rx_cache": In(1),
                "status": Out(ReceiveStatusSignature()),
                "error_valid": Out(1),
                "error": Out(ReceiveError),
                "unknown_message": Out(1),
                "half_poisoned": Out(1),
                "last_error": Out(ReceiveError),
                "error_count": Out(8),
                "unknown_messages": Out(8),
                "half_poisoned_beats": Out(8),
                "block_crossings": Out(8),
                "isolates": Out(8),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = ControlDecoder(self.config)
        m.submodules.sequence = sequence = ResetInserter(~self.online)(ReceiveSequence())
        m.submodules.requests = requests = ReceiveRequests(self.config)
        m.submodules.responses = responses = ReceiveResponses(self.config)
        m.submodules.data = data = ReceiveData(self.config)
        m.submodules.errors = errors = ReceiveErrors()

        # What is stale goes as soon as no transfer needs it any more, one cycle after the last such transfer has ended.
        stale = Signal()
        flush = Signal()
        occupied = requests.busy | requests.caught | responses.busy
        m.d.comb += [
            flush.eq(~self.online | self.discard | stale),
            self.status.buffers_free.eq(~flush & requests.ready),
        ]
        m.d.sync += stale.eq(~self.online | (stale & occupied))
        # In this session the partner was given credits; of a flit that came just before ``online`` fell, in that one.
        announced = Signal()
        with m.If(~self.online):
            m.d.sync += announced.eq(0)
        with m.Elif(self.status.buffers_free):
            m.d.sync += announced.eq(1)
        m.d.comb += [part.flush.eq(flush) for part in (requests, responses, data, errors)]

        # Cycle 0: parse the lower half-flit in case it is a Control half-flit.
        present = Signal()
        flit = Signal(TL_FLIT_LAYOUT, reset_less=True)
        decoded = Signal(DECODED_LAYOUT, reset_less=True)
        upper_is_zero = Signal(reset_less=True)
        corrupt = Signal(reset_less=True)
        incoming = self.rx_flit.payload.data
        controls = (self.rx_flit.payload[name] for name in ("message", "error", "control_parity"))
        m.d.comb += [decoder.half_flit.eq(incoming[:256]), decoder.encryption.eq(self.encryption)]
        m.d.sync += [
            present.eq(self.rx_flit.valid & self.online),
            flit.eq(self.rx_flit.payload),
            decoded.eq(decoder.decoded),
            upper_is_zero.eq(~incoming[256:].any()),
            corrupt.eq(
                self.rx_flit.payload.error
                | parity_mismatch(incoming, self.rx_flit.payload.parity)
                | even_parity(*controls)
            ),
        ]

        # Cycle 1: classify both half-flits, check, load the catch buffers, write the data.
        # ``heard`` is a flit though the link has just gone down: it still loads the Rx Address Cache.
        heard, legal, considered, accept = Signal(), Signal(), Signal(), Signal()
        lower, upper = flit.data[:256], flit.data[256:]
        m.d.comb += [
            heard.eq(present & ~self.error_valid),
            considered.eq(heard & self.online),
            accept.eq(legal & self.online),
            sequence.valid.eq(heard),
            sequence.message.eq(flit.message),
            sequence.lower_type.eq(lower[:8]),
            sequence.upper_type.eq(upper[:8]),
            sequence.upper_is_zero.eq(upper_is_zero),
            sequence.data_fields.eq(decoded.data_fields),
            sequence.data_field.eq(decoded.data_field),
            sequence.tagged.eq(decoded.tagged),
            sequence.too_many_tagged.eq(decoded.too_many_tagged),
            sequence.authentication.eq(self.authentication if self.config.authentication else 0),
        ]
        for part, flit_comes, flit_counts in ((requests, heard, legal), (responses, considered, accept)):
            m.d.comb += [
                part.flit.eq(flit_comes),
                part.load.eq(flit_counts),
                part.half_flit.eq(lower),
                part.tags.eq(Mux(sequence.tags, upper, 0)),
                part.tag_slot.eq(decoded.tag_slot),
                part.halted.eq(errors.halted),
            ]
        m.d.comb += [
            requests.requests.eq(Mux(sequence.control, decoded.requests, 0)),
            responses.responses.eq(Mux(sequence.control, decoded.responses, 0)),
            data.slots[0].eq(sequence.lower),
            data.slots[1].eq(sequence.upper),
            data.half_flits.eq(flit.data),
            data.accept.eq(accept & ~flush),
            requests.is_switch.eq(self.is_switch),
            requests.disable_rx_cache.eq(self.disable_rx_cache),
        ]
        self._check(m, heard, legal, announced, corrupt, decoded, sequence, requests, responses, data, errors)
        m.d.comb += [
            errors.unknown_messages.eq(Mux(accept, sequence.unknown_message, 0)),
            errors.block_crossings.eq(Mux(accept & sequence.control, decoded.crossing, 0)),
        ]

        # Cycle 2 and on: one Request and one Response per cycle are checked and queued, and leave with their data.
        wiring.connect(m, data.byte_enables, requests.byte_enables)
        for part, kind in ((requests, "request"), (responses, "response")):
            wiring.connect(m, getattr(data, f"{kind}_beat"), part.beat)
            m.d.comb += [
                part.data_complete.eq(getattr(data, f"{kind}_done")),
                part.data_underflow.eq(getattr(data, f"{kind}_underflow")),
                getattr(data, f"{kind}_spent").eq(part.data_spent),
                getattr(data, f"{kind}_release").eq(part.release_data),
                getattr(data, f"{kind}_busy").eq(part.busy),
            ]
        for name, part in (
            ("rx_req", requests),
            ("rx_orig_data", requests),
            ("rx_rd_rsp", responses),
            ("rx_wr_rsp", responses),
        ):
            wiring.connect(m, getattr(part, name), wiring.flipped(getattr(self, name)))
        m.d.comb += [
            self.status.release.req_cmd.eq(requests.release_cmd),
            self.status.release.req_data.eq(requests.release_data),
            self.status.release.rd_rsp_cmd.eq(responses.release_read_cmd),
            self.status.release.wr_rsp_cmd.eq(responses.release_write_cmd),
            self.status.release.rsp_data.eq(responses.release_data),
        ]
        self._report(m, accept, sequence, decoded, lower, upper)
        return m

    def _check(self, m, heard, legal, announced, corrupt, decoded, sequence, requests, responses, data, errors):
        """The first of several errors in a cycle is the one that is told. An error found in cycle 2 holds what is
        behind it; one found in cycle 1 leaves what was accepted before to go on."""
        unannounced = ~(announced | self.status.buffers_free)
        early_checks = (
            (heard & corrupt, ReceiveError.FLIT_CORRUPT),
            (sequence.control & (decoded.error != ReceiveError.NONE), decoded.error),
            (sequence.error != ReceiveError.NONE, sequence.error),
            (unannounced & sequence.control & decoded.requests.any(), ReceiveError.REQ_CMD_CREDIT),
            (unannounced & sequence.control & decoded.responses.any(), ReceiveError.RSP_CMD_CREDIT),
            (requests.overrun, ReceiveError.REQUEST_RATE),
            (responses.overrun, ReceiveError.RESPONSE_RATE),
            (heard & data.request_refused, ReceiveError.REQ_DATA_CREDIT),
            (heard & data.response_refused, ReceiveError.RSP_DATA_CREDIT),
        )
        late_checks = (
            (requests.error != ReceiveError.NONE, requests.error),
            (responses.error != ReceiveError.NONE, responses.error),
        )
        for error, checks in ((errors.early, early_checks), (errors.late, late_checks)):
            for failed, code in reversed(checks):
                with m.If(failed):
                    m.d.comb += error.eq(code)
        m.d.comb += [
            legal.eq(heard & (errors.early == ReceiveError.NONE)),
            errors.online.eq(self.online),
            errors.half_poisoned.eq(Cat(data.request_half_poisoned, data.response_half_poisoned)),
            self.error_valid.eq(errors.error_valid),
            self.error.eq(errors.error),
            errors.isolate.eq(responses.isolate),
            self.unknown_message.eq(errors.unknown_messages.any()),
            self.half_poisoned.eq(errors.half_poisoned.any()),
            self.last_error.eq(errors.last_error),
            self.error_count.eq(errors.error_count),
            self.unknown_messages.eq(errors.unknown_message_count),
            self.half_poisoned_beats.eq(errors.half_poisoned_count),
            self.block_crossings.eq(errors.block_crossing_count),
            self.isolates.eq(errors.isolate_count),
        ]

    def _report(self, m, accept, sequence, decoded, lower, upper):
        """What the transmitter has to know: returned credits and the end of their initial release."""
        m.d.sync += [
            self.status.fc.eq(decoded.credits),
            self.status.fc.valid.eq(accept & sequence.control & decoded.credits.valid),
        ]
        with m.If(~self.online):
            m.d.sync += [self.status.peer_init_done.eq(0), self.status.peer_shared_data.eq(0)]
        with m.Elif(accept & sequence.initial_credits.any()):
            shared = Cat(lower[8], upper[8]) & sequence.initial_credits
            m.d.sync += [self.status.peer_init_done.eq(1), self.status.peer_shared_data.eq(shared.any())]
