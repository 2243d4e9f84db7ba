"""Link level replay, sending side: what each flit slot carries, and its header (UALink_200 §6.6.5, §6.6.6.5-7)."""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import DLConfig
from ualink.dl.flit.crc_generator import CRC_GENERATOR_LAYOUT
from ualink.dl.flit.format import BEAT_BYTES, COMMAND_HEADER_LAYOUT, EXPLICIT_HEADER_LAYOUT, FLIT_HEADER_OFFSET
from ualink.dl.flit.packer import PACKED_BEAT_LAYOUT
from ualink.dl.replay.buffer import ReplayBuffer, share_members
from ualink.dl.replay.header_scheduler import HeaderScheduler
from ualink.dl.replay.sequence import RESET_SEQ, SEQ_BITS, next_seq
from ualink.lib.parity import ProtectedRegister, byte_parity, even_parity, parity_mismatch
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
    }
)
"""What the slot in hand carries, and how far it is."""

STAGE_LAYOUT = data.StructLayout(
    {
        "valid": 1,
        "beat": range(BEATS_PER_FLIT),
        "last": 1,
        "kind": TxKind,
        "fresh": 1,
        "replayed": 1,
        "payload": 1,
        "bad": 1,
    }
)
"""The beat on offer: its number, and whether that is 9; the kind of its slot, whether it is of a new flit or of one out
of TxReplay, and of one with payload; ``bad``: its source marked it, or was out of step."""

VERDICT_LAYOUT = data.StructLayout(
    {"new": 1, "last": 1, "is_data": 1, "fresh": 1, "replayed": 1, "payload": 1, "bad": 1, "struck": 1}
)
"""The beat that was taken last, in this cycle's predecessor if ``new``; ``struck``: its CRC is inverted on demand."""


