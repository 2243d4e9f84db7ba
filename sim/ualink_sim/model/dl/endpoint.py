"""A whole DL as an executable specification, a flit time at a time (UALink_200 §6).

Link states, packing, CRC, link level replay, channels and messages joined. Two endpoints whose slots are handed to each
other are a link.
"""

from collections import deque
from enum import Enum

from .arbiter import MessageArbiter
from .basic import FULL_RATE, BasicService
from .channel import TL_CHANNEL
from .decode_messages import MessageStream, Unknown
from .flit import DLFlit, crc_ok
from .header import CommandHeader, ExplicitHeader, HeaderError, decode_header
from .link_state import Heard, LinkState, LinkStateMachine
from .messages import DeviceId, PortNumber, TLRateNotification
from .pacing import Pacer, pacing_rate
from .packing import SEGMENTS, TICKS, Packed, Packer, Unpacker
from .replay import ReplayReceiver, ReplayTransmitter, Sent, Verdict
from .source import BasicSource, ChannelSource, MessageSource, UartSource
from .uart import Uart

__all__ = ["CONTROL_FLIT", "IDLE", "LOST", "REMOTE_FAULT", "DLEndpoint", "Slot", "SlotKind"]


class SlotKind(Enum):
    """What a flit slot without a DL flit is."""

    LOST = "its flit did not pass FEC"
    CONTROL_FLIT = "control flit: alignment markers, or Idle"
    IDLE = "Idle"
    REMOTE_FAULT = "remote fault"


LOST, CONTROL_FLIT, IDLE, REMOTE_FAULT = SlotKind

Slot = bytes | SlotKind
"""640 bytes of a DL flit in wire order, or what came in its place."""

TLFlit = tuple[bytes, int]


