"""Follows both ends of a ``replay_pair`` slot by slot with the executable model and says where an end leaves the rules.

What is free to an end, whether a new flit has payload, is taken from what it did; all else must be as the model has it.
"""

from dataclasses import dataclass

from support.dl.replay_pair import CADENCE, DEPTH, LATENCY, Forgery
from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader, decode_header
from ualink_sim.model.dl.replay import REPLAY_REQUESTS, ReplayReceiver, ReplayTransmitter
from ualink_sim.model.dl.sequence import next_seq, seq_advance

__all__ = ["Fate", "PairRules", "Record", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Run-time settings of both ends."""

    rx_replay_limit: int
    codeword_group: int
    tx_ack_time_out: int
    judge: int


@dataclass(frozen=True)
class Fate:
    """``replay_pair.FATE_LAYOUT`` of a slot as it arrives."""

    lost: int
    forgery: int
    step: int
    request: int


@dataclass(frozen=True)
class Record:
    """``replay_pair.RECORD_LAYOUT`` of a slot as it was sent."""

    header: int
    error: int
    inverted: int
    held: int
    rx_bad_crc_count: int
    rx_unexpected_count: int
    timed_out: int
    mismatched: int
    delivered: int


class _EndRules:
    """The model of one end."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.receiver = ReplayReceiver(settings.rx_replay_limit)
        self.transmitter: ReplayTransmitter[None] = ReplayTransmitter(depth=DEPTH)
        self.pointer: int | None = None
        self.first = False
        self.following: tuple[int | None, bool] = None, False
        self.explicit_count = CADENCE
        self.copies_left = 0
        self.wanted = 0
        self.last_request = -8
        self.accepted = 0
        self.stored_last = False
        self.since_progress: int | None = None

    def slot(self, number: int, record: Record, arrival: tuple[int, Fate, bool] | None) -> str | None:
        """One slot: what was sent; header, fate and CRC verdict of what was judged in it. Returns a complaint.

        The slot has six beats, its header is chosen in beat 4, and registers are looked at in beat 5. A Replay Request
        moves the pointer of the replay four cycles after it was judged, an Ack that overtakes the replay five cycles
        after, an Ack of everything three; what comes too late for the slot that follows counts for the one after that.
        In no case is there a new flit before the replay has ended (DL-183). A new flit has its number, and may be
        named by the partner, from beat 3 of the slot after it on: before that nobody knows whether it is spoilt.
        """
        sender, header, judge = self.transmitter, record.header, self.settings.judge
        replayed, first = self.following
        payload = bool(header >> 20 & 1)
        replaying = replayed is not None
        seq = replayed if replaying else next_seq(sender.tx_last_seq) if payload else sender.tx_last_seq
        expected = None
        if judge >= 4:
            expected = self._header(number, payload or replaying, replaying, first, seq).encode()
        complaint = self._registers(record) if judge == 5 else None
        newest = sender.tx_replay_buffer.pop() if self.stored_last and judge < 3 else None
        if newest:
            sender.tx_last_seq = seq_advance(sender.tx_last_seq, -1)
        freed, asked = self._arrive(arrival)
        if newest:
            sender.tx_replay_buffer.append(newest)
            sender.tx_last_seq = next_seq(sender.tx_last_seq)
        if judge < 4:
            expected = self._header(number, payload or replaying, replaying, first, seq).encode()
        if header != expected:
            return f"sent {decode_header(header)}, not {decode_header(expected)}"
        if record.inverted != record.error:
            return "CRC of a good flit inverted" if record.inverted else "CRC of a spoilt flit not inverted"
        complaint = complaint or (self._registers(record) if judge < 5 else None)
        complaint = complaint or self._progress(number, record, freed)

        cancelled = freed and not sender.tx_replay_buffer
        if asked and judge <= 1:
            self.pointer, self.first = asked, True
        if (cancelled and judge <= 2) or judge == 0:
            self._overtake()
        self.stored_last = payload and not replaying and not record.error
        if self.stored_last:
            # Stored with its last beat, and part of a replay that waits to begin.
            sender.tx_last_seq = seq
            sender.tx_replay_buffer.append((seq, None))
            if len(sender.tx_replay_buffer) > DEPTH:
                return "more flits are held than TxReplay has room for"
        self._begin()
        if asked and judge > 1:
            self.pointer, self.first = asked, True
        elif cancelled and judge == 3:
            self.pointer = None
        else:
            self._overtake()
        return complaint

    def _begin(self) -> None:
        """The slot ends: what the one that follows carries is fixed."""
        self.following = self.pointer, self.first
        if self.pointer is not None:
            self.first = False
            self.pointer = None if self.pointer == self.transmitter.tx_last_seq else next_seq(self.pointer)

    def _overtake(self) -> None:
        """A replay goes on with the oldest flit that is held, if what was to come has been acknowledged."""
        held = [seq for seq, _ in self.transmitter.tx_replay_buffer]
        if self.pointer is not None and self.pointer not in held:
            self.pointer = held[0] if held else None

    def _arrive(self, arrival) -> tuple[int, int | None]:
        """Judge what arrived; returns how many flits it freed, and the flit from which it asked for a replay."""
        if arrival is None:
            return 0, None
        raw, fate, good = arrival
        header = self._forged(raw, fate) if good and not fate.lost else None
        sender = self.transmitter
        held = len(sender.tx_replay_buffer)
        sender.tx_replay = False
        last = self.receiver.rx_last_seq_calc
        sender.receive(header)
        self.receiver.receive(header)
        if self.receiver.rx_last_seq_calc != last:
            self.accepted += 1
        if self.receiver.request_replay:
            self.copies_left = REPLAY_REQUESTS
        asked = sender.tx_replay_buffer[sender._replay_index][0] if sender.tx_replay else None
        return held - len(sender.tx_replay_buffer), asked

    def _forged(self, raw: int, fate: Fate):
        command = raw >> 22 == 0b01
        if fate.forgery == Forgery.RESERVED:
            return None
        if fate.forgery == Forgery.ZERO:
            return decode_header(raw & ~(0x1FF << (11 if command else 8)))
        if command and fate.forgery in (Forgery.BEYOND, Forgery.BEHIND):
            if fate.forgery == Forgery.BEYOND:
                named = seq_advance(self.transmitter.tx_last_seq, 1 + fate.step)
            else:
                named = seq_advance(self.transmitter.rx_last_ack, -fate.step)
            return CommandHeader(bool(raw >> 20 & 1), bool(fate.request), named, raw >> 8 & 7)
        return decode_header(raw)

    def _header(self, number: int, payload: bool, replaying: bool, first: bool, seq: int):
        self.explicit_count = max(0, self.explicit_count - 1)
        if first or self.explicit_count == 0:
            self.explicit_count = CADENCE
            return ExplicitHeader(payload, replaying, seq)
        newest = self.receiver.rx_last_seq_calc
        if self.copies_left and number - self.last_request >= self.settings.codeword_group:
            if self.copies_left == REPLAY_REQUESTS:
                self.wanted = next_seq(newest)
            self.copies_left -= 1
            self.last_request = number
            return CommandHeader(payload, True, self.wanted, seq & 7)
        return CommandHeader(payload, False, newest, seq & 7)

    def _registers(self, record: Record) -> str | None:
        for name, value in (
            ("held", len(self.transmitter.tx_replay_buffer)),
            ("rx_bad_crc_count", self.receiver.rx_bad_crc_count),
            ("rx_unexpected_count", self.receiver.rx_unexpected_count),
        ):
            if getattr(record, name) != value:
                return f"{name} is {getattr(record, name)}, not {value}"
        return None

    def _progress(self, number: int, record: Record, freed: int) -> str | None:
        """A time-out comes when nothing was freed for so many slots, and only then; give or take 2."""
        limit = self.settings.tx_ack_time_out
        waited = None if self.since_progress is None else number - self.since_progress
        if record.timed_out:
            if waited is None or waited < limit - 2:
                return f"forward progress timed out after {waited} slots"
            self.since_progress = -(1 << 30)
        elif waited is not None and limit + 2 < waited < 1 << 20:
            return f"no forward progress for {waited} slots, and no time-out"
        if not self.transmitter.tx_replay_buffer:
            self.since_progress = None
        elif freed or self.since_progress is None:
            self.since_progress = number
        return None


class PairRules:
    """Both ends of a pair; feed it slots in order until it complains."""

    def __init__(self, settings: Settings):
        self._ends = (_EndRules(settings), _EndRules(settings))
        self._sent: list[tuple[Record, Record]] = []
        self._fates: list[tuple[Fate, Fate]] = []
        self._number = 0

    def slot(self, records: tuple[Record, Record], fates: tuple[Fate, Fate]) -> str | None:
        """``fates`` are those of what arrives at the ends in this slot, which is judged in the next."""
        number = self._number
        complaint = None
        for end, own, other in ((0, records[0], 1), (1, records[1], 0)):
            arrival = None
            sent = number - LATENCY - 1
            if sent >= 0:
                record = self._sent[sent][other]
                arrival = (record.header, self._fates[number - 1][end], not record.inverted)
            # The first slot is none of the data link's flits yet.
            if number:
                complaint = complaint or self._ends[end].slot(number, own, arrival)
        self._sent.append(records)
        self._fates.append(fates)
        self._number += 1
        return complaint
