"""Rules for channel negotiations (UALink_200 §6.4.3; rulings A-09 and A-10 (DL))."""

from dataclasses import dataclass

from ...model.dl.channel import TL_CHANNEL, UART_CHANNEL, ChannelState
from ...model.dl.messages import ChannelCommand, ChannelNegotiation
from .flit_rules import Report
from .options import CheckerOptions

__all__ = ["ChannelRules"]

UART_RESET_FLITS = 9
"""A UART stream reset keeps back a Request that was scheduled before: 41 dwords."""

_ASKING = (ChannelState.REQ, ChannelState.BOTH)


@dataclass
class _View:
    """One channel, as the messages of both directions leave it on the device's side."""

    number: int
    online: bool = False
    target: bool = False
    state: ChannelState = ChannelState.IDLE
    since: int = 0
    offline_since: int = 0
    confirmed: bool = False
    """In BOTH: the partner's confirming Ack is here before the own one is out."""

    def code(self, online: bool) -> int:
        return online << 3 | self.number


@dataclass
class _Owed:
    """An answer that the device owes: to a Request (``confirm`` False), or the confirming Ack."""

    view: _View
    code: int
    confirm: bool
    since: int


class ChannelRules:
    """Follows both channels; ``now`` counts the flits in which the device could answer, ``time`` all."""

    def __init__(self, report: Report, options: CheckerOptions):
        self._report = report
        self._options = options
        self.reset()

    def reset(self) -> None:
        """Link down."""
        self.views = {number: _View(number) for number in (TL_CHANNEL, UART_CHANNEL)}
        self._owed: list[_Owed] = []
        self.now = self.time = 0

    def tick(self, could_answer: bool) -> None:
        """A flit was sent."""
        self.time += 1
        self.now += could_answer
        if self._owed and self.now - self._owed[0].since > self._options.answer:
            owed = self._owed.pop(0)
            if not owed.confirm:
                self._report("channel_answer", f"channel {owed.view.number}")
        for view in self.views.values():
            if view.state is ChannelState.OWE and self.time - view.since > self._options.owed:
                self._report("channel_owed", f"channel {view.number}")
                self._move(view, ChannelState.IDLE)

    def may_send(self, number: int) -> bool:
        """Data of the channel may start in the segment at hand."""
        view = self.views[number]
        return view.online or (view.offline_since > 0 and self.time - view.offline_since <= self._options.latency)

    def _move(self, view: _View, state: ChannelState) -> None:
        view.state, view.since, view.confirmed = state, self.time, False

    def _switch(self, view: _View) -> None:
        if view.online and not view.target:
            view.offline_since = self.time + 1
        view.online = view.target
        self._move(view, ChannelState.IDLE)

    def received(self, message: ChannelNegotiation) -> None:
        """A channel message that reached the device."""
        request = message.command == ChannelCommand.REQUEST
        code = message.target_state if request else message.response
        view = self.views.get(code & 7)
        if view is None:
            return
        if request:
            self._owed.append(_Owed(view, code, False, self.now))
        elif code == view.code(view.target):
            if message.command == ChannelCommand.ACK:
                self._acked(view, message)
            elif view.state in _ASKING and message.command in (ChannelCommand.NACK, ChannelCommand.DECISION_PENDING):
                pending = message.command == ChannelCommand.DECISION_PENDING
                self._move(view, ChannelState.BLOCK if pending else ChannelState.IDLE)

    def _acked(self, view: _View, message: ChannelNegotiation) -> None:
        waiting = [owed for owed in self._owed if owed.view is view and owed.confirm]
        if view.state in _ASKING and not waiting:
            self._owed.append(_Owed(view, message.target_state, True, self.now))
        elif view.state is ChannelState.BOTH:
            view.confirmed = True
        elif view.state is ChannelState.ACKD:
            self._switch(view)

    def sent(self, message: ChannelNegotiation) -> None:
        """A channel message of the device."""
        command = message.command
        if command not in set(ChannelCommand):
            self._report("message_reserved", f"Channel.Command {command:04b}")
            return
        code = message.target_state if command == ChannelCommand.REQUEST else message.response
        view = self.views.get(code & 7)
        if view is None:
            self._report("message_reserved", f"channel {code & 7}")
        elif command == ChannelCommand.REQUEST:
            self._request(view, message)
        else:
            self._answer(view, message)

    def _request(self, view: _View, message: ChannelNegotiation) -> None:
        if message.response:
            self._report("channel_response", f"Response {message.response:x} in a Request")
        online = bool(message.target_state >> 3)
        given_up = self.time - view.since >= self._options.owed
        crossing = self._options.latency + UART_RESET_FLITS
        late = [owed for owed in self._owed if not owed.confirm and self.now - owed.since > crossing]
        if online == view.online:
            self._report("channel_request", f"channel {view.number} is {'online' if online else 'offline'} already")
        elif late or not (view.state in (ChannelState.IDLE, ChannelState.OWE) or given_up):
            self._report("channel_request", f"channel {view.number}: {view.state.value}")
        view.target = online
        self._move(view, ChannelState.REQ)

    def _answer(self, view: _View, message: ChannelNegotiation) -> None:
        command, response = message.command, message.response
        if not self._owed:
            self._report("channel_unasked", f"{ChannelCommand(command).name} for channel {view.number}")
            return
        owed = self._owed.pop(0)
        if owed.view is not view:
            self._report("channel_unasked", f"channel {view.number} before channel {owed.view.number}")
            return
        online = bool(owed.code >> 3)
        expected = 0 if command == ChannelCommand.DECISION_PENDING else owed.code
        if response != owed.code or (command != ChannelCommand.NACK and message.target_state != expected):
            wrong = f"TargetState {message.target_state:x}, Response {response:x} to {owed.code:x}"
            self._report("channel_response", wrong)
        if command != ChannelCommand.ACK:
            pending = command == ChannelCommand.DECISION_PENDING
            if not pending or owed.confirm or not online or view.state in _ASKING:
                self._report("channel_refused", f"{ChannelCommand(command).name} for channel {view.number}")
            view.target = online
            self._move(view, ChannelState.OWE if pending else ChannelState.IDLE)
        elif owed.confirm:
            if view.state is ChannelState.BOTH and not view.confirmed:
                self._move(view, ChannelState.ACKD)
            else:
                self._switch(view)
        elif online != view.online:
            view.target = online
            self._move(view, ChannelState.BOTH if view.state is ChannelState.REQ else ChannelState.ACKD)
