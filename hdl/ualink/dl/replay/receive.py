"""Link level replay, receiving side: flits in order, Acks, Replay Requests (UALink_200 §6.6.4, §6.6.6.2-4)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit.format import COMMAND_HEADER_LAYOUT, EXPLICIT_HEADER_LAYOUT, FlitOp
from ualink.dl.replay.sequence import (
    RESET_SEQ,
    SEQ_BITS,
    ack_in_range,
    is_held,
    next_seq,
    reconstruct_seq,
    seq_distance,
)

__all__ = ["AMBIGUOUS_BAD_FLITS", "REPLAY_IGNORE_WINDOW", "ReplayReceive"]

REPLAY_IGNORE_WINDOW = 12
"""Rx_replay_ignore_count after a Replay Request was accepted: three copies, one per group of up to four flits."""

AMBIGUOUS_BAD_FLITS = 7
"""Bad flits in a row after which three bits of sequence number no longer tell the number."""


READ_LAYOUT = data.StructLayout(
    {
        "explicit": 1,
        "request": 1,
        "ack": 1,
        "payload": 1,
        "number_zero": 1,
        "ack_req_seq": SEQ_BITS,
        "flit_seq_no": SEQ_BITS,
        "reconstructed": SEQ_BITS,
    }
)
"""What a header says, one cycle after it came: its kind, its numbers, and Rx_seq_calc if it is a command flit."""

WEIGHED_LAYOUT = data.StructLayout(
    {
        "known": 1,
        "usable": 1,
        "explicit": 1,
        "request": 1,
        "ack": 1,
        "payload": 1,
        "ack_req_seq": SEQ_BITS,
        "distance": SEQ_BITS,
        "rx_seq_calc": SEQ_BITS,
        "expected": 1,
    }
)
"""What a header comes to, two cycles after it came: ``known`` op, and ``usable`` with no number 0; steps from the
number acked last to the one that it names; its own number, and whether that is the expected one."""


class ReplayReceive(wiring.Component):
    """Judges each received data flit by its CRC verdict and its header.

    What the header says is worked out in the two cycles before the verdict. All decisions fall in the cycle of
    ``ended``; registers change after it. A flit whose ``op`` is reserved counts as one with bad CRC (ruling A-29 (DL));
    a command flit that names number 0 is dropped whole (ruling A-15 (DL)).

    Members
    -------
    ended : a data flit slot has ended; control slots do not count. At most every third cycle: two headers never meet.
    good : valid with ``ended``: FEC and CRC are good. Slots that the RS lost come here as not good (ruling A-06 (DL)).
    header : flit header, 24 bits, two cycles before ``ended``; without meaning unless ``good`` then.
    rx_replay_limit : flits in replay state after which Replay Requests are sent again; a change counts a cycle later.
    held : flits in TxReplay.
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
                "held": In(SEQ_BITS),
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
        read = self._read(m)
        weighed = self._weigh(m, read)
        usable = Signal()
        m.d.comb += [
            self.ack_req_seq.eq(weighed.ack_req_seq),
            self.bad.eq(self.ended & ~(self.good & weighed.known)),
            usable.eq(self.ended & self.good & weighed.usable),
            self.protocol_error.eq(self.ended & self.good & ~usable),
        ]
        self._commands(m, usable & weighed.request, usable & weighed.ack, weighed.distance)
        self._enqueue(m, usable, weighed)
        return m

    def _read(self, m):
        """First cycle: what the header says."""
        explicit_header = data.View(EXPLICIT_HEADER_LAYOUT, self.header)
        command_header = data.View(COMMAND_HEADER_LAYOUT, self.header)
        op, payload = explicit_header.op, explicit_header.payload
        ack_req_seq, flit_seq_no = command_header.ack_req_seq, explicit_header.flit_seq_no
        read = Signal(READ_LAYOUT, reset_less=True)
        explicit = Signal()
        m.d.comb += explicit.eq((op == FlitOp.ORIGINAL) | ((op == FlitOp.REPLAY) & payload))
        m.d.sync += [
            read.explicit.eq(explicit),
            read.request.eq(op == FlitOp.REPLAY_REQUEST),
            read.ack.eq(op == FlitOp.ACK),
            read.payload.eq(payload),
            read.number_zero.eq(Mux(explicit, flit_seq_no == 0, ack_req_seq == 0)),
            read.ack_req_seq.eq(ack_req_seq),
            read.flit_seq_no.eq(flit_seq_no),
            read.reconstructed.eq(reconstruct_seq(self.rx_last_seq_calc, command_header.flit_seq_lo, payload)),
        ]
        return read

    def _weigh(self, m, read):
        """Second cycle: what that comes to against the registers, which no other flit changes in these cycles."""
        weighed = Signal(WEIGHED_LAYOUT, reset_less=True)
        payload = read.payload
        explicit, command = read.explicit, read.request | read.ack
        rx_seq_calc = Signal(SEQ_BITS)
        m.d.comb += rx_seq_calc.eq(Mux(explicit, read.flit_seq_no, read.reconstructed))
        m.d.sync += [
            weighed.known.eq(explicit | command),
            weighed.usable.eq((explicit | command) & ~read.number_zero),
            weighed.explicit.eq(explicit),
            weighed.request.eq(read.request),
            weighed.ack.eq(read.ack),
            weighed.payload.eq(payload),
            weighed.ack_req_seq.eq(read.ack_req_seq),
            weighed.distance.eq(seq_distance(self.rx_last_ack, read.ack_req_seq)),
            weighed.rx_seq_calc.eq(rx_seq_calc),
            weighed.expected.eq(rx_seq_calc == Mux(payload, next_seq(self.rx_last_seq_calc), self.rx_last_seq_calc)),
        ]
        return weighed

    def _commands(self, m, request, ack, distance):
        """Ack and Replay Request processing, whether the flit itself is in order or not (UALink_200 §6.6.6.3)."""
        ignore_count = Signal.like(self.rx_replay_ignore_count)
        request_legal = is_held(distance, self.held)
        ack_legal = ack_in_range(distance, self.held)
        heard = Signal()
        m.d.comb += [
            # The count goes down before it is tested.
            ignore_count.eq(Mux(self.rx_replay_ignore_count == 0, 0, self.rx_replay_ignore_count - 1)),
            heard.eq(request & (ignore_count == 0)),
            self.replay_accepted.eq(heard & request_legal),
            self.acked.eq(ack & ack_legal & (distance != 0)),
            self.command_ignored.eq((heard & ~request_legal) | (ack & ~ack_legal)),
        ]
        with m.If(self.ended):
            m.d.sync += self.rx_replay_ignore_count.eq(ignore_count)
        with m.If(self.replay_accepted):
            m.d.sync += self.rx_replay_ignore_count.eq(REPLAY_IGNORE_WINDOW)
        with m.If(self.acked):
            m.d.sync += self.rx_last_ack.eq(self.ack_req_seq)

    def _enqueue(self, m, usable, weighed):
        """Order of the flit itself (UALink_200 §6.6.6.2, §6.6.6.4)."""
        explicit, expected, payload = weighed.explicit, weighed.expected, weighed.payload
        accepted = Signal()
        too_many = Signal()
        unexpected_count = Signal.like(self.rx_unexpected_count)
        bad_crc_count = Signal.like(self.rx_bad_crc_count)
        m.d.comb += [
            unexpected_count.eq(Mux(self.rx_unexpected_count.all(), 0xFF, self.rx_unexpected_count + 1)),
            bad_crc_count.eq(Mux(self.rx_bad_crc_count.all(), 7, self.rx_bad_crc_count + 1)),
            self.dropped.eq(self.ended & ~self.bad & ~accepted),
            self.accept.eq(accepted & payload),
            self.accept_nop.eq(accepted & ~payload),
        ]
        # Two flits are so far apart that the count can be compared in between.
        m.d.sync += too_many.eq(unexpected_count >= self.rx_replay_limit)
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
                        self.rx_last_seq_calc.eq(weighed.rx_seq_calc),
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
                with m.If(too_many):
                    m.d.comb += self.request_replay.eq(1)
                    # Cleared as well, or every further flit would repeat the requests (ruling A-17 (DL)).
                    m.d.sync += [self.rx_unexpected_count.eq(0), self.rx_bad_crc_count.eq(0)]
