"""TxReplay: payload flits from their first transmission until they are acknowledged (UALink_200 §6.6.1, §6.6.6.5-6)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError
from ualink.dl.sequence import RESET_SEQ, SEQ_BITS, is_held, next_seq, seq_distance
from ualink.lib.interleave import NEVER_MEET
from ualink.lib.parity import ProtectedRegister
from ualink.phy.interface import BEATS_PER_FLIT

__all__ = ["ReplayBuffer"]


class ReplayBuffer(wiring.Component):
    """Ring of ``depth`` payload flits of ten beats each, and the pointer of a replay in progress.

    A flit is written while it is sent, into the free place behind the newest; only ``store`` makes it one of the held
    flits and gives it its number, so a flit that turns out to be a NOP is simply overwritten by the next.

    Which flits are held follows from ``rx_last_ack`` and ``tx_last_seq`` alone: there is no second count that could
    disagree. After ``replay``, and after an Ack that overtook the replay, two cycles pass before ``replay_ready``.

    Parameters
    ----------
    depth : flits, 2..255 (ruling A-18 (DL): at most 255 unacknowledged).
    beats, data_bits : beats of a flit and their width, parity included.

    Members
    -------
    write, write_beat, write_data : beat ``write_beat`` of the flit that is being sent for the first time.
    store : with the last beat: the flit is a payload flit; it gets number ``tx_last_seq`` + 1 and stays. Needs room.
    rx_last_ack : newest number that the partner acknowledged; the flits up to it are free.
    tx_last_seq : newest number given out; reset value 511.
    held : unacknowledged flits inside.
    replay, replay_from : pulse: restart the transmission with number ``replay_from``, which must be held.
    tx_replay : a replay is going on: flits are left to start.
    replay_ready, replay_seq : the flit to start next, held, and its address is known.
    read_first : start the flit ``replay_seq``: its beat 0 is in ``read_data`` from the next cycle on.
    read_next : go on to the next beat; it is in ``read_data`` from the next cycle on.
    fault : numbers and pointers have bad parity: what is read or written may be any flit, until reset.
    """

    def __init__(self, depth: int, beats: int = BEATS_PER_FLIT, data_bits: int = 512):
        if isinstance(depth, bool) or not isinstance(depth, int) or not 2 <= depth <= 255:
            raise ConfigError(f"replay_depth is {depth!r}; it must be a whole number from 2 to 255")
        self.depth = depth
        self._beats = beats
        self._data_bits = data_bits
        super().__init__(
            {
                "write": In(1),
                "write_beat": In(range(beats)),
                "write_data": In(data_bits),
                "store": In(1),
                "rx_last_ack": In(SEQ_BITS, init=RESET_SEQ),
                "tx_last_seq": Out(SEQ_BITS, init=RESET_SEQ),
                "held": Out(SEQ_BITS),
                "replay": In(1),
                "replay_from": In(SEQ_BITS),
                "tx_replay": Out(1),
                "replay_ready": Out(1),
                "replay_seq": Out(SEQ_BITS, init=RESET_SEQ),
                "read_first": In(1),
                "read_next": In(1),
                "read_data": Out(data_bits),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows = self.depth * self._beats
        m.submodules.storage = storage = memory.Memory(shape=self._data_bits, depth=rows, init=[], attrs=NEVER_MEET)
        write = storage.write_port()
        read = storage.read_port()

        # The place behind the newest flit (tail) and that of replay_seq, each with the row of its beat 0.
        layout = data.StructLayout(
            {
                "tx_last_seq": SEQ_BITS,
                "tail": range(self.depth),
                "tail_row": range(rows),
                "tx_replay": 1,
                "replay_seq": SEQ_BITS,
                "settling": 2,
                "place": range(self.depth),
                "row": range(rows),
                "read_row": range(rows),
            }
        )
        m.submodules.state = state = ProtectedRegister(layout, {"tx_last_seq": RESET_SEQ, "replay_seq": RESET_SEQ})
        now, then = state.q, state.d
        m.d.comb += [
            then.eq(now),
            self.fault.eq(state.mismatch),
            self.tx_last_seq.eq(now.tx_last_seq),
            self.tx_replay.eq(now.tx_replay),
            self.replay_seq.eq(now.replay_seq),
            self.held.eq(seq_distance(self.rx_last_ack, now.tx_last_seq)),
            # In a full buffer the place behind the newest flit is that of the oldest.
            write.en.eq(self.write & (self.held != self.depth)),
            write.addr.eq(now.tail_row + self.write_beat),
            write.data.eq(self.write_data),
        ]
        with m.If(self.store):
            m.d.comb += then.tx_last_seq.eq(next_seq(now.tx_last_seq))
            with m.If(now.tail == self.depth - 1):
                m.d.comb += [then.tail.eq(0), then.tail_row.eq(0)]
            with m.Else():
                m.d.comb += [then.tail.eq(now.tail + 1), then.tail_row.eq(now.tail_row + self._beats)]

        self._pointer(m, now, then)

        # The place of replay_seq counts back from the tail; both registers follow every change of replay_seq.
        back = Signal(SEQ_BITS + 1)
        m.d.comb += [
            back.eq(seq_distance(now.replay_seq, now.tx_last_seq) + 1),
            then.place.eq(Mux(back > now.tail, now.tail + self.depth - back, now.tail - back)),
            then.row.eq(sum(now.place << n for n in range(self._beats.bit_length()) if self._beats >> n & 1)),
            # Reading a row again keeps its data on show.
            read.addr.eq(Mux(self.read_first, now.row, now.read_row + self.read_next)),
            then.read_row.eq(read.addr),
            self.read_data.eq(read.data),
        ]
        return m

    def _pointer(self, m, now, then):
        """Tx_replay and the number of the flit to replay next."""
        held = Signal()
        m.d.comb += [
            held.eq(is_held(now.replay_seq, self.rx_last_ack, now.tx_last_seq)),
            self.replay_ready.eq(now.tx_replay & held & (now.settling == 0)),
        ]
        with m.If(now.settling != 0):
            m.d.comb += then.settling.eq(now.settling - 1)
        with m.If(self.read_first):
            m.d.comb += [then.replay_seq.eq(next_seq(now.replay_seq)), then.settling.eq(2)]
            # A flit stored in this very cycle is replayed too.
            with m.If((now.replay_seq == now.tx_last_seq) & ~self.store):
                m.d.comb += then.tx_replay.eq(0)
        with m.Elif(now.tx_replay & ~held):
            # An Ack overtook the replay: go on with the oldest flit that is still held, if there is one.
            m.d.comb += [then.replay_seq.eq(next_seq(self.rx_last_ack)), then.settling.eq(2)]
            with m.If(self.held == 0):
                m.d.comb += then.tx_replay.eq(0)
        with m.If(self.replay):
            m.d.comb += [then.tx_replay.eq(1), then.replay_seq.eq(self.replay_from), then.settling.eq(2)]