class DLEndpoint:
    """One end of a link; call ``slot`` once per flit time.

    Parameters
    ----------
    transmitter, receiver : link level replay with its programmable registers.
    uart : the UART stream with its buffers.
    idle_flit_times : least stay in Idle (ruling A-23 (DL)).
    crc_covers_zero_field : ruling A-05 (DL).

    Attributes
    ----------
    channels : the channels' states and what is wanted of them, ``channels.want``.
    pace : most TL flits that this side sends, in units of 50 kHz; a partner that announces less gets less.
    enable : the layer above lets the link leave Idle.
    local_fault, remote_fault : the fault state of the RS; a received ``REMOTE_FAULT`` slot counts as well.
    tl_flits : what ``send`` was given and the DL has not taken yet; back-pressure is what stays here.
    raw_messages : dwords with ``more`` that go out before all others, whatever they are: for tests.
    messages_received : dwords of messages, in order, for whoever wants to look.
    delivered : TL flits that arrived while channel 0 received, in order, with their message bits.
    sent : the last transmitted flit as the replay has it; None in a slot without one.
    verdict : what the replay said of the last received slot; None if it was none for it.
    counters : flits, payload_flits, replayed_flits, crc_errors, lost_flits, header_errors, replay_requests, link_downs,
        time_outs, containments, message_errors.
    """

    def __init__(
        self,
        *,
        transmitter: ReplayTransmitter[Packed] | None = None,
        receiver: ReplayReceiver | None = None,
        uart: Uart | None = None,
        idle_flit_times: int = 16,
        crc_covers_zero_field: bool = True,
    ):
        self.transmitter: ReplayTransmitter[Packed] = transmitter or ReplayTransmitter()
        self.receiver = receiver or ReplayReceiver()
        self.link = LinkStateMachine(idle_flit_times)
        self.packer, self.unpacker = Packer(), Unpacker()
        self.channels = ChannelSource()
        self._basic = BasicSource()
        self._uart = UartSource(self.channels, uart or Uart())
        self.sources: dict[str, MessageSource] = {
            "basic": self._basic,
            "control": self.channels,
            "uart": self._uart,
        }
        self.pace = FULL_RATE
        self.crc_covers_zero_field = crc_covers_zero_field
        self.enable = True
        self.local_fault = self.remote_fault = False
        self.tl_flits: deque[TLFlit] = deque()
        self._errors: deque[bool] = deque()  # one per flit in ``tl_flits``
        self.raw_messages: deque[tuple[int, bool]] = deque()
        self.delivered: list[TLFlit] = []
        self.messages_received: list[int] = []
        self.sent: Sent[Packed] | None = None
        self.verdict: Verdict | None = None
        self.counters = dict.fromkeys(
            (
                *("flits", "payload_flits", "replayed_flits", "crc_errors", "lost_flits", "header_errors"),
                *("replay_requests", "link_downs", "time_outs", "containments", "message_errors"),
            ),
            0,
        )
        self._fault_heard = False
        self._forget()

    def _forget(self) -> None:
        """Link down: nothing of what was in flight stays, and all channels are offline (ruling A-22 (DL))."""
        self.transmitter.reset()
        self.receiver.reset()
        self.packer.flush()
        self.unpacker.flush()
        self._arbiter = MessageArbiter()
        self._stream = MessageStream()
        self._pacer = Pacer()
        self._raw_more = False
        self._contained = False
        for source in self.sources.values():
            source.reset()

    # For the layers above.

    def send(self, data: bytes, message_bits: int = 0, error: bool = False) -> None:
        """Queue a TL flit; ``error``: its sender found it corrupt, which takes the link down (UALink_200 §6.7.4.2)."""
        self.tl_flits.append((data, message_bits))
        self._errors.append(error)

    def contain(self) -> None:
        """An uncorrectable error at ingress: nothing that follows is delivered, to Idle (UALink_200 §6.7.4.2)."""
        self.counters["containments"] += 1
        self.link.fail()
        self._contained = True

    @property
    def basic(self) -> BasicService:
        """Device ID, port number and rate: what this side tells, and what the partner told."""
        return self._basic.service

    @property
    def uart(self) -> Uart:
        """The UART stream: ``write``, ``read``, ``start_reset``."""
        return self._uart.uart

    def ask_device_id(self) -> None:
        """Ask the partner who it is; the answer is in ``basic.partner_device``."""
        self.basic.ask(DeviceId)

    def ask_port_number(self) -> None:
        """Ask the partner for its port number; the answer is in ``basic.partner_port``."""
        self.basic.ask(PortNumber)

    def announce_rate(self, rate: int) -> None:
        """Tell the partner the rate of this side's TL clock, in units of 50 kHz."""
        self.basic.rate = rate
        self.basic.ask(TLRateNotification)

    @property
    def up(self) -> bool:
        """The link is up."""
        return self.link.up

    @property
    def online(self) -> bool:
        """TL flits can be sent and are received."""
        return self.up and self.channels.online(TL_CHANNEL)

    @property
    def idle(self) -> bool:
        """Nothing waits to be sent or acknowledged."""
        messages = self.raw_messages or any(source.offer() for source in self.sources.values())
        return not (self.tl_flits or messages or self.packer.carry_over or self.transmitter.tx_replay_buffer)

    # A flit time.

    def slot(self, received: Slot | None = None) -> Slot:
        """Take in what arrived in this flit time, None when that is nothing, and give what is transmitted."""
        self.verdict = None
        if received is not None:
            self.receive(received)
        was_up = self.link.up
        state = self.link.advance(
            local_fault=self.local_fault, remote_fault=self.remote_fault or self._fault_heard, enable=self.enable
        )
        self.counters["link_downs"] += was_up and not self.link.up
        if self.link.entered_down:
            self._forget()
        self.sent = None
        if state is LinkState.FAULT:
            return REMOTE_FAULT if self.local_fault else IDLE
        return self._transmit() if state.sends_flits else IDLE

    # Towards the wire.

    def _transmit(self) -> bytes:
        content, errored = None, False
        if self.link.up and self.transmitter.can_accept:
            content, errored = self._pack()
        self.sent = sent = self.transmitter.transmit(self.receiver.rx_last_seq_calc, content)
        self.counters["flits"] += 1
        self.counters["payload_flits"] += sent.content is not None
        self.counters["replayed_flits"] += sent.replayed
        self.counters["replay_requests"] += isinstance(sent.header, CommandHeader) and sent.header.replay_request
        for source in self.sources.values():
            source.flit_time()
        if errored:
            self.counters["containments"] += 1
            self.link.fail()
        if self.transmitter.timed_out and self.link.up:
            self.counters["time_outs"] += 1
            self.link.fail()
        payload = sent.content or self.packer.nop()
        return payload.flit(sent.header.encode()).encode(self.crc_covers_zero_field, invert_crc=errored)

    def _pack(self) -> tuple[Packed | None, bool]:
        """A new flit of messages and TL flits, None where a NOP is to be sent; True with a TL flit that is errored."""
        messages: list[int | None] = []
        online: list[bool] = []
        for _ in range(SEGMENTS):
            messages.append(self._next_message())
            # What takes the channel online or offline goes before the TL flits of its own segment.
            online += [self.channels.online(TL_CHANNEL)] * 2
        rate = pacing_rate(self.pace, self.basic.partner_rate)
        waiting = len(self.tl_flits)
        admitted: list[int] = []
        for tick in range(TICKS):
            if self._pacer.tick(online[tick] and waiting > len(admitted), rate):
                admitted.append(tick)
        packed = self.packer.pack_queue(self.tl_flits, messages, admitted)
        for tick in admitted:
            if not packed.accepted[tick]:
                self._pacer.credit += FULL_RATE  # no sector was left for it
        errors = [self._errors.popleft() for _ in range(sum(packed.accepted))]
        return (packed if packed.payload else None), any(errors)

    def _next_message(self) -> int | None:
        if not self._arbiter.under_way and (self.raw_messages or self._raw_more):
            dword, self._raw_more = self.raw_messages.popleft() if self.raw_messages else (0, False)
            return dword
        offers = {name: offer for name, source in self.sources.items() if (offer := source.offer())}
        name = self._arbiter.choose(offers)
        if name is None or name not in offers:
            return None
        dword, more = offers[name]
        self.sources[name].take()
        self._arbiter.packed(more)
        return dword

    # From the wire.

    def receive(self, received: Slot) -> None:
        """Take in a slot; ``slot`` does so with what it is given."""
        if isinstance(received, SlotKind) and received is not LOST:
            self._fault_heard = received is REMOTE_FAULT
            self.link.hear(Heard.CONTROL)
            return
        good = isinstance(received, bytes) and crc_ok(received, self.crc_covers_zero_field)
        self._fault_heard = False
        self.link.hear(Heard.GOOD if good else Heard.BAD)
        if not self.link.state.sends_flits:
            return
        flit, header = None, None
        if isinstance(received, bytes) and good:
            flit = DLFlit.decode(received)
            header = self._header(flit)
        else:
            self.counters["crc_errors" if isinstance(received, bytes) else "lost_flits"] += 1
        self._judge(flit, header)

    def _header(self, flit: DLFlit) -> ExplicitHeader | CommandHeader | None:
        try:
            return decode_header(flit.header)
        except HeaderError:
            self.counters["header_errors"] += 1
            return None

    def _judge(self, flit: DLFlit | None, header: ExplicitHeader | CommandHeader | None) -> None:
        self.transmitter.receive(header)
        self.verdict = self.receiver.receive(header)
        if self.receiver.request_replay:
            self.transmitter.request_replay()
        if flit is None or header is None or not header.payload or self.verdict is not Verdict.ACCEPT:
            return
        for event in self.unpacker.unpack(flit):
            if event[0] == "message":
                self._hear(event[1])
            elif self.channels.receiving(TL_CHANNEL) and not self._contained:
                self.delivered.append((event[1], event[2]))

    def _hear(self, dword: int) -> None:
        self.messages_received.append(dword)
        what = self._stream.receive(dword)
        self.counters["message_errors"] += isinstance(what, Unknown)
        for source in self.sources.values():
            source.hear(dword, what)
