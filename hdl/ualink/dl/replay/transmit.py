"""Link level replay, sending side: what each flit slot carries, and its header (UALink_200 §6.6.5, §6.6.6.5-7)."""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import DLConfig
from ualink.dl.flit.crc_generator import CRC_GENERATOR_INPUT_LAYOUT
from ualink.dl.flit.format import BEAT_BYTES, COMMAND_HEADER_LAYOUT, EXPLICIT_HEADER_LAYOUT, FLIT_HEADER_OFFSET
from ualink.dl.flit.packer import PACKED_BEAT_LAYOUT
from ualink.dl.replay.buffer import ReplayBuffer
from ualink.dl.replay.header_scheduler import HeaderScheduler
from ualink.dl.replay.sequence import RESET_SEQ, SEQ_BITS, next_seq
from ualink.lib.parity import ProtectedRegister, even_parity, parity_mismatch
from ualink.phy.interface import BEATS_PER_FLIT, TxKind

__all__ = ["ReplayTransmit"]

HEADER_BIT = 8 * (FLIT_HEADER_OFFSET % BEAT_BYTES)
DATA_BITS = 8 * BEAT_BYTES

STATE_LAYOUT = data.StructLayout(
    {
        "beat": range(BEATS_PER_FLIT),
        "kind": TxKind,
        "from_buffer": 1,
        "first_of_replay": 1,
        "replayed_seq": SEQ_BITS,
        "error": 1,
    }
)
"""What the slot in hand carries, how far it is, and whether it is spoilt."""


