"""Which header the next DL flit gets: first of a replay, explicit, Replay Request or Ack (UALink_200 §6.6.6.7)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.dl.flit.format import FlitOp
from ualink.dl.replay.sequence import RESET_SEQ, SEQ_BITS, next_seq

__all__ = ["REPLAY_REQUEST_COPIES", "HeaderScheduler"]

REPLAY_REQUEST_COPIES = 3


class HeaderScheduler(wiring.Component):
    """Chooses the header of one flit per ``schedule``; the choice stands from the next cycle to the next ``schedule``.

    Codeword groups have no edge that the DL could know, so a Replay Request follows the last one by ``codeword_group``
    flit slots or more: then no group, wherever it starts, holds two (ruling A-19 (DL)). Slots of every kind count;
    slots that the RS inserts come on top.

    Parameters
    ----------
    explicit_cadence : reload and reset value of Tx_explicit_count, 2..7: every so many flits one is explicit (ruling
        A-27 (DL)). Of 1 all would be, and none could be an Ack or a Replay Request.

    Members
    -------
    schedule : choose now; at most once per flit slot and only for DL flits.
    slot_end : a flit slot of any kind ends.
    replay : the flit to schedule for comes out of TxReplay; ``first_of_replay``: and is the first of a replay.
    request_replay : pulse, send three Replay Requests.
    rx_last_seq_calc : number of the last flit accepted.
    codeword_group : flits that one FEC failure can take together: 1, 2 or 4.
    explicit, op, ack_req_seq : the choice.
    tx_explicit_count, tx_replay_req_count, tx_replay_req_seq_no : the registers of UALink_200 §6.6.5.
    """

    def __init__(self, explicit_cadence: int = 7):
        check_integer("explicit_cadence", explicit_cadence, 2, 7)
        self._cadence = explicit_cadence
        super().__init__(
            {
                "schedule": In(1),
                "slot_end": In(1),
                "replay": In(1),
                "first_of_replay": In(1),
                "request_replay": In(1),
                "rx_last_seq_calc": In(SEQ_BITS, init=RESET_SEQ),
                "codeword_group": In(3, init=4),
                "explicit": Out(1),
                "op": Out(FlitOp),
                "ack_req_seq": Out(SEQ_BITS),
            }
        )
        self.tx_explicit_count = Signal(3, init=explicit_cadence)
        self.tx_replay_req_count = Signal(2)
        self.tx_replay_req_seq_no = Signal(SEQ_BITS)

    def elaborate(self, platform):
        m = Module()
        explicit_count = Signal.like(self.tx_explicit_count)
        slots_since_request = Signal(3, init=7)
        new_group = Signal()
        wanted = Signal(SEQ_BITS)
        m.d.comb += [
            explicit_count.eq(Mux(self.tx_explicit_count == 0, 0, self.tx_explicit_count - 1)),
            new_group.eq(slots_since_request >= self.codeword_group),
            wanted.eq(
                Mux(
                    self.tx_replay_req_count == REPLAY_REQUEST_COPIES,
                    next_seq(self.rx_last_seq_calc),
                    self.tx_replay_req_seq_no,
                )
            ),
        ]
        with m.If(self.slot_end & ~slots_since_request.all()):
            m.d.sync += slots_since_request.eq(slots_since_request + 1)
        with m.If(self.schedule):
            m.d.sync += [self.tx_explicit_count.eq(explicit_count), self.explicit.eq(0)]
            with m.If(self.first_of_replay | (explicit_count == 0)):
                m.d.sync += [
                    self.explicit.eq(1),
                    self.op.eq(Mux(self.replay, FlitOp.REPLAY, FlitOp.ORIGINAL)),
                    self.tx_explicit_count.eq(self._cadence),
                ]
            with m.Elif((self.tx_replay_req_count != 0) & new_group):
                m.d.sync += [
                    self.op.eq(FlitOp.REPLAY_REQUEST),
                    self.ack_req_seq.eq(wanted),
                    self.tx_replay_req_seq_no.eq(wanted),
                    self.tx_replay_req_count.eq(self.tx_replay_req_count - 1),
                    slots_since_request.eq(0),
                ]
            with m.Else():
                m.d.sync += [self.op.eq(FlitOp.ACK), self.ack_req_seq.eq(self.rx_last_seq_calc)]
        with m.If(self.request_replay):
            m.d.sync += self.tx_replay_req_count.eq(REPLAY_REQUEST_COPIES)
        return m
