"""Holds what a device sends on a link against the rules of the DL (UALink_200 §6)."""

from collections.abc import Callable

from ...model.dl.channel import TL_CHANNEL, UART_CHANNEL
from ...model.dl.decode_messages import Message, MessageStream, Payload
from ...model.dl.endpoint import CONTROL_FLIT, IDLE, LOST, REMOTE_FAULT, Slot, SlotKind
from ...model.dl.flit import DLFlit
from ...model.dl.messages import UART, ChannelNegotiation
from ...model.dl.packing import SegmentHeader
from ...model.dl.replay import Verdict
from .ack_rules import AckRules
from .channel_rules import ChannelRules
from .flit_rules import FlitRules
from .link_rules import LinkRules
from .message_rules import BasicRules, check_message
from .observed import ObservedFlit
from .options import CheckerOptions
from .replay_rules import ReplayRules
from .rules import DLProtocolError
from .uart_rules import UartRules

__all__ = ["LinkChecker"]


def _raise(error: DLProtocolError) -> None:
    raise error


class LinkChecker:
    """Tell it of every slot that the device was given (``received``) and of every slot that it sent (``sent``).

    Slots are told when they are complete, in the order of time. ``on_error`` is called with each ``DLProtocolError``;
    unless given, it is raised.
    """

    def __init__(self, options: CheckerOptions | None = None, on_error: Callable[[DLProtocolError], None] = _raise):
        self.options = options = options or CheckerOptions()
        self._on_error = on_error
        self.slots = 0
        report = self.report
        self.flit_rules = FlitRules(report)
        self.link = LinkRules(report, options)
        self.replay = ReplayRules(report, options)
        self.acks = AckRules(report, options)
        self.channels = ChannelRules(report, options)
        self.basic = BasicRules(report, options)
        self.uart = UartRules(report, options)
        self._incoming = MessageStream()

    def reset(self) -> None:
        """The device is in reset."""
        self._forget()
        self.link.reset()

    def _forget(self) -> None:
        """Link down: nothing of what was in flight stays (ruling A-22 (DL))."""
        for part in (self.flit_rules, self.replay, self.acks, self.channels, self.basic, self.uart):
            part.reset()
        self._incoming.flush()

    def report(self, rule: str, detail: object = "") -> None:
        """A rule is broken in the slot at hand."""
        self._on_error(DLProtocolError(rule, self.slots, detail))

    def show_fault(self, local: bool = False, remote: bool = False) -> None:
        """What the RS shows to the device from now on."""
        self.link.local_fault, self.link.remote_fault = local, remote

    # What the device receives.

    def received(self, slot: Slot) -> Verdict | None:
        """A slot that the device was given; what replay makes of it, None for a slot that is none for it."""
        if isinstance(slot, SlotKind) and slot is not LOST:
            self.link.received(False, slot)
            return None
        seen = ObservedFlit(slot, self.options.crc_covers_zero_field) if isinstance(slot, bytes) else None
        good = seen is not None and seen.good
        self.link.received(good, LOST if seen is None else None)
        if self.link.down:
            return None
        header = seen.header if seen is not None and good else None
        self.replay.received(header)
        verdict = self.acks.received(header)
        if seen is not None and verdict is Verdict.ACCEPT and header is not None and header.payload:
            self._hear(seen.flit)
        return verdict

    def _hear(self, flit: DLFlit) -> None:
        for segment, start in enumerate((0, 32, 64, 96, 127)):
            if not SegmentHeader.decode(flit.segment_headers[segment]).alt_sector:
                continue
            what = self._incoming.receive(flit.sectors[start])
            if isinstance(what, Payload):
                self.uart.received_payload()
            elif isinstance(what, Message):
                self.basic.received(what.message)
                self.uart.received(what.message)
                if isinstance(what.message, ChannelNegotiation):
                    self.channels.received(what.message)

    # What it sends.

    def sent(self, slot: Slot) -> None:
        """A slot that the device sent."""
        self.slots += 1
        if isinstance(slot, SlotKind):
            if slot in (IDLE, REMOTE_FAULT) and not self.link.down:
                self._forget()
            if slot is not CONTROL_FLIT:
                self.link.sent_control(slot)
            return
        seen = ObservedFlit(slot, self.options.crc_covers_zero_field)
        if not seen.good:
            if not seen.inverted:
                self.report("crc", slot[636:].hex())
            self.link.sent_flit(False, seen.inverted)
            return
        header = self.flit_rules.header(seen)
        self.link.sent_flit(header is not None and header.payload, False)
        if header is None:
            return
        self.acks.sent(header)
        new = self.replay.sent(seen, header)
        busy = self.uart.payload or self.basic.resetting_uart
        could_answer = not busy and (new or not self.replay.held)
        self.channels.tick(could_answer)
        self.basic.tick(could_answer)
        self.uart.tick()
        if new:
            self._payload(seen)

    def _payload(self, seen: ObservedFlit) -> None:
        for kind, value in self.flit_rules.payload(seen):
            if kind == "segment":
                self.uart.segment(bool(seen.flit.segment_headers[value] & 1))
            elif kind == "message":
                self._message(value)
            elif not self.channels.may_send(TL_CHANNEL):
                self.report("channel_0_offline", f"segment {value}")

    def _message(self, dword: int) -> None:
        if self.uart.payload:
            self.uart.payload -= 1
            self.basic.sent_payload(dword)
            return
        message = check_message(self.report, dword)
        if message is None:
            return
        if message.MCLASS == UART and not self.channels.may_send(UART_CHANNEL):
            self.report("channel_4_offline", type(message).__name__)
        self.basic.sent(message, self.channels.views[UART_CHANNEL].online)
        self.uart.sent(message)
        if isinstance(message, ChannelNegotiation):
            self.channels.sent(message)
