"""Online/offline negotiation of the DL channels (UALink_200 §6.4.3, Table 6-8; ruling A-10 (DL)).

Three way: Request, Ack, confirming Ack. The requester changes when it sends the confirming Ack, the responder when it
receives it; a responder takes in the channel's data from its own Ack on.
"""

from enum import Enum

from .messages import ChannelCommand, ChannelNegotiation

__all__ = ["TL_CHANNEL", "UART_CHANNEL", "Channel", "ChannelControl", "ChannelError", "ChannelState"]

TL_CHANNEL, UART_CHANNEL = 0, 4


class ChannelError(ValueError):
    """A local request that the rules do not permit now."""


class ChannelState(Enum):
    """Where a negotiation stands, seen from one side."""

    IDLE = "no negotiation"
    REQ = "own Request outstanding"
    ACKD = "partner's Request acknowledged, confirming Ack to come"
    BOTH = "own Request outstanding, partner's identical one acknowledged"
    OWE = "answered decision pending: own Request due within 10 ms"
    BLOCK = "got decision pending: no own Request until the partner's has completed"


_ASKING = (ChannelState.REQ, ChannelState.BOTH)


class Channel:
    """One channel on one side; ``online`` is the current state, ``target`` the one under negotiation."""

    def __init__(self, number: int):
        self.number = number
        self.reset()

    def reset(self) -> None:
        """Offline, nothing under way (reset, and link down by ruling A-22 (DL))."""
        self.online = False
        self.target = False
        self.state = ChannelState.IDLE
        self.errors = 0

    @property
    def receiving(self) -> bool:
        """True when data that arrive for the channel are taken in; otherwise they are dropped without report."""
        return self.online or (self.state in (ChannelState.ACKD, ChannelState.BOTH) and self.target)

    def code(self, online: bool) -> int:
        """TargetState or Response code of a state of this channel."""
        return online << 3 | self.number

    def message(self, command: ChannelCommand, target: bool | None, response: int = 0) -> ChannelNegotiation:
        """A message of this channel; ``target`` None sends TargetState 0."""
        code = 0 if target is None else self.code(target)
        return ChannelNegotiation(target_state=code, command=command, response=response)

    def request(self, online: bool) -> ChannelNegotiation:
        """Start a negotiation for the opposite of the current state."""
        if online == self.online:
            raise ChannelError(f"channel {self.number} is {'online' if online else 'offline'} already")
        if self.state not in (ChannelState.IDLE, ChannelState.OWE):
            raise ChannelError(f"channel {self.number}: {self.state.value}")
        self.state, self.target = ChannelState.REQ, online
        return self.message(ChannelCommand.REQUEST, online)

    def abandon(self) -> None:
        """Give up waiting for an answer (time-out); the current state stays."""
        if self.state in (ChannelState.REQ, ChannelState.ACKD, ChannelState.BOTH):
            self.state = ChannelState.IDLE

    def receive(self, message: ChannelNegotiation, may_defer: bool, ready: bool) -> list[ChannelNegotiation]:
        """Answers to a received message, in the order in which they are to be sent."""
        if message.command == ChannelCommand.REQUEST:
            return self._request(message, may_defer, ready)
        if message.response != self.code(self.target):
            return []
        if message.command == ChannelCommand.ACK:
            return self._ack(message)
        if self.state in _ASKING and message.command in (ChannelCommand.NACK, ChannelCommand.DECISION_PENDING):
            pending = message.command == ChannelCommand.DECISION_PENDING
            self.state = ChannelState.BLOCK if pending else ChannelState.IDLE
        return []

    def _request(self, message: ChannelNegotiation, may_defer: bool, ready: bool) -> list[ChannelNegotiation]:
        online = bool(message.target_state >> 3)
        if online == self.online:
            self.errors += 1
            return [self.message(ChannelCommand.ACK, online, message.target_state)]
        if online and not ready and may_defer:
            self.state, self.target = ChannelState.OWE, online
            return [self.message(ChannelCommand.DECISION_PENDING, None, message.target_state)]
        self.state = ChannelState.BOTH if self.state in _ASKING else ChannelState.ACKD
        self.target = online
        return [self.message(ChannelCommand.ACK, online, message.target_state)]

    def _ack(self, message: ChannelNegotiation) -> list[ChannelNegotiation]:
        if self.state in _ASKING:
            confirm = self.message(ChannelCommand.ACK, self.target, message.target_state)
            if self.state is ChannelState.BOTH:
                self.state = ChannelState.ACKD
            else:
                self.state, self.online = ChannelState.IDLE, self.target
            return [confirm]
        if self.state is ChannelState.ACKD:
            self.state, self.online = ChannelState.IDLE, self.target
        return []


class ChannelControl:
    """Both channels of one side: one own negotiation at a time. ``ready``: may a channel be taken online now?

    ``may_request`` False stands for a partner type that may not start requests (ruling A-11 (DL)).
    """

    def __init__(self, ready: bool = True, may_request: bool = True):
        self.ready = ready
        self.may_request = may_request
        self.channels = {number: Channel(number) for number in (TL_CHANNEL, UART_CHANNEL)}

    def reset(self) -> None:
        """All channels offline."""
        for channel in self.channels.values():
            channel.reset()

    def online(self, number: int) -> bool:
        """True when data of channel ``number`` may be transmitted."""
        return self.channels[number].online

    def request(self, number: int, online: bool) -> ChannelNegotiation:
        """Start a negotiation; ChannelError while one of this kind is under way on either channel."""
        if not self.may_request:
            raise ChannelError("this device may not start a channel negotiation")
        for channel in self.channels.values():
            if channel.number != number and channel.state is not ChannelState.IDLE:
                raise ChannelError(f"channel {channel.number}: {channel.state.value}")
        return self.channels[number].request(online)

    def receive(self, message: ChannelNegotiation) -> list[ChannelNegotiation]:
        """Answers to a received message; messages for channels that do not exist get none."""
        code = message.target_state if message.command == ChannelCommand.REQUEST else message.response
        channel = self.channels.get(code & 7)
        if channel is None:
            return []
        asking = any(other.state in _ASKING for other in self.channels.values())
        return channel.receive(message, may_defer=not asking, ready=self.ready)
