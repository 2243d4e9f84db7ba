"""Link level replay, receiving side: flits in order, Acks, Replay Requests (UALink_200 §6.6.4, §6.6.6.2-4)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit.format import COMMAND_HEADER_LAYOUT, EXPLICIT_HEADER_LAYOUT, FlitOp
from ualink.dl.replay.sequence import RESET_SEQ, SEQ_BITS, ack_in_range, is_held, next_seq, reconstruct_seq

__all__ = ["AMBIGUOUS_BAD_FLITS", "REPLAY_IGNORE_WINDOW", "ReplayReceive"]

REPLAY_IGNORE_WINDOW = 12
"""Rx_replay_ignore_count after a Replay Request was accepted: three copies, one per group of up to four flits."""

AMBIGUOUS_BAD_FLITS = 7
"""Bad flits in a row after which three bits of sequence number no longer tell the number."""


class ReplayReceive(wiring.Component):
    """Judges each received data flit by its CRC verdict and its header.

    All decisions fall in the cycle of ``ended``; registers change after it. A flit whose ``op`` is reserved counts as
    one with bad CRC (ruling A-29 (DL)); a command flit that names number 0 is dropped whole (ruling A-15 (DL)).

    Members
    -------
    ended : a data flit slot has ended; control slots do not count.
    good : valid with ``ended``: FEC and CRC are good. Slots that the RS lost come here as not good (ruling A-06 (DL)).
    header : valid with ``ended`` and ``good``: flit header, 24 bits.
    rx_replay_limit : flits in replay state after which Replay Requests are sent again.
    tx_last_seq : newest number given to a payload flit of ours.
    accept : combinational with ``ended``: a payload flit in order; deliver it.
    accept_nop : combinational with ``ended``: a NOP flit in order.
    replay_accepted, ack_req_seq : combinational with ``ended``: replay from number ``ack_req_seq`` (a valid Replay
        Request).
    acked : combinational with ``ended``: an Ack frees at least one flit of TxReplay; ``rx_last_ack`` moves after it.
    request_replay : combinational with ``ended``: send three Replay Requests (Tx_replay_req_count = 3).
    bad, dropped, command_ignored, protocol_error : combinational with ``ended``, for counters: flit with bad CRC or
        reserved op; good flit dropped; Ack or Replay Request out of range; number 0 or reserved op.
    rx_last_seq_calc … rx_replay_ignore_count : the registers of UALink_200 §6.6.4, with the reset values printed there.
    """

    def __init__(self):
        super().__init__(
            {
                "ended": In(1),
                "good": In(1),
                "header": In(24),
                "rx_replay_limit": In(8, init=50),
                "tx_last_seq": In(SEQ_BITS, init=RESET_SEQ),
                "accept": Out(1),
                "accept_nop": Out(1),
                "replay_accepted": Out(1),
                "ack_req_seq": Out(SEQ_BITS),
                "acked": Out(1),
                "request_replay": Out(1),
                "bad": Out(1),
                "dropped": Out(1),
                "command_ignored": Out(1),
                "protocol_error": Out(1),
                "rx_last_seq_calc": Out(SEQ_BITS, init=RESET_SEQ),
                "rx_last_ack": Out(SEQ_BITS, init=RESET_SEQ),
                "rx_bad_crc_count": Out(3),
                "rx_unexpected_count": Out(8),
                "rx_ambiguous": Out(1),
                "rx_replay": Out(1),
                "rx_replay_ignore_count": Out(4),
            }
        )

    def elaborate(self, platform):
        m = Module()
        explicit_header = data.View(EXPLICIT_HEADER_LAYOUT, self.header)
        command_header = data.View(COMMAND_HEADER_LAYOUT, self.header)
        op, payload = explicit_header.op, explicit_header.payload

        explicit = Signal()
        command = Signal()
        usable = Signal()
        number_zero = Signal()
        m.d.comb += [
            explicit.eq((op == FlitOp.ORIGINAL) | ((op == FlitOp.REPLAY) & payload)),
            command.eq((op == FlitOp.ACK) | (op == FlitOp.REPLAY_REQUEST)),
            self.ack_req_seq.eq(command_header.ack_req_seq),
            number_zero.eq(Mux(explicit, explicit_header.flit_seq_no == 0, self.ack_req_seq == 0)),
            self.bad.eq(self.ended & ~(self.good & (explicit | command))),
            usable.eq(self.ended & self.good & (explicit | command) & ~number_zero),
            self.protocol_error.eq(self.ended & self.good & ~usable),
        ]
        self._commands(m, usable & command & (op == FlitOp.REPLAY_REQUEST), usable & command & (op == FlitOp.ACK))
        self._enqueue(m, usable, explicit, payload, explicit_header.flit_seq_no, command_header.flit_seq_lo)
        return m

    def _commands(self, m, request, ack):
        """Ack and Replay Request processing, whether the flit itself is in order or not (UALink_200 §6.6.6.3)."""
        ignore_count = Signal.like(self.rx_replay_ignore_count)
        request_legal = is_held(self.ack_req_seq, self.rx_last_ack, self.tx_last_seq)
        ack_legal = ack_in_range(self.ack_req_seq, self.rx_last_ack, self.tx_last_seq)
        heard = Signal()
        m.d.comb += [
            # The count goes down before it is tested.
            ignore_count.eq(Mux(self.rx_replay_ignore_count == 0, 0, self.rx_replay_ignore_count - 1)),
            heard.eq(request & (ignore_count == 0)),
            self.replay_accepted.eq(heard & request_legal),
            self.acked.eq(ack & ack_legal & (self.ack_req_seq != self.rx_last_ack)),
            self.command_ignored.eq((heard & ~request_legal) | (ack & ~ack_legal)),
        ]
        with m.If(self.ended):
            m.d.sync += self.rx_replay_ignore_count.eq(ignore_count)
        with m.If(self.replay_accepted):
            m.d.sync += self.rx_replay_ignore_count.eq(REPLAY_IGNORE_WINDOW)
        with m.If(self.acked):
            m.d.sync += self.rx_last_ack.eq(self.ack_req_seq)

    def _enqueue(self, m, usable, explicit, payload, flit_seq_no, flit_seq_lo):
        """Order of the flit itself (UALink_200 §6.6.6.2, §6.6.6.4)."""
        rx_seq_calc = Signal(SEQ_BITS)
        expected = Signal()
        accepted = Signal()
        unexpected_count = Signal.like(self.rx_unexpected_count)
        bad_crc_count = Signal.like(self.rx_bad_crc_count)
        m.d.comb += [
            rx_seq_calc.eq(Mux(explicit, flit_seq_no, reconstruct_seq(self.rx_last_seq_calc, flit_seq_lo, payload))),
            expected.eq(rx_seq_calc == Mux(payload, next_seq(self.rx_last_seq_calc), self.rx_last_seq_calc)),
            unexpected_count.eq(Mux(self.rx_unexpected_count.all(), 0xFF, self.rx_unexpected_count + 1)),
            bad_crc_count.eq(Mux(self.rx_bad_crc_count.all(), 7, self.rx_bad_crc_count + 1)),
            self.dropped.eq(self.ended & ~self.bad & ~accepted),
            self.accept.eq(accepted & payload),
            self.accept_nop.eq(accepted & ~payload),
        ]
        with m.If(self.bad):
            m.d.sync += self.rx_bad_crc_count.eq(bad_crc_count)
            with m.If(bad_crc_count >= AMBIGUOUS_BAD_FLITS):
                m.d.sync += self.rx_ambiguous.eq(1)
            with m.If(self.rx_replay):
                m.d.sync += self.rx_unexpected_count.eq(unexpected_count)
        with m.Elif(usable):
            with m.If(explicit | ~(self.rx_ambiguous | self.rx_replay)):
                with m.If(expected):
                    m.d.comb += accepted.eq(1)
                    m.d.sync += [
                        self.rx_unexpected_count.eq(0),
                        self.rx_last_seq_calc.eq(rx_seq_calc),
                        self.rx_replay.eq(0),
                        self.rx_ambiguous.eq(0),
                        self.rx_bad_crc_count.eq(0),
                    ]
                with m.Elif(~self.rx_replay):
                    m.d.comb += self.request_replay.eq(1)
                    m.d.sync += [self.rx_replay.eq(1), self.rx_unexpected_count.eq(0)]
            with m.Elif(self.rx_replay):
                # Counted here and for bad flits only, not for explicit flits out of order (ruling A-16 (DL), Figure
                # 6-20).
                m.d.sync += self.rx_unexpected_count.eq(unexpected_count)
                with m.If(unexpected_count >= self.rx_replay_limit):
                    m.d.comb += self.request_replay.eq(1)
                    # Cleared as well, or every further flit would repeat the requests (ruling A-17 (DL)).
                    m.d.sync += [self.rx_unexpected_count.eq(0), self.rx_bad_crc_count.eq(0)]
