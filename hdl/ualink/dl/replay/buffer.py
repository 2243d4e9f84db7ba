"""TxReplay: payload flits from their first transmission until they are acknowledged (UALink_200 §6.6.1, §6.6.6.5-6)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, check_integer
from ualink.dl.replay.sequence import RESET_SEQ, SEQ_BITS, follows, next_seq, seq_distance
from ualink.lib.memory_marks import NEVER_MEET, SHARED_OUT
from ualink.lib.parity import ProtectedRegister
from ualink.lib.select import select_one
from ualink.phy.interface import BEATS_PER_FLIT

__all__ = ["ReplayBuffer", "share_members"]


def share_members(depth: int, beats: int = BEATS_PER_FLIT) -> dict[str, wiring.Member]:
    """What a ``ReplayBuffer`` that ports share hears of the port of the cycle."""
    return {"share": In(3, init=1), "first_row": In(range(depth * beats))}


class ReplayBuffer(wiring.Component):
    """Ring of ``depth`` payload flits of ten beats each, and the pointer of a replay in progress.

    A flit is written as it is sent, into the free place behind the newest; only ``store`` makes it one of the held
    flits and gives it its number, so a flit that turns out to be a NOP is simply overwritten by the next. ``storing``
    says of the slot what ``store`` says of the verdict, which comes while beat 0 of the next flit is written: a replay
    that ends with the newest flit meanwhile goes on with the one to come, if that is stored.

    Which flits are held follows from the last Ack and ``tx_last_seq`` alone: there is no second count that could
    disagree. An Ack is a register here first, and beside that register stands what it means for a replay. ``replay``,
    or an Ack that overtakes the replay, moves the pointer; where it moves to is known two cycles
    later. Until then a replay goes on as if nothing had happened, so whenever ``tx_replay`` is 1 there is a flit to
    replay, and never a reason to send a new one (UALink_200 §6.6.6.5-6).

    Parameters
    ----------
    depth : flits, 2..255 (ruling A-18 (DL): at most 255 unacknowledged).
    beats, data_bits : beats of a flit and their width, parity included.
    shared : a multiple of four flits, 12 or more, of which a port has all, half or a quarter; there are
        ``share_members``.

    Members
    -------
    share : 3 bits, one-hot: ``depth`` >> n flits count; as of ``ports_used``, it changes in reset only.
    first_row : of those ``depth`` * ``beats`` of the memory that they have.
    write, write_beat, write_data : beat ``write_beat`` of the flit that is being sent for the first time.
    storing : pulse: the slot of a new payload flit ends; its ``ended`` comes after its last ``write``, with beat 0 of
        the next flit or before, and before another slot ends.
    ended, store : the verdict on it; ``store``: it gets number ``tx_last_seq`` + 1 and stays. Needs room.
    rx_last_ack : newest number that the partner acknowledged, one that was held or the one before; the flits up to it
        are free from the next cycle on. One that comes with ``replay``, or a cycle after an Ack that overtook the
        replay, is compared with where the pointer goes a cycle later than another would be.
    tx_last_seq : newest number given out; reset value 511.
    held : unacknowledged flits inside, one cycle late, Acks two.
    room_for_one, room_for_two : so many more may be stored; 1 four cycles after the Ack that makes room, 0 three
        cycles after the ``store`` that takes it.
    replay, replay_from : pulse: restart the transmission with number ``replay_from``, which must be held.
    boundary : a slot ends, or its first beat is not written yet: the pointer does not jump.
    tx_replay : a replay is going on: flits are left to start. Rises three cycles after ``replay``, or one cycle
        after the end of a ``boundary`` that lasts longer; falls by an Ack of everything, whenever that comes.
    replay_seq : with ``tx_replay``: the flit to start next.
    tx_first_replay : with ``tx_replay``: none has been started since the pointer moved for ``replay``.
    moves : 1 whenever ``read`` is, and else only while no beat is read: what is in ``read_data`` may go.
    read : go on to the next beat; it is in ``read_data`` from the next cycle on. With ``read_first``, which needs
        ``tx_replay``, this is beat 0 of the flit ``replay_seq``, which starts; ``tx_replay`` and ``replay_seq`` tell
        what follows it two cycles later.
    fault : numbers and pointers have bad parity: what is read or written may be any flit, until reset.
    """

    def __init__(self, depth: int, beats: int = BEATS_PER_FLIT, data_bits: int = 512, *, shared: bool = False):
        check_integer("replay_depth", depth, 12 if shared else 2, 255)
        if shared and depth % 4:
            raise ConfigError(f"replay_depth is {depth}; four ports that share it need a multiple of 4")
        self.depth = depth
        self._shared = shared
        self._beats = beats
        self.awaits = Signal()
        self._data_bits = data_bits
        # Behind the newest flit is the tail, and behind that another place; rows are those of a beat 0. ``offset`` is
        # the tail minus the newest number, modulo 512. The number, the tail or the row behind it is the last of its
        # kind: what follows is known without a comparison.
        rows = depth * beats
        layout = data.StructLayout(
            {
                "tx_last_seq": SEQ_BITS,
                "tail": range(depth),
                "tail_row": range(rows),
                "following_row": range(rows),
                "offset": SEQ_BITS,
                "seq_is_last": 1,
                "tail_is_last": 1,
                "row_is_last": 1,
            }
        )
        empty = {"tx_last_seq": RESET_SEQ, "following_row": beats, "offset": 1, "seq_is_last": 1}
        self.newest = ProtectedRegister(layout, empty | {"row_is_last": depth == 2})
        super().__init__(
            {
                **(share_members(depth, beats) if shared else {}),
                "write": In(1),
                "write_beat": In(range(beats)),
                "write_data": In(data_bits),
                "storing": In(1),
                "ended": In(1),
                "store": In(1),
                "rx_last_ack": In(SEQ_BITS, init=RESET_SEQ),
                "tx_last_seq": Out(SEQ_BITS, init=RESET_SEQ),
                "held": Out(SEQ_BITS),
                "room_for_one": Out(1),
                "room_for_two": Out(1),
                "replay": In(1),
                "replay_from": In(SEQ_BITS),
                "boundary": In(1),
                "tx_replay": Out(1),
                "tx_first_replay": Out(1),
                "replay_seq": Out(SEQ_BITS, init=RESET_SEQ),
                "moves": In(1),
                "read": In(1),
                "read_first": In(1),
                "read_data": Out(data_bits),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows = self.depth * self._beats
        attrs = NEVER_MEET | (SHARED_OUT if self._shared else {})
        m.submodules.storage = storage = memory.Memory(shape=self._data_bits, depth=rows, init=[], attrs=attrs)
        write = storage.write_port()
        read = storage.read_port()

        m.submodules.newest = newest = self.newest
        # A jump is a move of the pointer to come. A replay that has reached the newest flit awaits the verdict on the
        # one after it. What a start of a flit changes follows a cycle after it.
        layout = data.StructLayout(
            {
                "room": 1,
                "tx_replay": 1,
                "tx_first_replay": 1,
                "started": 1,
                "storing": 1,
                "awaits": 1,
                "jumping": 1,
                "asked": 1,
                "located": 1,
                "place": range(self.depth),
                "empty": 1,
                "held": 1,
                "jump_held": 1,
            }
        )
        m.submodules.state = state = ProtectedRegister(layout, {"empty": 1})
        # The flit to replay next, and the one that the pointer jumps to: what they may become is known before whether
        # they do.
        where = data.StructLayout({"replay_seq": SEQ_BITS, "row": range(rows)})
        m.submodules.pointer = pointer = ProtectedRegister(where, {"replay_seq": RESET_SEQ})
        m.submodules.jump = jump = ProtectedRegister(data.StructLayout({"seq": SEQ_BITS}))
        m.submodules.reading = reading = ProtectedRegister(
            data.StructLayout({"row": range(rows), "following": range(rows + 1)})
        )
        m.submodules.writing = writing = ProtectedRegister(data.StructLayout({"row": range(rows + 1)}))
        now, then = state.q, state.d
        last, following = newest.q, newest.d
        room = Signal()
        rx_last_ack = Signal(SEQ_BITS, init=RESET_SEQ)
        held = Signal(SEQ_BITS)
        slot_begins, in_first_rows = Signal(), Signal()
        # Where beats 0 and 1 go, but for a verdict to come; rows of a beat 0 are even, if flits have an even length.
        odd = self.write_beat[0]
        first_rows = Cat(odd, last.tail_row[1:]) if self._beats % 2 == 0 else last.tail_row + odd
        # Looked at twice, as these have no parity: an upset that makes room makes it for one cycle.
        free = Signal(2, init=0b11)
        free_before = Signal(2, init=0b11)
        # A flit that was stored lately, for which these are late.
        ended = Signal(3)
        m.d.sync += [
            rx_last_ack.eq(self.rx_last_ack),
            self.held.eq(held),
            free.eq(Cat(self.held < self._counting(0), self.held < self._counting(-1))),
            free_before.eq(free),
            ended[1:].eq(ended),
        ]
        m.d.comb += [
            ended[0].eq(self.ended),
            held.eq(seq_distance(rx_last_ack, last.tx_last_seq)),
            then.eq(now),
            self.fault.eq(
                Cat(register.mismatch for register in (state, newest, reading, writing, pointer, jump)).any()
            ),
            self.tx_last_seq.eq(last.tx_last_seq),
            self.tx_replay.eq(now.tx_replay),
            self.tx_first_replay.eq(now.tx_first_replay),
            self.replay_seq.eq(pointer.q.replay_seq),
            self.awaits.eq(now.awaits),
            self.room_for_one.eq(free[0] & free_before[0]),
            self.room_for_two.eq(free[1] & free_before[1]),
            # In a full buffer the place behind the newest flit is that of the oldest, which a replay may still send
            # after an Ack has freed it in mid-slot.
            slot_begins.eq(self.write_beat == 0),
            in_first_rows.eq(self.write_beat[1:] == 0),
            room.eq(Mux(slot_begins, Mux(ended.any(), self.room_for_two, self.room_for_one), now.room)),
            then.room.eq(room),
            write.en.eq(self.write & room),
            # The verdict on the flit before comes with beat 0, if not before it.
            write.addr.eq(
                Mux(
                    self.store,
                    self._place(last.following_row),
                    Mux(in_first_rows, self._place(first_rows), self._place(writing.q.row)),
                )
            ),
            write.data.eq(self.write_data),
            writing.load.eq(self.write),
            # From beat 1 on the tail is where this flit is, so no verdict is in the way of what follows.
            writing.d.row.eq(Mux(in_first_rows, last.tail_row + 2, writing.q.row + 1)),
        ]
        m.d.comb += [
            newest.load.eq(self.store),
            following.tx_last_seq.eq(Mux(last.seq_is_last, 1, last.tx_last_seq + 1)),
            following.tail_row.eq(last.following_row),
            following.tail.eq(Mux(last.tail_is_last, 0, last.tail + 1)),
            following.following_row.eq(Mux(last.row_is_last, 0, last.following_row + self._beats)),
            # Tail and number go on together, unless one of them starts again. Number 0 is passed over.
            following.offset.eq(
                last.offset - Mux(last.tail_is_last, self._counting(0) + last.seq_is_last, last.seq_is_last)
            ),
            following.seq_is_last.eq(last.tx_last_seq == RESET_SEQ - 1),
            following.tail_is_last.eq(last.tail == self._counting(-2)),
            following.row_is_last.eq(last.following_row == self._counting(-2, self._beats)),
        ]

        self._pointer(m, state, pointer, jump, rx_last_ack)

        moved = reading.d.row
        if self._shared:
            moved = Mux(self.read_first, self._place(pointer.q.row), self._place(reading.q.following))
        m.d.comb += [
            # Without a read the row is any; the first read of a flit sets it.
            reading.load.eq(self.moves),
            reading.d.row.eq(Mux(self.read_first, pointer.q.row, reading.q.following)),
            reading.d.following.eq(Mux(self.read_first, pointer.q.row + 1, reading.q.following + 1)),
            # Reading a row again keeps its data on show. The memory does not wait for what the next slot carries.
            read.addr.eq(Mux(self.moves, moved, self._place(reading.q.row))),
            self.read_data.eq(read.data),
        ]
        return m

    def _place(self, row):
        """``row`` of the memory, of those of this port. What chooses among some is late: first they are made."""
        return row + self.first_row if self._shared else row

    def _counting(self, more: int, unit: int = 1):
        """``unit`` for each flit that counts and for ``more``."""
        if not self._shared:
            return (self.depth + more) * unit
        return select_one(self.share, [Const(((self.depth >> n) + more) * unit) for n in range(len(self.share))])

    def _pointer(self, m, state, pointer, jump, rx_last_ack):
        """Tx_replay and the flit to replay next."""
        now, then, last = state.q, state.d, self.newest.q
        replay_seq, row, jump_seq = pointer.q.replay_seq, pointer.q.row, jump.q.seq
        goes_on, cancelled = Signal(), Signal()
        misses, overtaken, jumps = Signal(), Signal(), Signal()
        m.d.comb += [
            then.started.eq(self.read & self.read_first),
            then.storing.eq(self.storing),
            goes_on.eq(now.tx_replay),
        ]
        with m.If(now.started):
            m.d.comb += then.tx_first_replay.eq(0)
            with m.If(replay_seq == last.tx_last_seq):
                m.d.comb += [goes_on.eq(0), then.awaits.eq(now.storing)]
        with m.If(self.ended):
            m.d.comb += then.awaits.eq(0)
        self._compare(m, state, pointer, jump_seq, jumps)

        # The place of a number counts back from the tail, by one less across number 0; its row follows one cycle later.
        across = Signal()
        place = Signal(SEQ_BITS)
        place_around = Signal(SEQ_BITS)
        m.d.comb += [
            across.eq(jump_seq > last.tx_last_seq),
            place.eq(Mux(across, last.offset + jump_seq, last.offset + jump_seq - 1)),
            place_around.eq(
                Mux(across, last.offset + jump_seq + self._counting(0), last.offset + jump_seq + self._counting(-1))
            ),
            then.place.eq(Mux(place[-1], place_around, place)),
            then.located.eq(now.jumping),
            # Whether the number of a jump is held is known as soon as its place.
            misses.eq(now.located & ~now.jump_held),
            overtaken.eq(Mux(now.jumping, misses, now.tx_replay & ~now.held)),
            jumps.eq(now.jumping & now.located & ~self.boundary & now.jump_held),
            # Without a jump under way its number is that of the next, should an Ack overtake the replay now.
            jump.load.eq(~now.jumping | misses | self.replay),
            jump.d.seq.eq(Mux(self.replay, self.replay_from, next_seq(rx_last_ack))),
            # No flit has started when the pointer jumps: that is what ``boundary`` is for.
            pointer.load.eq(now.started | jumps),
        ]
        last_row = self._counting(-1, self._beats)
        with m.If(now.started):
            m.d.comb += [
                pointer.d.replay_seq.eq(next_seq(replay_seq)),
                pointer.d.row.eq(Mux(row == last_row, 0, row + self._beats)),
            ]
        with m.Else():
            m.d.comb += [
                pointer.d.replay_seq.eq(jump_seq),
                pointer.d.row.eq(sum(now.place << n for n in range(self._beats.bit_length()) if self._beats >> n & 1)),
            ]
        with m.If(now.empty & (now.jumping | now.tx_replay)):
            # By an Ack of everything.
            m.d.comb += [then.jumping.eq(0), then.asked.eq(0), cancelled.eq(1), then.tx_first_replay.eq(0)]
        with m.Elif(overtaken):
            # By an Ack: go on with the oldest flit that is still held.
            m.d.comb += [then.jumping.eq(1), then.located.eq(0)]
        with m.Elif(jumps):
            m.d.comb += [
                then.jumping.eq(0),
                then.asked.eq(0),
                then.awaits.eq(0),
                goes_on.eq(1),
            ]
            with m.If(now.asked):
                m.d.comb += then.tx_first_replay.eq(1)
        with m.If(self.replay):
            m.d.comb += [
                then.jumping.eq(1),
                then.asked.eq(1),
                then.located.eq(0),
            ]
        # A flit whose slot ended as the last one of the replay began is replayed too.
        m.d.comb += then.tx_replay.eq((goes_on & ~cancelled) | (self.store & now.awaits))

    def _compare(self, m, state, pointer, jump_seq, jumps):
        """What will be held when the Ack of this cycle counts: anything at all, the flit of the pointer, that of the
        jump, which must have been the same in the cycle before."""
        now, then, last = state.q, state.d, self.newest.q
        replay_seq = pointer.q.replay_seq
        held, next_held = Signal(), Signal()
        m.d.comb += [
            held.eq(follows(replay_seq, self.rx_last_ack, last.tx_last_seq)),
            # The number after this one, without that number.
            next_held.eq((held | (replay_seq == self.rx_last_ack)) & (replay_seq != last.tx_last_seq)),
            then.empty.eq((self.rx_last_ack == last.tx_last_seq) & ~self.store),
            then.jump_held.eq(follows(jump_seq, self.rx_last_ack, last.tx_last_seq)),
            # What is stored is held, and the pointer that awaits it points to it.
            then.held.eq(Mux(jumps, then.jump_held, Mux(now.started, next_held, held)) | (self.store & now.awaits)),
        ]
