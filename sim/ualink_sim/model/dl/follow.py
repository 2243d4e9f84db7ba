"""Which flits of a captured direction are new, repeated or missing, and where the link restarts (UALink_200 §6.6).

It follows the numbers as the receiver behind the tap does. Where a capture starts in mid-stream the number that the
receiver waits for is not known; then flits are taken as they come, and a replay tells it.
"""

from dataclasses import dataclass, field
from enum import Enum

from .header import CommandHeader, ExplicitHeader
from .sequence import RESET_SEQ, WINDOW, next_seq, previous_seq, reconstruct_seq, seq_distance

__all__ = ["FlitFollower", "FlitPlace", "FlitState", "StreamChange"]

AMBIGUOUS_AFTER = 7
"""Bad or lost flits in a row after which the low bits of a number say nothing any more."""
RESTART_NOPS = 8
"""NOP flits in a row with both numbers at their reset value that show a link restart; DL NOP sends ten or more."""
NEAR_RESET = 16
"""Missing flits before number 511 up to which NOP flits with that number may as well belong to the old stream."""

Header = ExplicitHeader | CommandHeader


class FlitState(Enum):
    """What a flit is to the receiver behind the tap."""

    PAYLOAD = "payload, in order"
    NOP = "NOP"
    DUPLICATE = "payload seen before (replay)"
    GAP = "payload after a gap; a replay must follow"
    UNNUMBERED = "payload whose number is not known"
    BAD_CRC = "bad CRC"
    BAD_HEADER = "reserved op code or number"


class StreamChange(Enum):
    """What begins with a flit."""

    NONE = "the stream goes on"
    START = "the first flits of a link"
    RESTART = "the first flits of a link that was up before"
    HOLE = "flits before it are missing for good"


@dataclass
class FlitPlace:
    """Where a flit belongs; ``seq`` is its own number, None where not known."""

    state: FlitState
    seq: int | None = None
    change: StreamChange = StreamChange.NONE
    notes: list[str] = field(default_factory=list)


class FlitFollower:
    """Give it the good headers of one direction in order, and tell it of all other flits.

    ``from_start`` True: the first flit is that of a link; None: it is if it looks so.
    """

    def __init__(self, from_start: bool | None = None):
        self._from_start = from_start
        self._started = False
        self._bad_run = 0
        self._reset_run = 0
        self._forget()

    def _forget(self, seq: int | None = None, from_link_start: bool = False) -> None:
        self._wire = seq  # number of the last flit on the wire
        self._accepted = seq  # number of the last payload flit in order, for the receiver
        self._taken = seq  # and for this follower
        self._waiting = False
        self._replaying = False  # between the first flit of a replay, the only one surely marked, and a new flit
        self._from_link_start = from_link_start

    def missed(self, flits: int = 1) -> None:
        """``flits`` came without a header that could be read."""
        self._bad_run += flits

    def follow(self, header: Header) -> FlitPlace:
        """The place of the next flit."""
        place = FlitPlace(FlitState.UNNUMBERED if header.payload else FlitState.NOP)
        self._find_restart(header, place)
        if 0 in (getattr(header, "flit_seq_no", None), getattr(header, "ack_req_seq", None)):
            place.state = FlitState.BAD_HEADER
        else:
            self._replaying |= isinstance(header, ExplicitHeader) and header.replay
            before, place.seq = self._wire, self._number(header)
            self._wire = place.seq
            if place.seq is not None:
                self._place(header, place, before, place.seq)
        self._bad_run = 0
        return place

    def _find_restart(self, header: Header, place: FlitPlace) -> None:
        first = False
        if isinstance(header, ExplicitHeader):
            fresh = not header.payload and header.flit_seq_no == RESET_SEQ
            first = header.payload and not header.replay and header.flit_seq_no == next_seq(RESET_SEQ)
        else:
            fresh = not header.payload and header.flit_seq_lo == RESET_SEQ & 7 and header.ack_req_seq == RESET_SEQ
        run, self._reset_run = self._reset_run, self._reset_run + 1 if fresh else 0
        if not self._started:
            self._started = True
            if (fresh or first) if self._from_start is None else self._from_start:
                self._forget(RESET_SEQ, True)
                place.change = StreamChange.START
            else:
                place.notes.append("the capture starts in mid-stream: the TL is not decoded until it is in step")
            return
        if self._accepted == RESET_SEQ:
            return
        if first:
            behind = self._accepted is not None and not self._ahead(next_seq(RESET_SEQ))
            restarted = run >= RESTART_NOPS or (behind and not self._replaying)
        else:
            near = self._accepted is not None and seq_distance(self._accepted, RESET_SEQ) <= NEAR_RESET
            restarted = self._reset_run == RESTART_NOPS and not near
        if restarted:
            self._forget(RESET_SEQ, True)
            place.change = StreamChange.RESTART
            place.notes.append("the link restarted")

    def _number(self, header: Header) -> int | None:
        if isinstance(header, ExplicitHeader):
            return header.flit_seq_no
        if self._wire is None or self._bad_run >= AMBIGUOUS_AFTER:
            return None
        return reconstruct_seq(self._wire, header.flit_seq_lo, header.payload)

    def _ahead(self, seq: int, start: int | None = None) -> bool:
        """True for a number after ``start`` (the last accepted one), as the receiver's window has it."""
        start = self._accepted if start is None else start
        assert start is not None
        return 0 < seq_distance(start, seq) <= WINDOW

    def _place(self, header: Header, place: FlitPlace, before: int | None, seq: int) -> None:
        if self._accepted is not None and self._lost_for_good(header, before, seq):
            place.notes.append(f"flits {next_seq(self._accepted)} and on were never replayed")
            place.notes.append("the TL is not decoded until it is in step again")
            place.change = StreamChange.HOLE
            self._forget()
            self._wire = seq
        if self._accepted is None or self._taken is None:
            # The first number known: a payload flit is taken as the next in order.
            self._accepted = self._taken = seq
            place.state = FlitState.PAYLOAD if header.payload else FlitState.NOP
            return
        ahead, explicit = self._ahead(seq), isinstance(header, ExplicitHeader)
        if not ahead and isinstance(header, ExplicitHeader) and header.replay and not self._from_link_start:
            # Flits were taken that the receiver has missed: this is the one that it waits for.
            self._accepted = previous_seq(seq)
        if header.payload and seq == next_seq(self._accepted) and (explicit or not self._waiting):
            self._accepted, self._waiting = seq, False
            place.state = FlitState.DUPLICATE
            if self._ahead(seq, self._taken):
                place.state, self._taken = FlitState.PAYLOAD, seq
            return
        if header.payload:
            place.state = FlitState.GAP if ahead else FlitState.DUPLICATE
        if ahead and not self._waiting:
            self._waiting = True
            place.notes.append(f"flits {next_seq(self._accepted)} and on are missing")

    def _lost_for_good(self, header: Header, before: int | None, seq: int) -> bool:
        # A transmitter keeps no more flits for a replay than the window holds: what it sends first is never behind.
        if not header.payload:
            return False
        if self._ahead(seq):
            self._replaying = False
            return False
        if isinstance(header, ExplicitHeader) and not self._replaying:
            return True
        return self._waiting and before is not None and self._ahead(before) and seq == next_seq(before)
