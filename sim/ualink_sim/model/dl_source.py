"""Where DL messages come from and go to: what plugs into a link end (UALink_200 §6.4.1)."""

from collections import deque
from typing import Protocol

from .dl_channel import TL_CHANNEL, UART_CHANNEL, ChannelControl, ChannelError, ChannelState
from .dl_messages import ChannelNegotiation

__all__ = ["ChannelSource", "MessageSource"]

_BUSY = (ChannelState.REQ, ChannelState.ACKD, ChannelState.BOTH)


class MessageSource(Protocol):
    """All messages of one class; ``more``: the dword after it belongs to the same message."""

    def offer(self) -> tuple[int, bool] | None:
        """The next dword and ``more``, None when nothing waits; the same until it is taken."""

    def take(self) -> None:
        """The dword on offer has been packed."""

    def receive(self, dword: int) -> None:
        """The first dword of a message of this class has arrived."""

    def receive_payload(self, dword: int, last: bool) -> None:
        """A payload dword of a UART Stream Transport Message has arrived."""

    def flit_time(self) -> None:
        """A flit has been transmitted, or could have been."""

    def reset(self) -> None:
        """Link down."""


class ChannelSource:
    """Control messages: keeps the channels as ``want`` has them, and answers the partner (UALink_200 §6.4.3).

    A channel that is not wanted online is not ready either: the partner's Request gets decision pending, and an own
    Request follows once it is wanted, at the latest after half of ``time_out`` flit times. Negotiations without an
    answer are given up after ``time_out`` flit times; 0: never.
    """

    def __init__(self, time_out: int = 0, may_request: bool = True):
        self.control = ChannelControl(may_request=may_request)
        self.time_out = time_out
        self.want = {TL_CHANNEL: True, UART_CHANNEL: False}
        self.reset()

    def reset(self) -> None:
        """All channels offline, nothing waits."""
        self.control.reset()
        self.waiting: deque[ChannelNegotiation] = deque()
        self._refused: set[int] = set()
        self._age = dict.fromkeys(self.want, 0)

    def online(self, number: int) -> bool:
        """Data of the channel may be sent: not while a message waits, which it must not overtake."""
        return self.control.online(number) and not self.waiting

    def receiving(self, number: int) -> bool:
        """Data of the channel that arrive count."""
        return self.control.channels[number].receiving

    def offer(self) -> tuple[int, bool] | None:
        """Answers in the order of what they answer, and own Requests."""
        return (self.waiting[0].encode(), False) if self.waiting else None

    def take(self) -> None:
        """The message on offer has been packed."""
        self.waiting.popleft()

    def receive(self, dword: int) -> None:
        """A Control message has arrived; answers are queued."""
        message = ChannelNegotiation.decode(dword)
        number = (message.target_state if message.command == 0b0100 else message.response) & 7
        if number not in self.want:
            return
        channel = self.control.channels[number]
        asking = channel.state is ChannelState.REQ
        self._age[number] = 0
        self.control.ready = self.want[number]
        self.waiting.extend(self.control.receive(message))
        if asking and channel.state is ChannelState.IDLE and channel.online != self.want[number]:
            self._refused.add(number)

    def receive_payload(self, dword: int, last: bool) -> None:
        """Control messages have one dword."""

    def flit_time(self) -> None:
        """Start what is wanted, give up what takes too long."""
        for number, channel in self.control.channels.items():
            self._age[number] += 1
            if channel.online == self.want[number]:
                self._refused.discard(number)
            overdue = bool(self.time_out) and self._age[number] >= self.time_out // 2
            if channel.state in _BUSY and self.time_out and self._age[number] >= self.time_out:
                channel.abandon()
            elif channel.state is ChannelState.OWE and (self.want[number] or overdue):
                self._request(number, True)
            elif channel.state is ChannelState.IDLE and self._wants_change(number):
                self._request(number, self.want[number])

    def _wants_change(self, number: int) -> bool:
        return self.control.online(number) != self.want[number] and number not in self._refused

    def _request(self, number: int, online: bool) -> None:
        owed = self.control.channels[number].state is ChannelState.OWE
        try:
            message = self.control.channels[number].request(online) if owed else self.control.request(number, online)
        except ChannelError:
            return  # not permitted now: the other channel negotiates, or this device may not start
        self._age[number] = 0
        self.waiting.append(message)
