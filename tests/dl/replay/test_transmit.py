"""Flit slots: no payload flit without room in TxReplay, proved; framing and sources in simulation."""

import random
from collections import deque

import pytest
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from support.tl.flits import byte_parity
from ualink.config import DLConfig
from ualink.dl.replay.sequence import RESET_SEQ, ack_in_range, is_held, seq_distance
from ualink.dl.replay.transmit import ReplayTransmit
from ualink.phy.interface import TxKind
from ualink_sim.model.dl.header import ExplicitHeader, decode_header


class AnyPacker(wiring.Component):
    """A transmitter between any packer that makes no more payload flits than are accepted, any partner by the rules,
    and a wire that stalls."""

    fills: In(1)
    error: In(1)
    ready: In(1)
    next_kind: In(TxKind)
    up: In(1)
    ack: In(9)
    replay: In(1)
    replay_from: In(9)
    offers: In(1)

    def __init__(self, heeds=True):
        self._heeds = heeds
        self.transmit = ReplayTransmit(DLConfig(replay_depth=2))
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.transmit = transmit = self.transmit
        packed = transmit.packed
        beat, allowed, filled, shown = Signal(4), Signal(), Signal(), Signal()
        rx_last_ack = Signal(9, init=511)
        moved = packed.valid & packed.ready
        makes = ~packed.valid | moved
        m.d.sync += rx_last_ack.eq(self.ack)
        m.d.comb += [
            packed.valid.eq(shown),
            packed.p.first.eq(beat == 0),
            packed.p.last.eq(beat == 9),
            packed.p.payload.eq(filled),
            packed.p.error.eq(self.error),
            packed.p.control_parity.eq(Cat(packed.p.first, packed.p.last, filled, self.error).xor()),
            transmit.beat.ready.eq(self.ready),
            transmit.next_kind.eq(self.next_kind),
            transmit.up.eq(self.up),
            transmit.rx_last_ack.eq(rx_last_ack),
            transmit.replay.eq(self.replay),
            transmit.replay_from.eq(self.replay_from),
            Assume(self.ack != 0),
            Assume(ack_in_range(seq_distance(rx_last_ack, self.ack), seq_distance(rx_last_ack, transmit.tx_last_seq))),
            Assume(~self.replay | (self.replay_from != 0)),
            Assume(
                ~self.replay
                | is_held(seq_distance(rx_last_ack, self.replay_from), seq_distance(rx_last_ack, transmit.tx_last_seq))
            ),
        ]
        # Like the packer: a beat is made when there is none or the last is taken; whether a flit is accepted is known
        # in the cycle before its beat 0 is made, from whether the one before it has payload.
        next_beat = Signal(4)
        next_filled = Signal()
        permitted = Signal()
        with m.If(shown):
            m.d.comb += next_beat.eq((beat != 9).replicate(4) & (beat + 1))
        with m.If(next_beat == 0):
            m.d.comb += next_filled.eq(permitted & self.fills)
        with m.Else():
            m.d.comb += next_filled.eq(filled | (allowed & self.fills))
        with m.If(makes):
            m.d.sync += [shown.eq(1), beat.eq(next_beat), filled.eq(next_filled)]
            with m.If(next_beat == 0):
                m.d.sync += allowed.eq(permitted)
        with m.If(Mux(makes, next_beat, beat) == 9):
            holds = Mux(makes, next_filled, filled)
            m.d.sync += permitted.eq(Mux(holds, transmit.accept_two, transmit.accept_one) | (not self._heeds))

        buffer, stage, verdict = transmit.buffer, transmit.stage.q, transmit.verdict.q
        next_is_new, ended_replaying = Signal(), Signal()
        stored = Signal(3)
        held, coming = Signal(9), Signal(2)
        m.d.sync += [ended_replaying.eq(transmit.slot_end & transmit.tx_replay), stored[1:].eq(stored)]
        stage_ends = stage.valid & (stage.beat == 9)
        verdict_ends = verdict.new & verdict.last
        m.d.comb += [
            stored[0].eq(buffer.store),
            held.eq(seq_distance(rx_last_ack, transmit.tx_last_seq)),
            coming.eq((stage_ends & stage.fresh & stage.payload) + buffer.ended),
            # No new flit starts while Tx_replay is 1: neither when the slot before it ends, nor while its first beat
            # is on offer, however long that is.
            next_is_new.eq(transmit.slot_fresh & (transmit.slot_beat == 0)),
            Assert(~(next_is_new & (ended_replaying | transmit.tx_replay))),
            Assert(~buffer.store | (held < buffer.depth)),
            Assert(held <= buffer.depth),
            # What makes it so: an allowed flit has its place until it has gone, and so have those that went before.
            Assert(held + coming + (shown & allowed) <= buffer.depth),
            Assert(~(shown & (beat == 9) & permitted) | (held + coming + filled < buffer.depth)),
            Assert(~filled | allowed),
            Assert(~buffer.room_for_one | (held < buffer.depth + stored[1] + stored[2])),
            Assert(~buffer.room_for_two | (held + 1 < buffer.depth + stored[1] + stored[2])),
            Assert(held <= buffer.held + stored[1]),
            Assert((rx_last_ack != 0) & (buffer.tx_last_seq != 0)),
            Assert(buffer.newest.q.seq_is_last == (buffer.tx_last_seq == RESET_SEQ)),
            # The packer and the slots keep step; between new flits the packer waits with beat 0.
            Assert((beat <= 9) & (transmit.slot_beat <= 9)),
            Assert((stage.beat <= 9) & (stage.last == (stage.beat == 9))),
            Assert(~transmit.slot_fresh | (shown & (beat == transmit.slot_beat))),
            Assert(transmit.slot_fresh | (beat == 0)),
            # Behind the slots comes the stage, and behind that the verdict.
            Assert(~stage.valid | (transmit.slot_beat == Mux(stage.beat == 9, 0, stage.beat + 1))),
            Assert(~verdict_ends | (stage.valid & (stage.beat == 0))),
            Assert(~stored[1] | (transmit.slot_beat == 1) | (transmit.slot_beat == 2)),
            Assert(~stored[2] | (transmit.slot_beat >= 1) & (transmit.slot_beat <= 3)),
            Assert(shown | ~(stage.valid & stage.fresh)),
            Assert(~buffer.awaits | (~transmit.slot_fresh & (coming != 0))),
        ]
        return m


