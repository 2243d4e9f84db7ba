"""Rules for what a device tells its partner: cadence, Acks, Replay Requests (UALink_200 §6.6.6.4, §6.6.6.7)."""

from collections import deque
from dataclasses import dataclass

from ...model.dl.header import CommandHeader, ExplicitHeader
from ...model.dl.replay import REPLAY_REQUESTS, ReplayReceiver, Verdict
from ...model.dl.sequence import RESET_SEQ, WINDOW, next_seq, seq_distance
from .flit_rules import Report
from .observed import Header
from .options import CheckerOptions

__all__ = ["AckRules"]


class AckRules:
    """Judges what the device receives as it must do itself, and its headers by that.

    Attributes
    ----------
    commands : command flits since the last explicit one.
    receiver : the receive side of the device, by the executable model.
    """

    def __init__(self, report: Report, options: CheckerOptions):
        self._report = report
        self._options = options
        self.receiver = ReplayReceiver(options.rx_replay_limit)
        self.reset()

    def reset(self) -> None:
        """Link down."""
        self.receiver.reset()
        self._last_ack = RESET_SEQ
        self.commands = 0
        self._accepted: deque[int] = deque([RESET_SEQ] * (self._options.latency + 1), self._options.latency + 1)
        self._slot = 0
        self._last_request: int | None = None
        self._number = 0
        self._sets: list[_RequestSet] = []

    def received(self, header: Header | None) -> Verdict:
        """One flit slot that the device was given; None where it was bad."""
        verdict = self.receiver.receive(header)
        if self.receiver.request_replay:
            self._sets.append(_RequestSet(self._slot, alone=not self._sets))
        return verdict

    def sent(self, header: Header) -> None:
        """One good flit."""
        self._slot += 1
        self._accepted.append(self.receiver.rx_last_seq_calc)
        self.commands = 0 if isinstance(header, ExplicitHeader) else self.commands + 1
        if self.commands >= self._options.explicit_cadence:
            self._report("explicit_cadence", f"{self.commands} command flits")
            self.commands = 0
        if isinstance(header, CommandHeader):
            if header.replay_request:
                self._request(header.ack_req_seq)
            else:
                self._ack(header.ack_req_seq)
        self._check_requests()

    def _ack(self, number: int) -> None:
        if _behind(number, self._last_ack):
            self._report("ack_order", f"{number} after {self._last_ack}")
        elif _behind(self.receiver.rx_last_seq_calc, number):
            self._report("ack_range", f"{number}, with {self.receiver.rx_last_seq_calc} the newest in order")
        elif _behind(number, self._accepted[0]):
            self._report("ack_late", f"{number}, {self._options.latency} flits after {self._accepted[0]} arrived")
        self._last_ack = number

    def _request(self, number: int) -> None:
        spacing = self._options.request_spacing or self._options.codeword_group
        if self._last_request is not None and self._slot - self._last_request < spacing:
            self._report("request_spacing", f"{self._slot - self._last_request} flits after the last")
        self._last_request = self._slot
        # A set that falls due while another is under way takes its place, and one copy more may be on its way.
        strict = len(self._sets) == 1 and self._sets[0].alone
        if not self._sets or (strict and self._sets[0].copies == REPLAY_REQUESTS):
            self._report("request_unprovoked", f"flit {number}")
            return
        wanted = {next_seq(accepted) for accepted in self._accepted}
        if not strict:
            wanted.add(self._number)
        elif self._sets[0].copies:
            wanted = {self._number}
        if number not in wanted:
            self._report("request_number", f"{number}, with {self.receiver.rx_last_seq_calc} the newest in order")
        self._number = number
        for one in self._sets:
            one.copies += 1

    def _check_requests(self) -> None:
        group, latency = self._options.codeword_group, self._options.latency
        for one in list(self._sets):
            age = self._slot - one.slot
            if not one.copies and age > latency + group + 1:
                self._report("request_missing", f"{next_seq(self.receiver.rx_last_seq_calc)} is the first missing")
                self._sets.remove(one)
            elif age > REPLAY_REQUESTS * group + latency + 2:
                if one.copies < REPLAY_REQUESTS:
                    self._report("request_copies", f"{one.copies} for flit {self._number}")
                self._sets.remove(one)


@dataclass
class _RequestSet:
    """Three copies that are due since ``slot``; ``alone``: no other set was under way then."""

    slot: int
    alone: bool
    copies: int = 0


def _behind(number: int, other: int) -> bool:
    """``number`` is older than ``other``."""
    return 0 < seq_distance(number, other) <= WINDOW