class ReplayTransmit(wiring.Component):
    """Fills flit slots of ten beats, back to back, from packer or TxReplay, and puts the flit header into beat 9.

    Cut-through: a beat of a new flit goes from ``packed`` to ``beat`` within the cycle while it is written into
    TxReplay. What a slot carries is decided in the cycle in which the slot before ends; the kind of header one beat
    before it goes out. A Replay Request takes effect, and sets ``tx_replay``, when the address of its flit is known: a
    replay starts with the first slot that begins four cycles after the Request or later. From then on every DL flit
    comes out of TxReplay until the replay has reached the newest; a further Request and an Ack only change which one.

    This is where the parity of the bytes ends, in the cycle in which the CRC generator takes them: the beats of every
    DL flit are checked, out of packer and TxReplay alike, and so are the flags of the packer, its step with the slots,
    the pointers of TxReplay and the own state (UALink_200 §6.7.3). A flit in which one of these is wrong, or that its
    source marked with ``error``, goes out with inverted CRC, is not kept, and is reported by ``egress_error`` in time
    for the slot after it to carry no DL flit (UALink_200 §6.7.4.2).

    Parameters
    ----------
    config : ``replay_depth`` and ``explicit_cadence`` are used.

    Members
    -------
    packed : beats of new DL flits; taken only in slots that carry one.
    accept : may the flit whose beat 0 the packer makes now be a payload flit?
    beat : what goes to the CRC generator; framing never breaks, not by ``flush`` either.
    next_kind : what slots that begin from now on carry; DATA slots are DL flits.
    up : link state Up: payload flits are allowed.
    flush : forget all flits and all registers of the replay; the packer must be flushed with it.
    slot_end : the last beat of a slot moves.
    codeword_group, rx_last_seq_calc, request_replay : as of ``HeaderScheduler``.
    rx_last_ack, replay, replay_from : as of ``ReplayBuffer``.
    tx_last_seq, tx_replay, held : newest number given out, replay in progress, unacknowledged flits.
    flit_sent, payload_sent, flit_replayed : pulses with ``slot_end``: a DL flit, one with payload, one out of TxReplay.
    egress_error : pulse with ``slot_end``: the flit is spoilt, or the pointers or the own state are, until ``flush``.
    """

    def __init__(self, config: DLConfig):
        super().__init__(
            {
                "packed": In(stream.Signature(PACKED_BEAT_LAYOUT)),
                "accept": Out(1),
                "beat": Out(stream.Signature(CRC_GENERATOR_INPUT_LAYOUT)),
                "next_kind": In(TxKind, init=TxKind.IDLE),
                "up": In(1),
                "flush": In(1),
                "slot_end": Out(1),
                "codeword_group": In(3, init=4),
                "rx_last_seq_calc": In(SEQ_BITS, init=RESET_SEQ),
                "request_replay": In(1),
                "rx_last_ack": In(SEQ_BITS, init=RESET_SEQ),
                "replay": In(1),
                "replay_from": In(SEQ_BITS),
                "tx_last_seq": Out(SEQ_BITS, init=RESET_SEQ),
                "tx_replay": Out(1),
                "held": Out(SEQ_BITS),
                "flit_sent": Out(1),
                "payload_sent": Out(1),
                "flit_replayed": Out(1),
                "egress_error": Out(1),
            }
        )
        self.buffer = ReplayBuffer(config.replay_depth, data_bits=DATA_BITS + BEAT_BYTES)
        self.scheduler = HeaderScheduler(config.explicit_cadence)
        self.state = ProtectedRegister(STATE_LAYOUT, {"kind": TxKind.IDLE})
        self.slot_beat = self.state.q.beat
        self.slot_fresh = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = ResetInserter(self.flush)(self.buffer)
        m.submodules.scheduler = ResetInserter(self.flush)(self.scheduler)
        m.submodules.state = state = self.state
        buffer, scheduler = self.buffer, self.scheduler
        now, then = state.q, state.d

        beat, fresh, from_buffer = now.beat, self.slot_fresh, now.from_buffer
        is_data = Signal()
        moved = Signal()
        payload = Signal()
        m.d.comb += [
            then.eq(now),
            state.clear.eq(self.flush),
            is_data.eq(now.kind == TxKind.DATA),
            fresh.eq(is_data & ~from_buffer),
            payload.eq(from_buffer | self.packed.p.payload),
            moved.eq(self.beat.valid & self.beat.ready),
            self.slot_end.eq(moved & self.beat.p.last),
            self.packed.ready.eq(self.beat.ready & fresh),
            self.beat.valid.eq(self.packed.valid | ~fresh),
            self.beat.p.first.eq(beat == 0),
            self.beat.p.last.eq(beat == BEATS_PER_FLIT - 1),
            self.beat.p.kind.eq(now.kind),
            self.beat.p.data.eq(Mux(from_buffer, buffer.read_data[:DATA_BITS], self.packed.p.data)),
        ]
        spoilt = self._check(m, is_data)
        m.d.comb += self.beat.p.invert.eq(is_data & self.beat.p.last & spoilt)
        with m.If(moved):
            m.d.comb += [
                then.beat.eq(Mux(self.beat.p.last, 0, beat + 1)),
                then.error.eq(~self.beat.p.last & spoilt),
            ]
        self._header(m, payload, Mux(from_buffer, now.replayed_seq, next_seq(buffer.tx_last_seq)))

        # What the next slot carries.
        next_from_buffer = Signal()
        m.d.comb += next_from_buffer.eq((self.next_kind == TxKind.DATA) & buffer.tx_replay)
        with m.If(self.slot_end):
            m.d.comb += [
                then.kind.eq(self.next_kind),
                then.from_buffer.eq(next_from_buffer),
                then.first_of_replay.eq(next_from_buffer & buffer.tx_first_replay),
            ]
            with m.If(next_from_buffer):
                m.d.comb += then.replayed_seq.eq(buffer.replay_seq)

        m.d.comb += [
            # A flit in its last beat may become one more that is held; before that nobody asks.
            self.accept.eq(self.up & (buffer.held + (self.packed.valid & self.packed.p.payload) < buffer.depth)),
            buffer.write.eq(fresh & moved),
            buffer.write_beat.eq(beat),
            buffer.write_data.eq(Cat(self.packed.p.data, self.packed.p.parity)),
            buffer.store.eq(fresh & self.slot_end & self.packed.p.payload & ~spoilt),
            buffer.rx_last_ack.eq(self.rx_last_ack),
            buffer.replay.eq(self.replay),
            buffer.replay_from.eq(self.replay_from),
            buffer.boundary.eq(self.slot_end | (beat == 0)),
            buffer.read_first.eq(self.slot_end & next_from_buffer),
            buffer.read_next.eq(moved & from_buffer & ~self.beat.p.last),
            self.tx_last_seq.eq(buffer.tx_last_seq),
            self.tx_replay.eq(buffer.tx_replay),
            self.held.eq(buffer.held),
            scheduler.schedule.eq(moved & is_data & (beat == BEATS_PER_FLIT - 2)),
            scheduler.slot_end.eq(self.slot_end),
            scheduler.replay.eq(from_buffer),
            scheduler.first_of_replay.eq(now.first_of_replay),
            scheduler.request_replay.eq(self.request_replay),
            scheduler.rx_last_seq_calc.eq(self.rx_last_seq_calc),
            scheduler.codeword_group.eq(self.codeword_group),
            self.flit_sent.eq(self.slot_end & is_data),
            self.payload_sent.eq(self.flit_sent & payload),
            self.flit_replayed.eq(self.flit_sent & from_buffer),
            self.egress_error.eq(self.slot_end & spoilt),
        ]
        return m

    def _check(self, m, is_data):
        """Whether something of the slot up to this beat is wrong; meaningful when the beat moves."""
        packed, buffer, now = self.packed.p, self.buffer, self.state.q
        bad_bytes = Signal()
        bad_flags = Signal()
        out_of_step = Signal()
        spoilt = Signal()
        parity = Mux(now.from_buffer, buffer.read_data[DATA_BITS:], packed.parity)
        m.d.comb += [
            bad_bytes.eq(parity_mismatch(Mux(now.from_buffer, buffer.read_data[:DATA_BITS], packed.data), parity)),
            bad_flags.eq(even_parity(packed.first, packed.last, packed.payload, packed.error, packed.control_parity)),
            out_of_step.eq((packed.first ^ self.beat.p.first) | (packed.last ^ self.beat.p.last)),
            spoilt.eq(
                (is_data & bad_bytes)
                | (self.slot_fresh & (bad_flags | out_of_step | (self.beat.p.last & packed.error)))
                | now.error
                | buffer.fault
                | self.state.mismatch
            ),
        ]
        return spoilt

    def _header(self, m, payload, payload_seq):
        """Put the header of the scheduler's choice into beat 9; a NOP flit carries the newest number given out."""
        scheduler = self.scheduler
        explicit = Signal(EXPLICIT_HEADER_LAYOUT)
        command = Signal(COMMAND_HEADER_LAYOUT)
        seq = Signal(SEQ_BITS)
        m.d.comb += [
            seq.eq(Mux(payload, payload_seq, self.buffer.tx_last_seq)),
            explicit.op.eq(scheduler.op),
            explicit.payload.eq(payload),
            explicit.flit_seq_no.eq(seq),
            command.op.eq(scheduler.op),
            command.payload.eq(payload),
            command.ack_req_seq.eq(scheduler.ack_req_seq),
            command.flit_seq_lo.eq(seq[:3]),
        ]
        with m.If(self.beat.p.last):
            header = Mux(scheduler.explicit, explicit.as_value(), command.as_value())
            m.d.comb += self.beat.p.data[HEADER_BIT : HEADER_BIT + len(header)].eq(header)