def packed_beat(data, index, payload=False, error=False):
    """Beat ``index`` of a DL flit as the packer hands it over."""
    return {
        "data": data,
        "parity": byte_parity(data),
        "first": index == 0,
        "last": index == 9,
        "payload": payload,
        "error": error,
        "control_parity": ((index in (0, 9)) + payload + error) & 1,
    }


@pytest.mark.req("DL-119", "DL-157", "DL-183")
def test_never_overflows_and_nothing_new_starts_in_a_replay():
    prove(AnyPacker(), mode="prove", depth=3)


def test_heedless_packer_is_refuted():
    with pytest.raises(AssertionError):
        prove(AnyPacker(heeds=False), mode="prove", depth=3)


@pytest.mark.req(
    "DL-003", "DL-126", "DL-140", "DL-143", "DL-157", "DL-159", "DL-160", "DL-161", "DL-132", "DL-133", "DL-134"
)
@pytest.mark.parametrize("seed", range(3))
def test_slots(seed):
    """Slots of all sources under stalls: ten beats each, numbers in order, replays complete and explicit first."""
    dut = ReplayTransmit(DLConfig(replay_depth=5))
    rng = random.Random(seed)

    async def bench(ctx):
        held: deque[tuple[int, list[int]]] = deque()
        replay: deque[tuple[int, list[int]]] = deque()
        last_seq, last_ack, first_replay = 511, 511, False
        beats: list[int] = []
        packed: list[int] = []
        payload = False
        fresh: list[bool] = []
        asked_at = -10
        ctx.set(dut.up, 1)
        ctx.set(dut.next_kind, TxKind.DATA)
        ctx.set(dut.packed.valid, 1)
        for cycle in range(1500):
            if not packed:
                accepted = ctx.get(dut.accept_two if payload else dut.accept_one)
                payload = bool(accepted) and rng.random() < 0.8
                packed = [rng.getrandbits(384) for _ in range(10)]
            taken = ctx.get(dut.packed.ready)
            ctx.set(dut.beat.ready, rng.random() < 0.8)
            index = 10 - len(packed)
            ctx.set(dut.packed.p, packed_beat(packed[0], index, payload))
            taken = ctx.get(dut.packed.ready)
            ctx.set(dut.replay, 0)
            # The register behind the slots is empty in the first cycle only.
            assert ctx.get(dut.beat.valid) == (cycle > 0)
            if ctx.get(dut.beat.ready) and ctx.get(dut.beat.valid):
                p = dut.beat.p
                assert ctx.get(p.first) == (not beats)
                beats.append(ctx.get(p.data))
                assert ctx.get(p.last) == (len(beats) == 10)
                if len(beats) == 10 and ctx.get(p.kind) == TxKind.DATA:
                    header = decode_header(beats[9] >> 384 & 0xFFFFFF)
                    beats[9] &= (1 << 384) - 1
                    explicit = isinstance(header, ExplicitHeader)
                    if fresh:
                        filled = fresh.pop()
                        last_seq = last_seq % 511 + 1 if filled else last_seq
                        sequence = last_seq
                        assert header.payload == filled
                        if filled:
                            held.append((last_seq, beats))
                            assert len(held) <= 5
                            if replay:
                                replay.append(held[-1])
                    else:
                        assert replay and header.payload
                        sequence, content = replay.popleft()
                        assert beats == content
                        assert explicit or not first_replay
                        assert not explicit or header.replay
                        first_replay = False
                    low = header.flit_seq_no if explicit else header.flit_seq_lo
                    assert low == (sequence if explicit else sequence & 7)
                if len(beats) == 10:
                    beats = []
            if taken:
                packed.pop(0)
                if not packed:
                    fresh.append(payload)
            if held and not replay and len(beats) >= 2 and rng.random() < 0.05:
                last_ack = held.popleft()[0]
                ctx.set(dut.rx_last_ack, last_ack)
            if held and not replay and len(beats) in range(2, 5) and cycle > asked_at + 40:
                start = rng.randrange(len(held))
                replay = deque(list(held)[start:])
                first_replay, asked_at = True, cycle
                ctx.set(dut.replay, 1)
                ctx.set(dut.replay_from, replay[0][0])
            await ctx.tick()
        assert asked_at > 0

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
