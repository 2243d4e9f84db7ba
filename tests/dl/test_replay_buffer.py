"""TxReplay: what it holds is what was sent; proved for small depths, tried at random for real ones."""

import random
from collections import deque

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from formal import prove
from ualink.config import ConfigError
from ualink.dl.replay_buffer import ReplayBuffer
from ualink.dl.sequence import ack_in_range, is_held, next_seq
from ualink_sim.model.dl_sequence import seq_advance, seq_distance

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")


@pytest.mark.parametrize("depth", [0, 1, 256, True, 3.0])
def test_refuses_depth(depth):
    with pytest.raises(ConfigError, match=f"replay_depth is {depth!r}"):
        ReplayBuffer(depth)


class Slots(wiring.Component):
    """A buffer in the hands of any sender that sends whole flits of two beats, stores only when it had room at beat 0,
    and replays what is held.

    The solver chooses every beat, what each slot is for, when Acks and Replay Requests come, and a flit to look after.
    """

    write_data: In(2)
    store: In(1)
    next_replay: In(1)
    ack: In(9)
    replay: In(1)
    replay_from: In(9)
    watched: In(9)
    watched_beat: In(1)

    def __init__(self, depth, careful=True):
        self._careful = careful
        self.buffer = ReplayBuffer(depth, beats=2, data_bits=2)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = self.buffer
        beat, from_buffer, started = Signal(), Signal(), Signal()
        rx_last_ack = Signal(9, init=511)
        watched, watched_beat = Signal(9), Signal()
        replaying = Signal(9)
        room = Signal()
        slot_end = beat
        starts_replay = slot_end & self.next_replay & buffer.replay_ready
        m.d.comb += [
            Assume(ack_in_range(self.ack, rx_last_ack, buffer.tx_last_seq)),
            Assume(self.ack != 0),
            Assume(~self.replay | (self.replay_from != 0)),
            Assume(~self.replay | is_held(self.replay_from, rx_last_ack, buffer.tx_last_seq)),
            Assume(~self.store | room | (not self._careful)),
            buffer.rx_last_ack.eq(rx_last_ack),
            buffer.write.eq(~from_buffer),
            buffer.write_beat.eq(beat),
            buffer.write_data.eq(self.write_data),
            buffer.store.eq(slot_end & ~from_buffer & self.store),
            buffer.replay.eq(self.replay),
            buffer.replay_from.eq(self.replay_from),
            buffer.read_first.eq(starts_replay),
            buffer.read_next.eq(from_buffer & ~beat),
        ]
        m.d.sync += [started.eq(1), rx_last_ack.eq(self.ack), beat.eq(~beat)]
        with m.If(~beat):
            m.d.sync += room.eq(buffer.held < buffer.depth)
        with m.If(slot_end):
            m.d.sync += from_buffer.eq(starts_replay)
        with m.If(starts_replay):
            m.d.sync += replaying.eq(buffer.replay_seq)

        # One flit and one of its beats, chosen at the start, and what was written there.
        m.d.sync += [watched.eq(self.watched), watched_beat.eq(self.watched_beat)]
        with m.If(started):
            m.d.comb += [Assume(self.watched == watched), Assume(self.watched_beat == watched_beat)]
        draft, kept, is_kept = Signal(2), Signal(2), Signal()
        with m.If(buffer.write & (beat == self.watched_beat)):
            m.d.sync += draft.eq(self.write_data)
        with m.If(buffer.store & (next_seq(buffer.tx_last_seq) == self.watched)):
            m.d.sync += [kept.eq(Mux(self.watched_beat, self.write_data, draft)), is_kept.eq(1)]
        m.d.comb += [
            Assert(buffer.held <= buffer.depth),
            Assert(~starts_replay | is_held(buffer.replay_seq, rx_last_ack, buffer.tx_last_seq)),
        ]
        with m.If(from_buffer & is_kept & (replaying == self.watched) & (beat == self.watched_beat)):
            m.d.comb += Assert(buffer.read_data == kept)
        return m


@pytest.mark.req("DL-119", "DL-127")
def test_replays_what_was_written():
    prove(Slots(2), mode="bmc", depth=12)


def test_careless_sender_is_refuted():
    with pytest.raises(AssertionError):
        prove(Slots(2, careful=False), mode="bmc", depth=12)


@pytest.mark.req("DL-119", "DL-125", "DL-126", "DL-127", "DL-160")
@pytest.mark.parametrize(("depth", "seed"), [(2, 0), (3, 1), (5, 2), (17, 3)])
def test_random(depth, seed):
    dut = ReplayBuffer(depth, beats=3, data_bits=16)
    rng = random.Random(seed)

    async def bench(ctx):
        held: deque[tuple[int, list[int]]] = deque()
        last_ack = tx_last = 511
        replay_next = None
        for _ in range(900):
            start = replay_next is not None and ctx.get(dut.replay_ready)
            if start:
                expected = seq_distance(held[0][0], replay_next)
                assert ctx.get(dut.replay_seq) == replay_next
                await pulse(ctx, read_first=1)
                beats = [ctx.get(dut.read_data)]
                for _ in range(2):
                    await pulse(ctx, read_next=1)
                    beats.append(ctx.get(dut.read_data))
                assert beats == held[expected][1]
                replay_next = None if replay_next == tx_last else seq_advance(replay_next, 1)
            elif replay_next is None:
                beats = [rng.getrandbits(16) for _ in range(3)]
                keep = len(held) < depth and rng.random() < 0.8
                for n, beat in enumerate(beats):
                    await pulse(ctx, write=1, write_beat=n, write_data=beat, store=keep and n == 2)
                if keep:
                    tx_last = seq_advance(tx_last, 1)
                    held.append((tx_last, beats))
            else:
                await pulse(ctx)
            assert ctx.get(dut.tx_replay) == (replay_next is not None)
            assert ctx.get(dut.tx_last_seq) == tx_last
            assert ctx.get(dut.held) == len(held)
            if held and rng.random() < 0.4:
                for _ in range(rng.randint(1, len(held))):
                    last_ack = held.popleft()[0]
                ctx.set(dut.rx_last_ack, last_ack)
                if replay_next is not None and seq_distance(replay_next, last_ack) <= 256:
                    replay_next = held[0][0] if held else None
                await pulse(ctx)
            if held and rng.random() < 0.2:
                replay_next = rng.choice(held)[0]
                await pulse(ctx, replay=1, replay_from=replay_next)

    async def pulse(ctx, **values):
        for name, value in values.items():
            ctx.set(getattr(dut, name), value)
        await ctx.tick()
        for name in values:
            ctx.set(getattr(dut, name), 0)

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
