"""Rules for the flits that a device sends again (UALink_200 §6.6.1, §6.6.6.3-8)."""

from dataclasses import dataclass

from ...model.dl.header import CommandHeader, ExplicitHeader
from ...model.dl.sequence import RESET_SEQ, WINDOW, next_seq, seq_advance, seq_distance
from .flit_rules import Report
from .observed import Header, ObservedFlit
from .options import CheckerOptions

__all__ = ["ReplayRules"]

IGNORE_FLITS = 12
MAX_UNACKNOWLEDGED = 255


class ReplayRules:
    """Follows TxReplay of the device from both sides of the wire.

    Attributes
    ----------
    tx_last_seq : newest number that the device has used.
    rx_last_ack : newest Ack that it was given.
    since_accepted : flits received since the Replay Request that it obeyed last; 13 when none counts.
    replaying : number of the next flit of a replay under way, None without one.
    """

    def __init__(self, report: Report, options: CheckerOptions):
        self._report = report
        self._options = options
        self.reset()

    def reset(self) -> None:
        """Link down."""
        self.tx_last_seq = self.rx_last_ack = RESET_SEQ
        self.replaying: int | None = None
        self._contents: dict[int, tuple] = {}
        self._due: tuple[int, int] | None = None  # number asked for, slots left to start
        self._may: _Optional | None = None
        self.since_accepted = IGNORE_FLITS + 1
        self._unacknowledged_slots = 0

    @property
    def held(self) -> int:
        """Flits sent and not acknowledged."""
        return seq_distance(self.rx_last_ack, self.tx_last_seq)

    # What the device receives.

    def received(self, header: Header | None) -> None:
        """One flit slot that the device was given; None where it was bad."""
        self.since_accepted = min(self.since_accepted + 1, IGNORE_FLITS + 1)
        if self._may is not None:
            self._may.age += 1
        if not isinstance(header, CommandHeader) or header.ack_req_seq == 0:
            return
        number = header.ack_req_seq
        if header.replay_request:
            self._asked(number)
        elif seq_distance(self.rx_last_ack, number) <= self.held:
            if number != self.rx_last_ack:
                self._unacknowledged_slots = 0
            self.rx_last_ack = number
            if not self.held:
                self._due = self._may = None  # nothing is left to replay

    def _asked(self, number: int) -> None:
        if not 1 <= seq_distance(self.rx_last_ack, number) <= self.held:
            if number == next_seq(self.tx_last_seq):
                self._may = _Optional(number, self._options.latency)  # the device may have begun to send it
            return
        # The window ends with the eleventh or the twelfth flit, by the reading.
        if self.since_accepted > IGNORE_FLITS:
            self._due = number, self._options.latency
            self.since_accepted = 0
        elif self.since_accepted == IGNORE_FLITS:
            self._may = _Optional(number, self._options.latency)

    # What it sends.

    def sent(self, seen: ObservedFlit, header: Header) -> bool:
        """One good flit; True when it is a new payload flit."""
        new = self._payload(seen, header) if header.payload else self._nop(header)
        if self._due is not None:
            number, left = self._due
            if left == 0:
                self._report("replay_missing", f"flit {number} was asked for")
                self._due = None
            else:
                self._due = number, left - 1
        if self._may is not None:
            self._may.left -= 1
            self._may = self._may if self._may.left >= 0 else None
        self._follow_progress()
        return new

    def _follow_progress(self) -> None:
        limit = self._options.tx_ack_time_out
        self._unacknowledged_slots = self._unacknowledged_slots + 1 if self.held else 0
        if limit and self._unacknowledged_slots > limit + self._options.latency:
            self._report("forward_progress", f"{self._unacknowledged_slots} flits without an Ack")
            self._unacknowledged_slots = 0

    def _nop(self, header: Header) -> bool:
        if self._left_to_replay():
            self._report("replay_incomplete", f"a NOP flit in place of flit {self.replaying}")
        self.replaying = None
        if not _carries(header, self.tx_last_seq):
            self._report("sequence", f"a NOP flit after flit {self.tx_last_seq}: {header}")
        return False

    def _left_to_replay(self) -> bool:
        """A replay is under way and not cut short by Acks."""
        return self.replaying is not None and self.rx_last_ack != self.tx_last_seq

    def _payload(self, seen: ObservedFlit, header: Header) -> bool:
        if isinstance(header, ExplicitHeader) and header.replay:
            self._explicit_replay(seen, header.flit_seq_no)
            return False
        following = next_seq(self.tx_last_seq)
        fitting = [number for number in self._next_replayed() if _carries(header, number)]
        ended = self.replaying is not None and not self._left_to_replay() and _carries(header, following)
        # Three bits of a number fit more than one flit where Acks have overtaken the replay: the content decides.
        alike = [number for number in fitting if self._contents.get(number) == seen.content]
        if alike or (fitting and not ended):
            # Only the first flit of a replay must be marked rpy: Figure 6-21 and the text differ about the others.
            self._replayed(seen, (alike or fitting)[0])
            return False
        if self._due is not None and not _carries(header, following) and _carries(header, self._due[0]):
            rule = "replay_op" if isinstance(header, ExplicitHeader) else "replay_start"
            self._report(rule, f"{header} where the replay from {self._due[0]} is due")
            self._due = None
            return False
        if self.replaying is not None:
            rule = "replay_incomplete" if _carries(header, following) else "replay_order"
            if self._left_to_replay() or rule == "replay_order":
                self._report(rule, f"{header} where flit {self.replaying} follows")
            self.replaying = None
        if not _carries(header, following):
            self._report("sequence", f"after flit {self.tx_last_seq}: {header}")
        self.tx_last_seq = following
        self._contents[following] = seen.content
        if self.held > MAX_UNACKNOWLEDGED:
            self._report("window", f"flits {next_seq(self.rx_last_ack)} to {following}")
            self.rx_last_ack = next_seq(self.rx_last_ack)
        return True

    def _next_replayed(self) -> list[int]:
        """Flits that a replay under way may go on with: Acks may have overtaken it."""
        if self.replaying is None:
            return []
        skipped = seq_distance(self.replaying, next_seq(self.rx_last_ack))
        left = seq_distance(self.replaying, self.tx_last_seq)
        return [seq_advance(self.replaying, n) for n in range(min(skipped if skipped <= WINDOW else 0, left) + 1)]

    def _explicit_replay(self, seen: ObservedFlit, number: int) -> None:
        asked = [self._due[0]] if self._due is not None else []
        if self._may is not None:
            asked.append(self._may.number)
        # Acks that arrived since may have freed the first of what was asked for.
        first = next_seq(self.rx_last_ack)
        asked += [first for n in asked if 0 < seq_distance(n, first) <= WINDOW]
        if number in asked:
            if self._may is not None and (self._due is None or number != self._due[0]):
                self.since_accepted = self._may.age
            self._due = self._may = None
            self._replayed(seen, number)
        elif number in self._next_replayed():
            self._replayed(seen, number)
        elif asked:
            self._report("replay_number", f"flit {number} where {asked[0]} was asked for")
            self._due = self._may = None
        elif self.replaying is not None and not 0 < seq_distance(number, self.replaying) <= WINDOW:
            self._report("replay_order", f"flit {number} where flit {self.replaying} follows")
        elif number == next_seq(self.tx_last_seq):
            self._report("replay_op", f"new flit {number} has op rpy")
        else:
            self._report("replay_unprovoked", f"flit {number}")

    def _replayed(self, seen: ObservedFlit, number: int) -> None:
        if self._contents.get(number) != seen.content:
            self._report("replay_content", f"flit {number}")
        self.replaying = None if number == self.tx_last_seq else next_seq(number)


@dataclass
class _Optional:
    """A Replay Request that may be obeyed but need not be, in ``left`` more flits; ``age`` in received slots."""

    number: int
    left: int
    age: int = 0


def _carries(header: Header, number: int) -> bool:
    if isinstance(header, ExplicitHeader):
        return header.flit_seq_no == number
    return header.flit_seq_lo == number & 7
