"""Receive side of the transaction layer of one port."""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.dl.interface import TL_FLIT_LAYOUT, tl_flit_signature
from ualink.lib.parity import even_parity, parity_mismatch
from ualink.lib.queue import Queue
from ualink.upli.channels import beat_stream

from .catch_buffer import CatchBuffer
from .control_decoder import DECODED_LAYOUT, ControlDecoder, request_field, response_field
from .credit_check import CreditCheck
from .data_assembler import DataAssembler
from .data_buffer import DataBuffer
from .internal import ReceiveStatusSignature
from .read_response_unload import ReadResponseUnload
from .receive_error import ReceiveError
from .receive_sequence import ReceiveSequence
from .request_reconstruction import REQUEST_ENTRY_LAYOUT, RequestReconstruction
from .request_unload import RequestUnload
from .response_reconstruction import (
    READ_RESPONSE_ENTRY_LAYOUT,
    WRITE_RESPONSE_ENTRY_LAYOUT,
    ResponseReconstruction,
)

__all__ = ["Receive"]


class Receive(wiring.Component):
    """Turns received TL flits into UPLI beats (UALink_200 §5.5, Figure 5-3).

    A flit is parsed as a Control half-flit in the cycle in which it comes (0), classified and its data written in cycle
    1; its oldest field leaves the catch buffer in cycle 2 and is offered in cycle 3, a Request or Read Response with
    data not before cycle 2 of the flit with the last of its data. One flit per cycle is taken without back-pressure,
    and nothing overflows while the partner keeps to its credits and the source rate limits.

    The first fatal error stops the acceptance of flits, the faulty one included; what came before is still delivered.
    While ``online`` is low everything is dropped and the sequence restarts, but a transfer towards UPLI that has begun
    is finished, however long that takes. Until then ``buffers_free`` is low, so that the partner of the new session has
    no credits yet: FC fields and messages count, a Request or a Response is an overdrawn credit.

    Attributes
    ----------
    rx_flit : flits from the DL.
    rx_req, rx_orig_data, rx_rd_rsp, rx_wr_rsp : beats towards the UPLI agents.
    online : DL channel 0 is online.
    status : to the transmitter; its ``fc`` comes in cycle 2, and ``init_sent`` is not needed, because the credit checks
        start with all that will be announced. ``buffers_free`` rises in the cycle after ``online`` at the earliest.
    error_valid, error : level, the first fatal error since ``online`` rose.
    unknown_message : pulse, a message of unknown type was received (not fatal, ruling D21).
    half_poisoned : pulse, one half of a beat came poisoned without the other (not fatal; the beat is poisoned).
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
                "status": Out(ReceiveStatusSignature()),
                "error_valid": Out(1),
                "error": Out(ReceiveError),
                "unknown_message": Out(1),
                "half_poisoned": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request_unload = RequestUnload(self.config)
        response_unload = ReadResponseUnload(self.config)
        m.submodules.request_unload = request_unload
        m.submodules.response_unload = response_unload

        # What is stale goes as soon as no transfer needs it any more, one cycle after the last such transfer has ended.
        stale = Signal()
        flush = Signal()
        m.d.comb += [
            flush.eq(~self.online | stale),
            self.status.buffers_free.eq(~flush),
            request_unload.flush.eq(flush),
            response_unload.flush.eq(flush),
        ]
        m.d.sync += stale.eq(~self.online | (stale & (request_unload.busy | response_unload.busy)))

        def add(name, component, reset=flush):
            m.submodules[name] = ResetInserter(reset)(component)
            return component

        # Cycle 0: parse the lower half-flit in case it is a Control half-flit.
        m.submodules.decoder = decoder = ControlDecoder(self.config)
        present = Signal()
        flit = Signal(TL_FLIT_LAYOUT, reset_less=True)
        decoded = Signal(DECODED_LAYOUT, reset_less=True)
        upper_is_zero = Signal(reset_less=True)
        corrupt = Signal(reset_less=True)
        incoming = self.rx_flit.payload.data
        controls = (self.rx_flit.payload[name] for name in ("message", "port", "error", "control_parity"))
        m.d.comb += decoder.half_flit.eq(incoming[:256])
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
        considered, accept = Signal(), Signal()
        lower, upper = flit.data[:256], flit.data[256:]
        sequence = add("sequence", ReceiveSequence(), ~self.online)
        m.d.comb += [
            considered.eq(present & ~self.error_valid & self.online),
            sequence.valid.eq(considered),
            sequence.message.eq(flit.message),
            sequence.lower_type.eq(lower[:8]),
            sequence.upper_type.eq(upper[:8]),
            sequence.upper_is_zero.eq(upper_is_zero),
            sequence.data_fields.eq(decoded.data_fields),
            sequence.data_field.eq(decoded.data_field),
        ]

        request_catch = add("request_catch", CatchBuffer(4, 128))
        response_catch = add("response_catch", CatchBuffer(8, 64))
        for catch, mask in ((request_catch, decoded.requests), (response_catch, decoded.responses)):
            m.d.comb += [
                catch.flit.eq(considered),
                catch.load.eq(accept),
                catch.valid.eq(Mux(sequence.control, mask, 0)),
            ]
        m.d.comb += [request_catch.field[pair].eq(request_field(lower, pair)) for pair in range(4)]
        m.d.comb += [response_catch.field[sector].eq(response_field(lower, sector)) for sector in range(8)]

        m.submodules.assembler = assembler = DataAssembler()
        m.d.comb += [
            assembler.slots[0].eq(sequence.lower),
            assembler.slots[1].eq(sequence.upper),
            assembler.half_flits.eq(flit.data),
            assembler.accept.eq(accept),
        ]
        requests_flush = flush & ~request_unload.busy
        responses_flush = flush & ~response_unload.busy
        self._buffer_data(m, add, assembler, request_unload, response_unload, (requests_flush, responses_flush))

        # Cycle 2: rebuild one Request and one Response, check their credits, queue them. An error found here holds what
        # is behind it; one found in cycle 1 leaves what was accepted before to go on.
        halted = Signal()
        late_checks = (
            *self._queue_requests(m, add, request_catch, request_unload, requests_flush, halted),
            *self._queue_responses(m, add, response_catch, response_unload, responses_flush, halted),
        )
        early_checks = (
            (considered & corrupt, ReceiveError.FLIT_CORRUPT),
            (sequence.control & (decoded.error != ReceiveError.NONE), decoded.error),
            (sequence.error != ReceiveError.NONE, sequence.error),
            (flush & sequence.control & decoded.requests.any(), ReceiveError.REQ_CMD_CREDIT),
            (flush & sequence.control & decoded.responses.any(), ReceiveError.RSP_CMD_CREDIT),
            (request_catch.overrun, ReceiveError.REQUEST_RATE),
            (response_catch.overrun, ReceiveError.RESPONSE_RATE),
            (considered & assembler.refused[0], ReceiveError.REQ_DATA_CREDIT),
            (considered & assembler.refused[1], ReceiveError.RSP_DATA_CREDIT),
        )
        early_error, late_error = Signal(ReceiveError), Signal(ReceiveError)
        for error, checks in ((early_error, early_checks), (late_error, late_checks)):
            for failed, code in reversed(checks):
                with m.If(failed):
                    m.d.comb += error.eq(code)
        m.d.comb += accept.eq(considered & (early_error == ReceiveError.NONE))
        with m.If(~self.online):
            m.d.sync += [self.error_valid.eq(0), self.error.eq(ReceiveError.NONE)]
        with m.Elif(~self.error_valid):
            with m.If(late_error != ReceiveError.NONE):
                m.d.sync += [self.error_valid.eq(1), self.error.eq(late_error)]
            with m.Elif(early_error != ReceiveError.NONE):
                m.d.sync += [self.error_valid.eq(1), self.error.eq(early_error)]

        with m.If(flush):
            m.d.sync += halted.eq(0)
        with m.Elif(late_error != ReceiveError.NONE):
            m.d.sync += halted.eq(1)

        self._report(m, accept, sequence, decoded, lower, upper)
        wiring.connect(m, request_unload.rx_req, wiring.flipped(self.rx_req))
        wiring.connect(m, request_unload.rx_orig_data, wiring.flipped(self.rx_orig_data))
        wiring.connect(m, response_unload.rx_rd_rsp, wiring.flipped(self.rx_rd_rsp))
        return m

    def _buffer_data(self, m, add, assembler, request_unload, response_unload, resets):
        """Data buffers behind the assembler, and the byte-enable half-flits of the Requests whose data they hold."""
        config = self.config
        request_data = add("request_data", DataBuffer(config.req_data.total), resets[0])
        response_data = add("response_data", DataBuffer(config.rsp_data.total), resets[1])
        # The command credit of a Request is released when its data begin to leave, those of its data later.
        depth = min(config.req_cmd.total + 1, config.req_data.total)
        byte_enables = add("byte_enables", Queue(256, depth), resets[0])
        for source, sink in (
            (assembler.request_low, request_data.low),
            (assembler.request_high, request_data.high),
            (assembler.response_low, response_data.low),
            (assembler.response_high, response_data.high),
            (assembler.byte_enables, byte_enables.input),
            (request_data.beat, request_unload.beat),
            (response_data.beat, response_unload.beat),
            (byte_enables.output, request_unload.byte_enables),
        ):
            wiring.connect(m, source, sink)
        m.d.comb += [
            request_unload.data_complete.eq(assembler.request_done),
            response_unload.data_complete.eq(assembler.response_done),
            self.half_poisoned.eq(
                request_data.half_poisoned & request_data.beat.ready
                | response_data.half_poisoned & response_data.beat.ready
            ),
        ]

    def _queue_requests(self, m, add, catch, unload, reset, halted):
        """From the catch buffer to the unloader; gives the checks that may fail on the way."""
        m.submodules.request_reconstruction = rebuild = RequestReconstruction()
        queue = add("request_queue", Queue(REQUEST_ENTRY_LAYOUT, self.config.req_cmd.total), reset)
        cmd_credits = add("req_cmd_credits", CreditCheck(self.config.req_cmd))
        data_credits = add("req_data_credits", CreditCheck(self.config.req_data))
        wiring.connect(m, catch.output, rebuild.field)
        wiring.connect(m, queue.output, unload.request)
        m.d.comb += [
            cmd_credits.release[0].eq(unload.release_req_cmd),
            data_credits.release[0].eq(unload.release_req_data),
            self.status.release.req_cmd.eq(unload.release_req_cmd),
            self.status.release.req_data.eq(unload.release_req_data),
        ]
        beat = rebuild.request.payload.beat
        taken = rebuild.request.valid & ~halted & ~unload.flush
        beats = Mux(beat.cmd[5], beat.num_beats + 1, 0)
        self._spend(m, cmd_credits, taken, rebuild.request.payload.pool, beat.vc, 1)
        self._spend(m, data_credits, taken, rebuild.request.payload.pool, beat.vc, beats)
        m.d.comb += [
            queue.input.payload.eq(rebuild.request.payload),
            queue.input.valid.eq(taken & ~cmd_credits.underflow & ~data_credits.underflow),
        ]
        return (
            (rebuild.missing, ReceiveError.ADDRESS_CACHE),
            (cmd_credits.underflow, ReceiveError.REQ_CMD_CREDIT),
            (data_credits.underflow, ReceiveError.REQ_DATA_CREDIT),
        )

    def _queue_responses(self, m, add, catch, unload, reset, halted):
        """As for Requests; Read and Write Responses part after the catch buffer, so neither waits for the other."""
        m.submodules.response_reconstruction = rebuild = ResponseReconstruction()
        reads = add("read_response_queue", Queue(READ_RESPONSE_ENTRY_LAYOUT, self.config.rsp_cmd.total), reset)
        writes = add("write_response_queue", Queue(WRITE_RESPONSE_ENTRY_LAYOUT, self.config.rsp_cmd.total))
        cmd_credits = add("rsp_cmd_credits", CreditCheck(self.config.rsp_cmd, releases=2))
        data_credits = add("rsp_data_credits", CreditCheck(self.config.rsp_data))
        wiring.connect(m, catch.output, rebuild.field)
        wiring.connect(m, reads.output, unload.response)

        write_release = self.status.release.wr_rsp_cmd
        m.d.comb += [
            self.rx_wr_rsp.valid.eq(writes.output.valid & ~unload.flush),
            self.rx_wr_rsp.payload.eq(writes.output.payload.beat),
            writes.output.ready.eq(self.rx_wr_rsp.ready),
            write_release.valid.eq(self.rx_wr_rsp.valid & self.rx_wr_rsp.ready),
            write_release.pool.eq(writes.output.payload.pool),
            write_release.vc.eq(writes.output.payload.beat.vc),
            write_release.count.eq(1),
            cmd_credits.release[0].eq(unload.release_cmd),
            cmd_credits.release[1].eq(write_release),
            data_credits.release[0].eq(unload.release_data),
            self.status.release.rd_rsp_cmd.eq(unload.release_cmd),
            self.status.release.rsp_data.eq(unload.release_data),
        ]

        read, write = rebuild.read, rebuild.write
        stopped = halted | unload.flush
        pool = Mux(read.valid, read.payload.pool, write.payload.pool)
        vc = Mux(read.valid, read.payload.vc, write.payload.beat.vc)
        self._spend(m, cmd_credits, (read.valid | write.valid) & ~stopped, pool, vc, 1)
        self._spend(
            m, data_credits, read.valid & ~stopped, read.payload.pool, read.payload.vc, read.payload.num_beats + 1
        )
        good = ~stopped & ~cmd_credits.underflow & ~data_credits.underflow
        for response, queue in ((read, reads), (write, writes)):
            m.d.comb += [
                queue.input.payload.eq(response.payload),
                queue.input.valid.eq(response.valid & good),
            ]
        return (
            (cmd_credits.underflow, ReceiveError.RSP_CMD_CREDIT),
            (data_credits.underflow, ReceiveError.RSP_DATA_CREDIT),
        )

    @staticmethod
    def _spend(m, credits, valid, pool, vc, count):
        spent = credits.spent
        m.d.comb += [spent.valid.eq(valid), spent.pool.eq(pool), spent.vc.eq(vc), spent.count.eq(count)]

    def _report(self, m, accept, sequence, decoded, lower, upper):
        """What the transmitter has to know: returned credits and the end of their initial release."""
        m.d.comb += self.unknown_message.eq(accept & sequence.unknown_message)
        m.d.sync += [
            self.status.fc.eq(decoded.credits),
            self.status.fc.valid.eq(accept & sequence.control & decoded.credits.valid),
        ]
        with m.If(~self.online):
            m.d.sync += [self.status.peer_init_done.eq(0), self.status.peer_shared_data.eq(0)]
        with m.Elif(accept & sequence.initial_credits.any()):
            shared = Cat(lower[8], upper[8]) & sequence.initial_credits
            m.d.sync += [self.status.peer_init_done.eq(1), self.status.peer_shared_data.eq(shared.any())]
