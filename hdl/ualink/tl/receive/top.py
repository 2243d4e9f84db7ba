"""Receive side of the transaction layer of one port."""

from amaranth.hdl import Cat, Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.dl.interface import tl_flit_signature
from ualink.lib.delay_line import DelayLine
from ualink.lib.parity import even_parity, parity_mismatch
from ualink.tl.credit.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT
from ualink.tl.internal import ReceiveStatusSignature
from ualink.tl.session.receive_session import ReceiveSession
from ualink.upli.channels import beat_stream
from ualink.upli.code import code_of, wrong

from .catch_buffer import places_of
from .control_decoder import SECTORS, ControlDecoder
from .data import ReceiveData
from .error import ReceiveError
from .errors import ReceiveErrors
from .field_codes import FLIT_SECTORS, sector_codes, tag_slot_codes, word_codes
from .rate_check import RateCheck
from .requests import ReceiveRequests
from .responses import ReceiveResponses
from .sequence import ReceiveSequence
from .stages import CLASSIFIED_LAYOUT, PARSED_LAYOUT

__all__ = ["Receive"]

SHARED_DATA_BITS = (8, 256 + 8)
"""Of each half-flit the one which says, in a message that initial credits are released, that a buffer is shared."""


class Receive(wiring.Component):
    """Turns received TL flits into UPLI beats (UALink_200 §5.5, Figure 5-3).

    | Cycle | A flit that comes in cycle 0 |
    |---|---|
    | 0 | parsed in case it has a Control half-flit |
    | 1 | its parity checked, both half-flits classified; the sequence goes on |
    | 2 | checked: legal, credits given, rate limits, room for data; an error stops the next flit |
    | 3 | fields into the catch buffers, data into their memories; ``status.fc`` |
    | 4 | the oldest Request and the oldest Response rebuilt |
    | 5 | its credits checked, into its queue |
    | 6 | offered, with data not before cycle 4 of the flit with the last of them |

    One flit per cycle is taken without back-pressure, and nothing overflows while the partner keeps to its credits and
    the source rate limits.

    The first fatal error stops the acceptance of flits, the faulty one included; what came before is still delivered.
    From the cycle after ``online`` fell everything is dropped and the sequence restarts, but a transfer towards UPLI
    that has begun is finished, however long that takes. Until then, for four cycles after ``online`` rose, and after
    reset until the Rx Address Cache is cleared, ``buffers_free`` is low, so that the partner of the new session has no
    credits yet: FC fields and messages count, a Request or a Response is an overdrawn credit.

    A Request that came while ``online`` was high has loaded the Rx Address Cache before the next session begins, though
    the link went down in the cycle after it (UALink_200 §5.6.2: every load counts, none is forgotten).

    The parity of a flit is given up for a code, with which everything of the flit is kept from there on, and in the end
    for the code of the beats (UALink_200 §3.1.1, Figure 3-1). Nobody looks at it on the way: what has been upset leaves
    with a wrong code, control or data. Out of this are the states of machines, among them which half-flit and which
    sector is what.

    Parameters
    ----------
    config : what the TL is built for.
    coded : the beats have their code with them.

    Attributes
    ----------
    rx_flit : flits from the DL.
    rx_req, rx_orig_data, rx_rd_rsp, rx_wr_rsp : beats towards the UPLI agents.
    online : DL channel 0 is online.
    discard : level, Drop Mode: flits keep the sequence and load the Rx Address Cache, because the partner believes they
        did; nothing else of them counts. It falls while ``online`` is low or in the cycle after it rose.
    authentication : level, constant while ``online``: AuthTags half-flits are expected; low: all tags are 0.
        Ignored without ``config.authentication``.
    is_switch : as in ``TLControlSignature``.
    disable_rx_cache : level, constant while ``online``: do without the Rx Address Cache (UALink_200 §5.10).
    encryption : level, the link may carry encrypted traffic: a Compressed Request that seems to cross 256 bytes is
        counted, for its address may be ciphertext; low: it is an error.
    status : to the transmitter; its ``fc`` comes in cycle 3, and ``init_sent`` is not needed, because the credit checks
        start with all that will be announced. ``buffers_free`` rises four cycles after ``online`` at the earliest.
    error_valid, error : level, the first fatal error since ``online`` rose.
    unknown_message : pulse, a message of unknown type was received (not fatal, ruling D21).
    half_poisoned : pulse, one half of a beat came poisoned without the other (not fatal; the beat is poisoned).
    last_error : the last fatal error, ``NONE`` if there was none. This log and its counters, which stay at 255, are
        reset by nothing but the reset of the domain.
    error_count, unknown_messages, half_poisoned_beats, block_crossings, isolates : how many there were; the last are
        Write Responses with the status ISOLATE, which are dropped.
    """

    def __init__(self, config: TLConfig, *, coded: bool = False):
        self.config = config
        super().__init__(
            {
                "rx_flit": In(tl_flit_signature(always_ready=True)),
                "rx_req": Out(beat_stream("req", coded=coded)),
                "rx_orig_data": Out(beat_stream("orig_data", coded=coded)),
                "rx_rd_rsp": Out(beat_stream("rd_rsp", coded=coded)),
                "rx_wr_rsp": Out(beat_stream("wr_rsp", coded=coded)),
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
        m.submodules.session = session = ReceiveSession()
        m.submodules.sequence = sequence = ResetInserter(~session.classifying)(ReceiveSequence())
        m.submodules.requests = requests = ReceiveRequests(self.config)
        m.submodules.responses = responses = ReceiveResponses(self.config)
        m.submodules.request_rate = request_rate = RateCheck(REQUEST_LIMIT)
        m.submodules.response_rate = response_rate = RateCheck(RESPONSE_LIMIT)
        m.submodules.data = data = ReceiveData(self.config)
        m.submodules.errors = errors = ReceiveErrors()
        m.d.comb += [
            session.online.eq(self.online),
            session.discard.eq(self.discard),
            session.occupied.eq(requests.data.busy | requests.caught | responses.data.busy),
            session.ready.eq(requests.ready),
            self.status.buffers_free.eq(session.buffers_free),
            *(part.flush.eq(session.flush) for part in (requests, responses, data, errors)),
            *(part.running.eq(session.running) for part in (requests, responses)),
            *(rate.restart.eq(session.flush) for rate in (request_rate, response_rate)),
        ]

        # Cycle 0: parse the lower half-flit in case it is a Control half-flit.
        parsed = Signal(PARSED_LAYOUT, reset_less=True)
        present = Signal()
        incoming = self.rx_flit.p
        m.d.comb += [decoder.half_flit.eq(incoming.data[:256]), decoder.encryption.eq(self.encryption)]
        m.d.sync += [
            present.eq(self.rx_flit.valid & self.online),
            parsed.flit.eq(incoming),
            parsed.decoded.eq(decoder.decoded),
            parsed.upper_is_zero.eq(~incoming.data[256:].any()),
        ]

        # Cycle 1: classify both half-flits. The sequence goes on whether they are legal or not.
        decoded, flit = parsed.decoded, parsed.flit
        lower, upper = flit.data[:256], flit.data[256:]
        poisons = Cat(Cat(code_of(slot.poison), Const(0, SECTORS - 1)) for slot in (sequence.lower, sequence.upper))
        m.d.comb += [
            sequence.valid.eq(present),
            sequence.message.eq(flit.message),
            sequence.lower_type.eq(lower[:8]),
            sequence.upper_type.eq(upper[:8]),
            sequence.upper_is_zero.eq(parsed.upper_is_zero),
            sequence.data_fields.eq(decoded.data_fields),
            sequence.data_field.eq(decoded.data_field),
            sequence.tagged.eq(decoded.tagged),
            sequence.too_many_tagged.eq(decoded.too_many_tagged),
            sequence.authentication.eq(self.authentication if self.config.authentication else 0),
        ]
        classified = Signal(CLASSIFIED_LAYOUT, reset_less=True)
        waiting = Signal()
        control = sequence.control
        m.d.sync += [
            waiting.eq(present),
            *self._looked_at(classified.data, flit.data),
            classified.code.eq(sector_codes(flit.parity) ^ poisons),
            classified.slots[0].eq(sequence.lower),
            classified.slots[1].eq(sequence.upper),
            classified.tags.eq(sequence.tags),
            classified.tag_slot.eq(decoded.tag_slot),
            classified.tag_slot_code.eq(tag_slot_codes(decoded, sequence.tags)),
            classified.requests.eq(Mux(control, decoded.requests, 0)),
            classified.responses.eq(Mux(control, decoded.responses, 0)),
            classified.request_count.eq(Mux(control, sum(decoded.requests), 0)),
            classified.response_count.eq(Mux(control, sum(decoded.responses), 0)),
            classified.credits.eq(decoded.credits),
            classified.credits.valid.eq(control & decoded.credits.valid),
            classified.crossing.eq(Mux(control, decoded.crossing, 0)),
            classified.unknown_message.eq(sequence.unknown_message),
            classified.initial_credits.eq(sequence.initial_credits),
            classified.corrupt.eq(
                flit.error
                | parity_mismatch(flit.data, flit.parity)
                | even_parity(flit.message, flit.error, flit.control_parity)
            ),
            classified.control_error.eq(Mux(control, decoded.error, ReceiveError.NONE)),
            classified.sequence_error.eq(sequence.error),
        ]

        # Cycle 2: check. The error of a flit stops the one behind it, which comes here in the next cycle.
        heard, legal = Signal(), Signal()
        m.d.comb += heard.eq(waiting & ~self.error_valid)
        for rate, count in (
            (request_rate, classified.request_count),
            (response_rate, classified.response_count),
        ):
            m.d.comb += [rate.flit.eq(heard), rate.fields.eq(count), rate.accept.eq(legal)]
        m.d.comb += [data.asked.eq(classified.slots), data.accept.eq(legal)]
        self._check(m, heard, legal, session, classified, request_rate, response_rate, data, errors)
        m.d.comb += [
            errors.late.eq(Mux(requests.error != ReceiveError.NONE, requests.error, responses.error)),
            errors.unknown_messages.eq(Mux(legal, classified.unknown_message, 0)),
            errors.block_crossings.eq(Mux(legal, classified.crossing, 0)),
            errors.half_poisoned.eq(data.half_poisoned),
            errors.isolate.eq(responses.isolate),
        ]
        self._report(m, legal & session.classifying, session, classified)

        # Cycle 3: load the catch buffers, write the data.
        written = self._written(m, flit.data, classified)
        self._write(m, legal, classified, written, session, requests, responses, data)
        for part in (requests, responses):
            m.d.comb += part.halted.eq(errors.halted)
        m.d.comb += [requests.is_switch.eq(self.is_switch), requests.disable_rx_cache.eq(self.disable_rx_cache)]

        # Cycle 4 and on: one Request and one Response per cycle are rebuilt, then checked, queued, and leave with data.
        wiring.connect(m, data.byte_enables, requests.byte_enables)
        wiring.connect(m, data.request, requests.data)
        wiring.connect(m, data.response, responses.data)
        for name, part in (
            ("rx_req", requests),
            ("rx_orig_data", requests),
            ("rx_rd_rsp", responses),
            ("rx_wr_rsp", responses),
        ):
            given, own = getattr(part, name), getattr(self, name)
            m.d.comb += [own.valid.eq(given.valid), given.ready.eq(own.ready)]
            m.d.comb += [own.p[member].eq(given.p[member]) for member, _ in own.p.shape()]
        m.d.comb += [
            self.status.release.req_cmd.eq(requests.release_cmd),
            self.status.release.req_data.eq(requests.data.release),
            self.status.release.rd_rsp_cmd.eq(responses.release_read_cmd),
            self.status.release.wr_rsp_cmd.eq(responses.release_write_cmd),
            self.status.release.rsp_data.eq(responses.data.release),
        ]
        return m

    def _looked_at(self, kept, data):
        """What is ``kept`` of a flit's ``data`` in the cycle of the checks: of an ``unhurried`` receiver what is looked
        at there, for all of them are in a memory until the cycle after it."""
        if not self.config.unhurried:
            return [kept.eq(data)]
        return [kept[bit].eq(data[bit]) for bit in SHARED_DATA_BITS]

    def _written(self, m, data, classified):
        """``data`` of cycle 1 in cycle 3; ``classified`` has those of cycle 2."""
        if self.config.unhurried:
            m.submodules.waiting_data = line = DelayLine(512, 2, registered=True)
            m.d.comb += [line.move.eq(1), line.value.eq(data)]
            return line.delayed
        flit = Signal(512, reset_less=True)
        m.d.sync += flit.eq(classified.data)
        return flit

    def _write(self, m, legal, classified, flit, session, requests, responses, data):
        """One cycle behind the check: what an accepted ``flit`` has brought goes where it belongs."""
        accepted = Signal()
        code = Signal(FLIT_SECTORS, reset_less=True)
        tags = Signal(reset_less=True)
        tag_slot = Signal(classified.tag_slot.shape(), reset_less=True)
        tag_slot_code = Signal(SECTORS, reset_less=True)
        tag_code = Signal(SECTORS)
        m.d.sync += [
            accepted.eq(legal),
            tags.eq(classified.tags),
            tag_slot.eq(classified.tag_slot),
            code.eq(classified.code),
            tag_slot_code.eq(classified.tag_slot_code),
        ]
        if self.config.authentication:
            given = Mux(tags, word_codes(code[SECTORS:]), 0)
            for n, slot in enumerate(tag_slot):
                m.d.comb += tag_code[n].eq(given.bit_select(slot, 1) ^ wrong(tag_slot_code[n], slot, tags))
        for part, fields in ((requests, classified.requests), (responses, classified.responses)):
            shape = part.places.shape()
            found, places = Signal(shape), Signal(shape, reset_less=True)
            places_of(m, found, fields)
            m.d.sync += places.eq(found)
            m.d.comb += [
                part.load.eq(accepted),
                part.places.eq(places),
                part.half_flit.eq(flit[:256]),
                part.code.eq(code[:SECTORS]),
                part.tag_code.eq(tag_code),
                part.tags.eq(Mux(tags, flit[256:], 0)),
                part.tag_slot.eq(tag_slot),
            ]
        m.d.comb += [
            data.half_flits.eq(flit),
            data.codes.eq(word_codes(code)),
            data.write.eq(accepted & session.running),
        ]

    def _check(self, m, heard, legal, session, classified, request_rate, response_rate, data, errors):
        """The first of several errors in a cycle is the one that is told. A late error holds what is behind its field;
        an early one leaves what was accepted before to go on."""
        checks = (
            (classified.corrupt, ReceiveError.FLIT_CORRUPT),
            (classified.control_error != ReceiveError.NONE, classified.control_error),
            (classified.sequence_error != ReceiveError.NONE, classified.sequence_error),
            (~session.announced & classified.requests.any(), ReceiveError.REQ_CMD_CREDIT),
            (~session.announced & classified.responses.any(), ReceiveError.RSP_CMD_CREDIT),
            (request_rate.overrun, ReceiveError.REQUEST_RATE),
            (response_rate.overrun, ReceiveError.RESPONSE_RATE),
            (data.refused.request, ReceiveError.REQ_DATA_CREDIT),
            (data.refused.response, ReceiveError.RSP_DATA_CREDIT),
        )
        for failed, code in reversed(checks):
            with m.If(heard & failed):
                m.d.comb += errors.early.eq(code)
        m.d.comb += [
            legal.eq(heard & ~Cat(failed for failed, _ in checks).any()),
            errors.online.eq(session.checking),
            self.error_valid.eq(errors.error_valid),
            self.error.eq(errors.error),
            self.unknown_message.eq(errors.unknown_messages.any()),
            self.half_poisoned.eq(errors.half_poisoned.any()),
            self.last_error.eq(errors.last_error),
            self.error_count.eq(errors.error_count),
            self.unknown_messages.eq(errors.unknown_message_count),
            self.half_poisoned_beats.eq(errors.half_poisoned_count),
            self.block_crossings.eq(errors.block_crossing_count),
            self.isolates.eq(errors.isolate_count),
        ]

    def _report(self, m, heeded, session, classified):
        """What the transmitter has to know of a flit of this session: returned credits and the end of their initial
        release."""
        initial = classified.initial_credits
        m.d.sync += [
            self.status.fc.eq(classified.credits),
            self.status.fc.valid.eq(heeded & classified.credits.valid),
        ]
        with m.If(~session.classifying):
            m.d.sync += [self.status.peer_init_done.eq(0), self.status.peer_shared_data.eq(0)]
        with m.Elif(heeded & initial.any()):
            shared = Cat(classified.data[bit] for bit in SHARED_DATA_BITS) & initial
            m.d.sync += [self.status.peer_init_done.eq(1), self.status.peer_shared_data.eq(shared.any())]
