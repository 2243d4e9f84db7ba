"""TxReplay: what it holds is what was sent; proved for small depths, tried at random for real ones."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.dl.replay.buffer import ReplayBuffer
from ualink.dl.replay.sequence import ack_in_range, is_held, next_seq
from ualink.dl.replay.sequence import seq_distance as distance
from ualink_sim.model.dl.sequence import seq_advance, seq_distance

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")


@pytest.mark.parametrize("depth", [0, 1, 256, True, 3.0])
def test_refuses_depth(depth):
    with pytest.raises(ConfigError, match=f"replay_depth is {depth!r}"):
        ReplayBuffer(depth)


class Slots(wiring.Component):
    """A buffer in the hands of any sender that sends whole flits of three beats, stores only when it had room as the
    slot before ended, sends nothing new while Tx_replay is 1, and replays what was held when its replay began.

    A beat waits in a register until it is taken; it is written then, and the verdict on its flit follows. The solver
    chooses every beat, how long it stays, what each slot is for, which flits are spoilt, when Acks and Replay Requests
    come, and a flit to look after.
    """

    stall: In(1)
    write_data: In(2)
    payload: In(1)
    spoilt: In(1)
    next_replay: In(1)
    ack: In(9)
    replay: In(1)
    replay_from: In(9)
    watched: In(9)
    watched_beat: In(3)

    def __init__(self, depth, careful=True):
        self._careful = careful
        self.buffer = ReplayBuffer(depth, beats=5, data_bits=2)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = self.buffer
        beat, from_buffer, is_new, started = Signal(3), Signal(), Signal(init=1), Signal()
        rx_last_ack = Signal(9, init=511)
        watched, watched_beat = Signal(9), Signal(3)
        replaying = Signal(9)
        room = Signal(init=1)
        offered = Signal(data.StructLayout({"valid": 1, "beat": 3, "is_new": 1, "data": 2, "keep": 1}))
        ended = Signal()
        last = beat == 4
        ready = ~offered.valid | ~self.stall
        taken = offered.valid & ~self.stall
        slot_end = ready & last
        storing = slot_end & is_new & self.payload
        held = distance(rx_last_ack, buffer.tx_last_seq)
        starts_replay = slot_end & self.next_replay & buffer.tx_replay
        m.d.comb += [
            Assume(ack_in_range(distance(rx_last_ack, self.ack), held)),
            Assume(self.ack != 0),
            Assume(~self.replay | (self.replay_from != 0)),
            Assume(~self.replay | is_held(distance(rx_last_ack, self.replay_from), held)),
            Assume(~self.payload | room | (not self._careful)),
            buffer.rx_last_ack.eq(self.ack),
            # A slot that is neither a new flit nor a replayed one carries none.
            buffer.write.eq(taken & offered.is_new),
            buffer.write_beat.eq(offered.beat),
            buffer.write_data.eq(offered.data),
            buffer.storing.eq(storing),
            buffer.ended.eq(ended),
            buffer.store.eq(ended & ~self.spoilt),
            buffer.boundary.eq(slot_end | (beat == 0) | (offered.valid & (offered.beat == 0))),
            buffer.replay.eq(self.replay),
            buffer.replay_from.eq(self.replay_from),
            buffer.moves.eq(ready),
            buffer.read.eq(Mux(last, starts_replay, from_buffer & ready)),
            buffer.read_first.eq(last),
        ]
        m.d.sync += [started.eq(1), rx_last_ack.eq(self.ack), ended.eq(taken & offered.keep)]
        with m.If(ready):
            m.d.sync += [
                beat.eq(Mux(last, 0, beat + 1)),
                offered.valid.eq(1),
                offered.beat.eq(beat),
                offered.is_new.eq(is_new),
                offered.data.eq(self.write_data),
                offered.keep.eq(storing),
            ]
        with m.If(slot_end):
            m.d.sync += [
                from_buffer.eq(starts_replay),
                is_new.eq(~buffer.tx_replay),
                room.eq(Mux(storing, buffer.room_for_two, buffer.room_for_one)),
            ]
        with m.If(starts_replay):
            m.d.sync += replaying.eq(buffer.replay_seq)

        # One flit and one of its beats, chosen at the start, and what was written there.
        m.d.sync += [watched.eq(self.watched), watched_beat.eq(self.watched_beat)]
        m.d.comb += Assume(self.watched_beat < 5)
        with m.If(started):
            m.d.comb += [Assume(self.watched == watched), Assume(self.watched_beat == watched_beat)]
        draft, kept, is_kept = Signal(2), Signal(2), Signal()
        with m.If(taken & offered.is_new & (offered.beat == self.watched_beat)):
            m.d.sync += draft.eq(offered.data)
        with m.If(buffer.store & (next_seq(buffer.tx_last_seq) == self.watched)):
            m.d.sync += [kept.eq(draft), is_kept.eq(1)]
        m.d.comb += [
            Assert(held <= buffer.depth),
            # The slot before this one was no flit, or there was nothing to replay when it ended.
            Assert(~(is_new & (beat == 0) & buffer.tx_replay)),
        ]
        with m.If(from_buffer & is_kept & (replaying == self.watched) & (beat == self.watched_beat)):
            m.d.comb += Assert(buffer.read_data == kept)
        return m


class Replay:
    """Which flit is replayed next; what moves it does so three cycles later, or one after ``boundary``, cycle by cycle,
    has ended."""

    def __init__(self):
        self.last_ack = self.tx_last = 511
        self.pointer: int | None = None
        self.awaits = False
        self.boundary = [True]
        self._coming: int | None = None
        self._due = self._said = self.compared_late = 0

    @property
    def held(self) -> int:
        return seq_distance(self.last_ack, self.tx_last)

    def ask(self, cycle: int, number: int) -> None:
        self.at(cycle + 1)
        self._coming, self._due, self._said = number, cycle + 3, cycle

    def ack(self, cycle: int, number: int) -> None:
        self.at(cycle)
        self.last_ack = number
        follows = self.pointer if self._coming is None else self._coming
        if not self.held:
            self.pointer = self._coming = None
        elif follows is not None and not 1 <= seq_distance(number, follows) <= self.held:
            # Where the pointer goes is compared from the second cycle on after it has been said; the Ack of that cycle
            # says where it goes instead.
            if self._coming is not None and cycle <= self._said:
                self._coming = seq_advance(number, 1)
                return
            if self._coming is not None and cycle == self._said + 1:
                self.compared_late += 1
                cycle += 1
            self._coming, self._due, self._said = seq_advance(number, 1), cycle + 3, cycle

    def at(self, cycle: int) -> int | None:
        """The flit that a replay goes on with if a slot ends in ``cycle``; None: there is no replay."""
        if self._coming is not None and self._due <= cycle and not self.boundary[cycle - 1]:
            self.pointer, self._coming, self.awaits = self._coming, None, False
        return self.pointer

    def started(self, storing: bool) -> None:
        """The flit was started; one that is being stored as its slot ends is part of the replay."""
        ended = self.pointer == self.tx_last
        self.awaits = ended and storing
        self.pointer = None if ended else seq_advance(self.pointer, 1)

    def verdict(self, cycle: int, stored: bool) -> None:
        """That on the flit that was being stored."""
        self.at(cycle + 1)
        if stored:
            self.tx_last = seq_advance(self.tx_last, 1)
            if self.awaits:
                self.pointer = self.tx_last
        self.awaits = False


@pytest.mark.req("DL-119", "DL-125", "DL-126", "DL-127", "DL-160", "DL-183")
@pytest.mark.parametrize(("depth", "seed"), [(2, 0), (3, 1), (5, 2), (17, 3)])
def test_random(depth, seed):
    """Slots of six beats with stalls; Acks and Replay Requests in any cycle, as near to each other as can be."""
    dut = ReplayBuffer(depth, beats=6, data_bits=16)
    rng = random.Random(seed)
    events = {"continued": 0, "jumped": 0, "one new flit more": 0, "awaited": 0}
    replay = Replay()

    async def bench(ctx):
        contents: dict[int, list[int]] = {}
        beat, reading, room, draft = 0, None, True, [0] * 6
        held, written, ending, judged, acked = 0, None, None, None, None
        for cycle in range(4000):
            moved = rng.random() < 0.8
            end = moved and beat == 5
            boundary = end or beat == 0 or (written is not None and written[0] == 0)
            ctx.set(dut.boundary, boundary)
            replay.boundary[cycle:] = [boundary]
            if reading is not None:
                assert ctx.get(dut.read_data) == contents[reading][beat]
            assert ctx.get(dut.held) == held
            # One cycle after a beat has moved it is written, and one after the last of them comes the verdict.
            ctx.set(dut.write, written is not None)
            if written is not None:
                ctx.set(dut.write_beat, written[0])
                ctx.set(dut.write_data, written[1])
            good = rng.random() < 0.9
            ctx.set(dut.ended, judged is not None)
            ctx.set(dut.store, judged is not None and good)
            draft[beat] = rng.getrandbits(16)
            storing = end and reading is None and room and rng.random() < 0.9
            ctx.set(dut.storing, storing)
            written = (beat, draft[beat]) if moved and reading is None else None
            assert ctx.get(dut.tx_last_seq) == replay.tx_last

            following = replay.at(cycle)
            start = end and following is not None
            if end:
                assert ctx.get(dut.tx_replay) == start
            if start:
                assert ctx.get(dut.replay_seq) == following
                events["continued" if following == (reading or 0) % 511 + 1 else "jumped"] += 1
            ctx.set(dut.moves, moved)
            ctx.set(dut.read, start or (moved and not end and reading is not None))
            ctx.set(dut.read_first, beat == 5)
            if start:
                replay.started(storing)
                events["awaited"] += storing and replay.awaits
            # An Ack counts a cycle after it has come; it names what was held when it came.
            if acked is not None:
                replay.ack(cycle, acked)
            asks = replay.held and rng.random() < 0.04
            ctx.set(dut.replay, bool(asks))
            if asks:
                number = seq_advance(replay.last_ack, rng.randint(1, replay.held))
                ctx.set(dut.replay_from, number)
                replay.ask(cycle, number)
                events["one new flit more"] += end and not start
            again = asks or acked is not None
            acked = None
            if replay.held and rng.random() < (0.2 if again else 0.05):
                acked = seq_advance(replay.last_ack, rng.randint(1, replay.held))
                ctx.set(dut.rx_last_ack, acked)
            held = replay.held
            if judged is not None:
                replay.verdict(cycle, good)
                if good:
                    contents[replay.tx_last] = judged
            judged, ending = ending, (list(draft) if storing else None)
            if end:
                reading = following if start else None
                room = ctx.get(dut.room_for_two if storing else dut.room_for_one)
            beat = (beat + moved) % 6
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
    assert min(events.values()) > 3, events
    assert replay.compared_late > 1
