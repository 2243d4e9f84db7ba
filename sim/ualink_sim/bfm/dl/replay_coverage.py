"""Coverage of headers and of link level replay (UALink_200 §6.6)."""

from collections.abc import Callable

from ...model.dl.endpoint import LOST, Slot, SlotKind
from ...model.dl.header import CommandHeader, ExplicitHeader
from ...model.dl.replay import REPLAY_REQUESTS, Verdict
from ...model.dl.sequence import RESET_SEQ, WINDOW, next_seq, previous_seq, reconstruct_seq, seq_distance
from .checker import LinkChecker
from .observed import Header, ObservedFlit
from .replay_rules import IGNORE_FLITS, MAX_UNACKNOWLEDGED

__all__ = ["Hit", "ReplayCoverage", "header_kind"]

Hit = Callable[[str, str], None]


def header_kind(header: Header) -> str:
    """Name of the kind of header, as in ``bins.HEADERS``."""
    if isinstance(header, ExplicitHeader):
        return f"explicit {('rpy' if header.replay else 'org') if header.payload else 'NOP'}"
    return f"{'Request' if header.replay_request else 'Ack'} {'payload' if header.payload else 'NOP'}"


class ReplayCoverage:
    """Looks at the checker before and after it is told of a slot."""

    def __init__(self, hit: Hit, checker: LinkChecker, replay_depth: int):
        self._hit = hit
        self._checker = checker
        self._depth = replay_depth
        self._copies = 0
        self._number = 0
        # A payload flit has come or gone since link up: 511 is then a number, not the reset value.
        self._received_payload = self._issued = False

    # What the device receives.

    def before_received(self, slot: Slot) -> None:
        """Rows that are chosen by the state before the slot."""
        if self._checker.link.down or (isinstance(slot, SlotKind) and slot is not LOST):
            return
        receiver, hit = self._checker.acks.receiver, self._hit
        seen = ObservedFlit(slot, self._checker.options.crc_covers_zero_field) if isinstance(slot, bytes) else None
        if self._checker.replay.since_accepted < IGNORE_FLITS:
            hit("§6.6.6.2 Rx ingress", "Rx_replay_ignore_count counts down")
        if seen is None or not seen.good or seen.header is None:
            hit("§6.6.6.2 Rx ingress", "flit lost" if seen is None else "bad CRC")
            if receiver.rx_bad_crc_count >= 6:
                sixth = receiver.rx_bad_crc_count == 6
                hit("§6.6.6.2 Rx ingress", "seventh bad flit in a row" if sixth else "bad flit after the seventh")
            if receiver.rx_replay:
                hit("§6.6.6.2 Rx ingress", "bad flit in replay state")
            return
        hit("§6.6.6.2 Rx ingress", "good CRC")
        hit("§6.6.2 headers received", header_kind(seen.header))
        if isinstance(seen.header, CommandHeader):
            self._command(seen.header)
        self._enqueue(seen.header)

    def _command(self, header: CommandHeader) -> None:
        group, replay, number = "§6.6.6.3 Rx Ack and Replay Request", self._checker.replay, header.ack_req_seq
        steps, held = seq_distance(replay.rx_last_ack, number), replay.held
        if number == 0:
            self._hit(group, "ackReqSeq 0")
        elif header.replay_request:
            if replay.since_accepted < IGNORE_FLITS - 1:
                self._hit(group, "Replay Request within the window")
            elif 1 <= steps <= held:
                self._hit(group, "Replay Request accepted")
            else:
                self._hit(group, "Replay Request out of range")
        elif steps == 0:
            self._hit(group, "Ack repeated")
        else:
            self._hit(group, "Ack frees flits" if steps <= held else "Ack out of range")

    def _enqueue(self, header: Header) -> None:
        receiver = self._checker.acks.receiver
        last, group = receiver.rx_last_seq_calc, "§6.6.6.4 Rx enqueue"
        following = next_seq(last) if header.payload else last
        if isinstance(header, ExplicitHeader):
            number, kind = header.flit_seq_no, "explicit"
            if number == 0:
                self._hit(group, "explicit 0")
                return
            self._hit("§6.6.4.1 Rx_seq_calc", "explicit")
        else:
            if header.ack_req_seq == 0:
                return
            number, kind = reconstruct_seq(last, header.flit_seq_lo, header.payload), "command"
            self._hit("§6.6.4.1 Rx_seq_calc", f"command, {(number - last) % 512} further")
            if receiver.rx_replay or receiver.rx_ambiguous:
                self._hit(group, f"command {'in replay state' if receiver.rx_replay else 'while ambiguous'}")
                return
        if number != following:
            self._hit(group, f"{kind} out of order" + (" in replay state" if receiver.rx_replay else ""))
            return
        self._hit(group, f"{kind} in order")
        if header.payload and last == RESET_SEQ and self._received_payload:
            self._hit("§6.6.4.1 Rx_seq_calc", "across 511 to 1")
        if receiver.rx_ambiguous:
            self._hit(group, "explicit in order, ambiguous")
        if receiver.rx_replay:
            self._hit(group, "explicit in order, in replay state")

    def received(self, slot: Slot, verdict: Verdict | None) -> None:
        """What shows in the state after the slot."""
        if self._checker.link.down:
            self._received_payload = False
        elif verdict is Verdict.ACCEPT and self._checker.acks.receiver.rx_last_seq_calc != RESET_SEQ:
            self._received_payload = True
        if verdict is Verdict.WAITING and self._checker.acks.receiver.request_replay:
            self._hit("§6.6.6.4 Rx enqueue", "Rx_replay_limit reached")

    # What it sends.

    def before_sent(self) -> tuple[int, int | None, int]:
        """What ``sent`` compares with."""
        replay = self._checker.replay
        return replay.tx_last_seq, replay.replaying, replay.held

    def sent(self, slot: Slot, before: tuple[int, int | None, int]) -> bool:
        """A slot that the checker has seen; True for a new payload flit."""
        seen = ObservedFlit(slot, self._checker.options.crc_covers_zero_field) if isinstance(slot, bytes) else None
        if seen is None or not seen.good or seen.header is None:
            return False
        header, (last, replaying, held) = seen.header, before
        replay = self._checker.replay
        new = replay.tx_last_seq != last
        replayed = header.payload and not new
        state = self._state(replayed)
        self._hit("§6.6.2 headers sent", f"{state}: {header_kind(header)}")
        self._source(header, new, replayed, replaying, held)
        self._schedule(header, replayed, replaying)
        if new and last == RESET_SEQ and self._issued:
            self._hit("§6.6.6.7 Tx scheduling", "number across 511 to 1")
        self._issued = not self._checker.link.down and (self._issued or new)
        return new

    def _state(self, replayed: bool) -> str:
        if not self._checker.link.up_expected:
            return "NOP"
        if replayed:
            return "Tx_replay"
        return "Rx_replay" if self._checker.acks.receiver.rx_replay else "Up"

    def _source(self, header: Header, new: bool, replayed: bool, replaying: int | None, held: int) -> None:
        group, replay = "§6.6.6.6 Tx source", self._checker.replay
        if new:
            self._hit(group, "new payload flit")
            self._hit("§6.6.6.5 Tx enqueue", "flit accepted")
        elif replayed:
            self._hit(group, "replayed flit")
            self._hit("§6.6.6.5 Tx enqueue", "not while replaying")
            if replay.replaying is None:
                self._hit(group, "last replayed flit")
            number = replay.tx_last_seq if replay.replaying is None else previous_seq(replay.replaying)
            if replaying not in (None, number):
                behind = 0 < seq_distance(number, replaying) <= WINDOW
                self._hit(group, "replay restarted" if behind else "replay cut short by an Ack")
        else:
            self._hit(group, "NOP flit")
            if held >= min(self._depth, MAX_UNACKNOWLEDGED):
                self._hit("§6.6.6.5 Tx enqueue", "not with TxReplay full")
        if replaying is not None and not replayed:
            self._hit(group, "replay cut short by an Ack")
        if replay.held == MAX_UNACKNOWLEDGED:
            self._hit("§6.6.6.5 Tx enqueue", "255 unacknowledged")

    def _schedule(self, header: Header, replayed: bool, replaying: int | None) -> None:
        group = "§6.6.6.7 Tx scheduling"
        if isinstance(header, ExplicitHeader):
            within = replayed and replaying is not None and header.flit_seq_no == replaying
            first = replayed and not within
            self._hit(
                group, "first of a replay" if first else f"explicit {'rpy within a replay' if within else 'org or NOP'}"
            )
        elif header.replay_request:
            again = self._copies < REPLAY_REQUESTS and header.ack_req_seq == self._number
            self._copies = self._copies + 1 if again else 1
            self._number = header.ack_req_seq
            self._hit(group, f"Replay Request, {('first', 'second', 'third')[self._copies - 1]} copy")
        else:
            self._hit(group, "Ack")
