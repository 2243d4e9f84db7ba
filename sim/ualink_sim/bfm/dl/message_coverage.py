"""Coverage of packing, DL messages, channel flows and the UART (UALink_200 §6.3.4, §6.4)."""

from collections.abc import Iterator

from ...model.dl.channel import TL_CHANNEL, UART_CHANNEL
from ...model.dl.decode_messages import Message, MessageStream, Unknown
from ...model.dl.endpoint import Slot
from ...model.dl.flit import SEGMENT_START
from ...model.dl.messages import (
    ChannelCommand,
    ChannelNegotiation,
    DLMessage,
    UARTResetRequest,
    UARTResetResponse,
    UARTTransport,
)
from ...model.dl.replay import Verdict
from .checker import LinkChecker
from .flit_rules import FlitRules
from .observed import ObservedFlit
from .replay_coverage import Hit

__all__ = ["MessageCoverage", "message_name"]


def message_name(message: DLMessage) -> str:
    """Name of a message as in the bins."""
    name = type(message).__name__
    if isinstance(message, ChannelNegotiation):
        known = message.command in set(ChannelCommand)
        return f"{name} {ChannelCommand(message.command).name if known else 'reserved'}"
    if hasattr(message, "ack"):
        return f"{name} {'response' if message.ack else 'request'}"
    return name


class MessageCoverage:
    """Follows the messages of both directions beside the checker."""

    def __init__(self, hit: Hit, checker: LinkChecker):
        self._hit = hit
        self._checker = checker
        self._packing = FlitRules(lambda rule, detail="": None)
        self.reset()

    def reset(self) -> None:
        """Link down."""
        self._incoming, self._outgoing = MessageStream(), MessageStream()
        self._asked: dict[int, set[str]] = {TL_CHANNEL: set(), UART_CHANNEL: set()}
        self._online = dict.fromkeys(self._asked, False)
        self._resetting: set[str] = set()
        self._down = True

    def _messages(self, seen: ObservedFlit, stream: MessageStream) -> Iterator[Message | Unknown]:
        for segment, start in enumerate(SEGMENT_START):
            if seen.flit.segment_headers[segment] & 1:
                what = stream.receive(seen.flit.sectors[start])
                if isinstance(what, Message | Unknown):
                    yield what

    def received(self, slot: Slot, verdict: Verdict | None) -> None:
        """A slot that the device was given, and what replay made of it."""
        if verdict is not Verdict.ACCEPT or not isinstance(slot, bytes):
            return
        seen = ObservedFlit(slot, self._checker.options.crc_covers_zero_field)
        if seen.header is None or not seen.header.payload:
            return
        for what in self._messages(seen, self._incoming):
            if isinstance(what, Unknown):
                self._hit("§6.4 messages received", "unknown")
                continue
            self._hit("§6.4 messages received", message_name(what.message))
            self._uart(what.message, "partner")
            if isinstance(what.message, ChannelNegotiation):
                self._channel(what.message, "partner")
        self._follow_channels()

    def sent(self, slot: Slot, new: bool, carry_over: int) -> None:
        """A slot that the device sent; ``carry_over`` before it."""
        if self._checker.link.down:
            if not self._down:
                self.reset()
            return
        self._down = False
        if not new or not isinstance(slot, bytes):
            return
        seen = ObservedFlit(slot, self._checker.options.crc_covers_zero_field)
        self._packing.carry_over = carry_over
        for kind, segment in self._packing.payload(seen):
            if kind == "segment":
                alternative = "alternative sector" if seen.flit.segment_headers[segment] & 1 else "none"
                self._hit("§6.3.4 packing", f"carry-over {self._packing.carry_over}, {alternative}")
        for what in self._messages(seen, self._outgoing):
            if isinstance(what, Message):
                self._hit("§6.4 messages sent", message_name(what.message))
                self._uart(what.message, "device")
                if isinstance(what.message, ChannelNegotiation):
                    self._channel(what.message, "device")
        if self._checker.uart.payload:
            self._hit("§6.4.4 UART", "message across flits")
        self._follow_channels()

    def _channel(self, message: ChannelNegotiation, by: str) -> None:
        request = message.command == ChannelCommand.REQUEST
        number = (message.target_state if request else message.response) & 7
        if number not in self._asked:
            return
        group = f"§6.4.3 channel {number}"
        if request and by == "partner" and bool(message.target_state >> 3) == self._online[number]:
            self._hit(group, "request for the current state")
        elif request:
            self._asked[number].add(by)
        elif message.command == ChannelCommand.DECISION_PENDING:
            self._hit(group, f"decision pending by the {by}")
            self._asked[number].clear()
        elif message.command == ChannelCommand.NACK and by == "partner":
            self._hit(group, "NAck by the partner")
            self._asked[number].clear()

    def _follow_channels(self) -> None:
        for number, view in self._checker.channels.views.items():
            if view.online == self._online[number]:
                continue
            self._online[number] = view.online
            asked = self._asked[number]
            if len(asked) == 2:
                self._hit(f"§6.4.3 channel {number}", "identical requests")
            for by in asked if len(asked) == 1 else ():
                self._hit(f"§6.4.3 channel {number}", f"{'online' if view.online else 'offline'} by the {by}")
            asked.clear()

    def _uart(self, message: DLMessage, by: str) -> None:
        group = "§6.4.4 UART"
        match message:
            case UARTTransport(length=length) if by == "device":
                size = "1 dword" if length == 0 else "32 dwords" if length == 31 else "2 to 31 dwords"
                self._hit(group, f"message of {size}")
                if self._checker.uart.credit == 0:
                    self._hit(group, "credits used up")
            case UARTResetRequest():
                if by in self._resetting and by == "device":
                    self._hit(group, "reset repeated")
                self._resetting.add(by)
                if len(self._resetting) == 2:
                    self._hit(group, "reset by both")
            case UARTResetResponse():
                asked = "partner" if by == "device" else "device"
                if asked in self._resetting:
                    self._resetting.discard(asked)
                    self._hit(group, f"reset by the {asked}")
