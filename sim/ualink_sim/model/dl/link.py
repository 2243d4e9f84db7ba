"""One end of a link that is up: packer, replay and unpacker joined, a DL flit at a time (UALink_200 §6.6)."""

from collections import deque

from .flit import DLFlit, crc_ok
from .header import CommandHeader, ExplicitHeader, HeaderError, decode_header
from .packing import SEGMENTS, Packed, Packer, Unpacker
from .replay import ReplayReceiver, ReplayTransmitter, Verdict

__all__ = ["LinkEnd"]


class LinkEnd:
    """Feed ``tl_flits`` (64 bytes, message bits) and ``messages`` (dwords); find what arrived in ``received_*``.

    ``accept`` False closes the intake of new TL flits and messages. ``counters`` holds what the standard wants counted.
    """

    def __init__(
        self,
        transmitter: ReplayTransmitter[Packed] | None = None,
        receiver: ReplayReceiver | None = None,
        crc_covers_zero_field: bool = True,
    ):
        self.transmitter: ReplayTransmitter[Packed] = transmitter or ReplayTransmitter()
        self.receiver = receiver or ReplayReceiver()
        self.crc_covers_zero_field = crc_covers_zero_field
        self.packer, self.unpacker = Packer(), Unpacker()
        self.tl_flits: deque[tuple[bytes, int]] = deque()
        self.messages: deque[int] = deque()
        self.received_tl_flits: list[tuple[bytes, int]] = []
        self.received_messages: list[int] = []
        self.accept = True
        self.counters = dict.fromkeys(
            (
                "flits",
                "payload_flits",
                "replayed_flits",
                "crc_errors",
                "lost_flits",
                "header_errors",
                "replay_requests",
            ),
            0,
        )

    def link_down(self) -> None:
        """Forget everything in flight (ruling A-22 (DL))."""
        self.transmitter.reset()
        self.receiver.reset()
        self.packer.flush()
        self.unpacker.flush()

    @property
    def idle(self) -> bool:
        """True when nothing waits to be sent or acknowledged."""
        waiting = self.tl_flits or self.messages or self.packer.carry_over or self.transmitter.tx_replay_buffer
        return not waiting

    def transmit_flit(self) -> bytes:
        """The 640 bytes of this flit interval."""
        content = None
        if self.accept and self.transmitter.can_accept:
            messages = [self.messages.popleft() if self.messages else None for _ in range(SEGMENTS)]
            packed = self.packer.pack_queue(self.tl_flits, messages)
            content = packed if packed.payload else None
        sent = self.transmitter.transmit(self.receiver.rx_last_seq_calc, content)
        self.counters["flits"] += 1
        self.counters["payload_flits"] += sent.content is not None
        self.counters["replayed_flits"] += sent.replayed
        self.counters["replay_requests"] += isinstance(sent.header, CommandHeader) and sent.header.replay_request
        payload = sent.content or self.packer.nop()
        return payload.flit(sent.header.encode()).encode(self.crc_covers_zero_field)

    def receive_slot(self, flit: bytes | None) -> Verdict:
        """One flit slot of the receive direction; None for a flit that did not pass FEC (ruling A-06 (DL))."""
        header: ExplicitHeader | CommandHeader | None = None
        if flit is None:
            self.counters["lost_flits"] += 1
        elif not crc_ok(flit, self.crc_covers_zero_field):
            self.counters["crc_errors"] += 1
        else:
            decoded = DLFlit.decode(flit)
            try:
                header = decode_header(decoded.header)
            except HeaderError:
                self.counters["header_errors"] += 1
        self.transmitter.receive(header)
        verdict = self.receiver.receive(header)
        if self.receiver.request_replay:
            self.transmitter.request_replay()
        if header is not None and header.payload and verdict is Verdict.ACCEPT:
            for event in self.unpacker.unpack(decoded):
                if event[0] == "flit":
                    self.received_tl_flits.append((event[1], event[2]))
                else:
                    self.received_messages.append(event[1])
        return verdict