class ReplayTransmit(wiring.Component):
    """Fills flit slots of ten beats, back to back, from packer or TxReplay, and puts the flit header into beat 9.

    Cut-through: a beat of a new flit goes from ``packed`` to ``beat`` in one cycle, and into TxReplay as it leaves.
    What a slot carries is decided in the cycle in which the slot before ends, the kind of header one beat before it is
    made.
    A Replay Request takes effect, and sets ``tx_replay``, when the address of its flit is known: a replay starts with
    the first slot that begins five cycles after the Request or later. From then on every DL flit comes out of TxReplay
    until the replay has reached the newest; a further Request and an Ack only change which one.

    This is where the parity of the bytes ends: while the CRC generator takes a beat of a DL flit, out of packer or
    TxReplay alike, its bytes are checked, and so are the flags of the packer, its step with the slots, the pointers of
    TxReplay and the own state (UALink_200 §6.7.3). The verdict is known one cycle later: a flit in which one of these
    is wrong, or that its source marked with ``error``, gets an inverted CRC by then, gets no number, is not kept, and
    is reported by ``egress_error``, in time for ``withhold`` to stop the slot after it (UALink_200 §6.7.4.2).

    Parameters
    ----------
    config : ``replay_depth`` and ``explicit_cadence`` are used.
    shared : ports that are used share TxReplay; there are ``share_members`` of ``ReplayBuffer``.

    Members
    -------
    packed : beats of new DL flits; taken only in slots that carry one.
    accept_one, accept_two : one more payload flit, two more have room, counted from the last that went to TxReplay; a
        flit of which a beat is on offer at ``packed`` takes one of these places, if it has payload.
    beat : what goes to the CRC generator, out of a register; framing never breaks, not by ``flush`` either. Nothing
        moves without ``ready``, which must not wait for ``valid``: a gap stays one.
    invert : of the beat taken last, from the next cycle until another is taken: it ends a flit whose CRC is inverted.
    strike : the CRC of the DL flit whose last beat is taken now is to be inverted though nothing is wrong.
    withhold : what goes out are no DL flits, from the beat on offer on; with the first beat of a slot only.
    next_kind : what slots that begin from now on carry; DATA slots are DL flits.
    up : link state Up: payload flits are allowed.
    flush : forget all flits and all registers of the replay; the packer must be flushed with it.
    slot_end : the last beat of a slot goes to the register behind ``beat``: the next slot begins.
    codeword_group, rx_last_seq_calc, request_replay : as of ``HeaderScheduler``.
    rx_last_ack, replay, replay_from : as of ``ReplayBuffer``, which hears of the latter two a cycle later.
    tx_last_seq, tx_replay, held : newest number given out, replay in progress, unacknowledged flits.
    flit_sent, payload_sent, flit_replayed : pulses, one cycle after the last beat was taken: a DL flit, one with
        payload, one out of TxReplay.
    egress_error : pulse, in the same cycle: the flit is spoilt, or the pointers or the own state are, until ``flush``.
    """

    def __init__(self, config: DLConfig, *, shared: bool = False):
        self._shared = shared
        super().__init__(
            {
                **(share_members(config.replay_depth) if shared else {}),
                "packed": In(stream.Signature(PACKED_BEAT_LAYOUT)),
                "accept_one": Out(1),
                "accept_two": Out(1),
                "beat": Out(stream.Signature(CRC_GENERATOR_LAYOUT)),
                "invert": Out(1),
                "strike": In(1),
                "withhold": In(1),
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
        kind = {"shared": True} if shared else {}
        self.buffer = ReplayBuffer(config.replay_depth, data_bits=DATA_BITS + BEAT_BYTES, **kind)
        self.scheduler = HeaderScheduler(config.explicit_cadence)
        self.state = ProtectedRegister(STATE_LAYOUT, {"kind": TxKind.IDLE})
        self.stage = ProtectedRegister(STAGE_LAYOUT, {"kind": TxKind.IDLE})
        self.verdict = ProtectedRegister(VERDICT_LAYOUT)
        self.slot_beat = self.state.q.beat
        self.slot_fresh = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = ResetInserter(self.flush)(self.buffer)
        m.submodules.scheduler = ResetInserter(self.flush)(self.scheduler)
        m.submodules.state = state = self.state
        m.submodules.stage = stage = self.stage
        m.submodules.verdict = self.verdict
        buffer, scheduler = self.buffer, self.scheduler
        now, then, packed = state.q, state.d, self.packed.p
        if self._shared:
            m.d.comb += [buffer.share.eq(self.share), buffer.first_row.eq(self.first_row)]

        beat, fresh, from_buffer = now.beat, self.slot_fresh, now.from_buffer
        is_data = Signal()
        ready = Signal()
        moved = Signal()
        last = Signal()
        m.d.comb += [
            then.eq(now),
            state.clear.eq(self.flush),
            stage.clear.eq(self.flush),
            is_data.eq(now.kind == TxKind.DATA),
            fresh.eq(is_data & ~from_buffer),
            last.eq(beat == BEATS_PER_FLIT - 1),
            ready.eq(self.beat.ready),
            moved.eq(ready & (self.packed.valid | ~fresh)),
            self.slot_end.eq(moved & last),
            self.packed.ready.eq(ready & fresh),
        ]
        with m.If(moved):
            m.d.comb += then.beat.eq(Mux(last, 0, beat + 1))

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

        # A register between the Request of the partner and the pointers of TxReplay, which has one for Acks.
        replay = Signal()
        replay_from = Signal(SEQ_BITS, reset_less=True)
        m.d.sync += [replay.eq(self.replay), replay_from.eq(self.replay_from)]
        with m.If(self.flush):
            m.d.sync += replay.eq(0)

        content, parity = self._offer(m, moved, ready, last)
        wrong, spoilt, verdict = self._verdict(m, content, parity)
        ended = verdict.new & verdict.last

        m.d.comb += [
            self.accept_one.eq(self.up & buffer.room_for_one),
            self.accept_two.eq(self.up & buffer.room_for_two),
            buffer.write.eq(stage.q.valid & stage.q.fresh & self.beat.ready),
            buffer.write_beat.eq(stage.q.beat),
            buffer.write_data.eq(Cat(content, parity)),
            buffer.storing.eq(fresh & self.slot_end & packed.payload),
            buffer.ended.eq(ended & verdict.fresh & verdict.payload),
            # A mismatch of the verdict's own is left out: it spoils this flit and all that follow until ``flush``.
            buffer.store.eq(buffer.ended & verdict.is_data & ~wrong),
            buffer.rx_last_ack.eq(self.rx_last_ack),
            buffer.replay.eq(replay),
            buffer.replay_from.eq(replay_from),
            buffer.boundary.eq(self.slot_end | (beat == 0) | (stage.q.valid & (stage.q.beat == 0))),
            buffer.moves.eq(moved),
            buffer.read.eq(moved & Mux(last, next_from_buffer, from_buffer)),
            buffer.read_first.eq(last),
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
            self.flit_sent.eq(ended & verdict.is_data),
            self.payload_sent.eq(self.flit_sent & verdict.payload),
            self.flit_replayed.eq(self.flit_sent & verdict.replayed),
            self.egress_error.eq(ended & spoilt),
            self.invert.eq(verdict.is_data & verdict.last & (spoilt ^ verdict.struck)),
        ]
        return m

    def _offer(self, m, moved, ready, last):
        """The beat on offer: content and parity of a beat of either source, and what is known of it."""
        packed, buffer, now = self.packed.p, self.buffer, self.state.q
        stage, then = self.stage.q, self.stage.d
        fresh, from_buffer = self.slot_fresh, now.from_buffer
        content = Signal(DATA_BITS, reset_less=True)
        parity = Signal(BEAT_BYTES, reset_less=True)
        payload = Signal()
        bad_flags = Signal()
        out_of_step = Signal()
        m.d.comb += [
            then.eq(stage),
            payload.eq(from_buffer | packed.payload),
            bad_flags.eq(even_parity(packed.first, packed.last, packed.payload, packed.error, packed.control_parity)),
            out_of_step.eq((packed.first ^ (now.beat == 0)) | (packed.last ^ last)),
            self.beat.valid.eq(stage.valid),
            self.beat.p.first.eq(stage.beat == 0),
            self.beat.p.last.eq(stage.last),
            self.beat.p.kind.eq(stage.kind),
            self.beat.p.data.eq(content),
        ]
        with m.If(self.withhold & (stage.kind == TxKind.DATA)):
            m.d.comb += self.beat.p.kind.eq(TxKind.IDLE)
        with m.If(ready):
            m.d.comb += [
                then.valid.eq(moved),
                then.beat.eq(now.beat),
                then.last.eq(last),
                then.kind.eq(now.kind),
                then.fresh.eq(fresh),
                then.replayed.eq(from_buffer),
                then.payload.eq(payload),
                then.bad.eq(fresh & (bad_flags | out_of_step | (last & packed.error))),
            ]
            m.d.sync += [
                content.eq(Mux(from_buffer, buffer.read_data[:DATA_BITS], packed.data)),
                parity.eq(Mux(from_buffer, buffer.read_data[DATA_BITS:], packed.parity)),
            ]
            with m.If(last):
                header = self._header(m, payload, Mux(from_buffer, now.replayed_seq, next_seq(buffer.tx_last_seq)))
                m.d.sync += [
                    content[HEADER_BIT : HEADER_BIT + len(header)].eq(header),
                    parity[HEADER_BIT // 8 : (HEADER_BIT + len(header)) // 8].eq(byte_parity(header)),
                ]
        return content, parity

    def _verdict(self, m, content, parity):
        """Whether something of the slot up to the beat taken last is wrong; the same and the verdict's own mismatch."""
        verdict = self.verdict
        stage, now, then = self.stage.q, verdict.q, verdict.d
        taken = stage.valid & self.beat.ready
        bad_bytes = Signal()
        error = Signal()
        faulty = Signal()
        wrong, spoilt = Signal(), Signal()
        # What is wrong with a register spoils what leaves it a cycle later or more; those of the verdict are used now.
        # The link may go down with a flit whose last beat has not been taken yet: what spoils it outlives the flush.
        m.d.sync += [
            faulty.eq(self.buffer.fault | self.state.mismatch | self.stage.mismatch),
            error.eq(spoilt & ~(taken & now.last)),
        ]
        m.d.comb += [
            then.eq(now),
            then.new.eq(taken),
            verdict.clear.eq(self.flush),
            wrong.eq(now.bad | bad_bytes | error | faulty),
            spoilt.eq(wrong | verdict.mismatch),
        ]
        is_data = self.beat.p.kind == TxKind.DATA
        with m.If(taken):
            m.d.comb += [
                then.last.eq(self.beat.p.last),
                then.is_data.eq(is_data),
                then.fresh.eq(stage.fresh),
                then.replayed.eq(stage.replayed),
                then.payload.eq(stage.payload),
                then.bad.eq(stage.bad),
                then.struck.eq(self.strike),
            ]
            m.d.sync += bad_bytes.eq(is_data & parity_mismatch(content, parity))
        return wrong, spoilt, now

    def _header(self, m, payload, payload_seq):
        """The header of the scheduler's choice, for beat 9; a NOP flit carries the newest number given out."""
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
        return Mux(scheduler.explicit, explicit.as_value(), command.as_value())
