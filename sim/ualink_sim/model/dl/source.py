"""Where DL messages come from and go to: what plugs into a link end (UALink_200 §6.4.1)."""

from collections import deque
from typing import Protocol

from .basic import BasicService
from .channel import TL_CHANNEL, UART_CHANNEL, ChannelControl, ChannelError, ChannelState
from .decode_messages import Message, Payload, Unknown
from .messages import ChannelCommand, ChannelNegotiation, DLMessage
from .uart import Uart

__all__ = ["BasicSource", "ChannelSource", "MessageSource", "UartSource"]

Heard = Message | Payload | Unknown

_BUSY = (ChannelState.REQ, ChannelState.ACKD, ChannelState.BOTH)


class MessageSource(Protocol):
    """All messages of one class; ``more``: the dword after it belongs to the same message."""

    def offer(self) -> tuple[int, bool] | None:
        """The next dword and ``more``, None when nothing waits; the same until it is taken."""

    def take(self) -> None:
        """The dword on offer has been packed."""

    def hear(self, dword: int, what: Heard) -> None:
        """A dword of any class has arrived, and what it is."""

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

    def hear(self, dword: int, what: Heard) -> None:
        """Answers to Control messages are queued."""
        if not isinstance(what, Message) or not isinstance(what.message, ChannelNegotiation):
            return
        message = what.message
        number = (message.target_state if message.command == ChannelCommand.REQUEST else message.response) & 7
        if number not in self.want:
            return
        channel = self.control.channels[number]
        asking = channel.state is ChannelState.REQ
        self._age[number] = 0
        self.control.ready = self.want[number]
        self.waiting.extend(self.control.receive(message))
        if asking and channel.state is ChannelState.IDLE and channel.online != self.want[number]:
            self._refused.add(number)

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


class BasicSource:
    """Basic messages; ``service`` asks and answers. Settings outlive a link down, what the partner told does not."""

    def __init__(self):
        self.service = BasicService()
        self._chosen: DLMessage | None = None

    def reset(self) -> None:
        """Nothing asked, nothing owed."""
        old = self.service
        self.service = BasicService(device=old.device, port=old.port, rate=old.rate)
        self._chosen = None

    def offer(self) -> tuple[int, bool] | None:
        """The message that the types have agreed on."""
        if self._chosen is None:
            self._chosen = self.service.choose()
        return None if self._chosen is None else (self._chosen.encode(), False)

    def take(self) -> None:
        """The message on offer has been packed."""
        assert self._chosen is not None
        self.service.sent(self._chosen)
        self._chosen = None

    def hear(self, dword: int, what: Heard) -> None:
        """Take in Basic messages."""
        if isinstance(what, Message):
            self.service.receive(what.message, () if self._chosen is None else (self._chosen,))

    def flit_time(self) -> None:
        """Basic messages know no time."""


class UartSource:
    """UART messages; ``channels`` says what channel 4 permits."""

    def __init__(self, channels: ChannelSource, uart: Uart):
        self.uart = uart
        self._channels = channels
        self._offered: tuple[int, bool] | None = None
        self._under_way = False

    def reset(self) -> None:
        """Buffers empty, no credits."""
        self.uart.link_down()
        self._offered = None
        self._under_way = False

    def _follow_channel(self) -> None:
        # Control messages that wait must not be overtaken by a new message, but one under way is not cut short.
        online = self._channels.control.online(UART_CHANNEL)
        self.uart.transmit = online if self._under_way else self._channels.online(UART_CHANNEL)
        self.uart.receiving = self._channels.receiving(UART_CHANNEL)
        self.uart.offline = not online

    def offer(self) -> tuple[int, bool] | None:
        """The next dword of the message under way, or the first of the next."""
        self._follow_channel()
        if self._offered is None:
            self._offered = self.uart.send()
        return self._offered

    def take(self) -> None:
        """The dword on offer has been packed."""
        assert self._offered is not None
        self._under_way = self._offered[1]
        self._offered = None

    def hear(self, dword: int, what: Heard) -> None:
        """The stream does its own framing."""
        self._follow_channel()
        self.uart.receive(dword)

    def flit_time(self) -> None:
        """A flit has been sent."""
        self.uart.flit_sent()
        self.uart.flit_time()
