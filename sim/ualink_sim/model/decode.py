"""Decoder of captured DL flits of one direction: headers, messages, TL flits, half-flits, whole transactions.

Works on either end of a wire. A capture may start in mid-stream: flit numbers are then known from the first explicit
flit on, the place of TL flits in segments from the first segment that shows it, and what half-flits are from the next
Initial Credit Release Complete message or link restart. Until then these parts stay undecoded, and a note says so.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from .dl_flit import DL_FLIT_BYTES, DLFlit, crc_ok
from .dl_header import CommandHeader, ExplicitHeader, HeaderError, decode_header
from .dl_messages import DLMessage, MessageError, UARTTransport, decode_message
from .dl_packing import SegmentHeader, Unpacker
from .dl_sequence import RESET_SEQ, WINDOW, next_seq, reconstruct_seq, seq_distance
from .tl_compression import AddressCache
from .tl_fields import FieldError
from .tl_reassembly import Reassembler, Received
from .tl_sequence import INITIAL_CREDIT_RELEASE_COMPLETE, Event, ProtocolError, ReceiveSequence

__all__ = ["DecodedFlit", "DecodedMessage", "DecodedTLFlit", "Decoder", "FlitState", "decode_flits"]

AMBIGUOUS_AFTER = 7
"""Bad flits in a row after which the low bits of a number say nothing any more."""
RESTART_NOPS = 8
"""NOP flits in a row with both numbers at their reset value that show a link restart; DL NOP sends ten or more."""


class FlitState(Enum):
    """What a flit is to the receiver behind the tap."""

    PAYLOAD = "payload, in order"
    NOP = "NOP"
    DUPLICATE = "payload seen before (replay)"
    GAP = "payload after a gap; a replay must follow"
    UNNUMBERED = "payload whose number is not known"
    BAD_CRC = "bad CRC"
    BAD_HEADER = "reserved op code or number"


@dataclass(frozen=True)
class DecodedMessage:
    """One alternative sector; ``message`` is None for UART payload and for dwords that are no message."""

    dword: int
    message: DLMessage | None
    note: str = ""


@dataclass
class DecodedTLFlit:
    """One TL flit; ``events`` is None where the half-flit sequence is not known."""

    data: bytes
    message_bits: int
    events: list[Event] | None = None
    received: list[Received] = field(default_factory=list)


@dataclass
class DecodedFlit:
    """One DL flit; ``seq`` is its own number, None where not known; ``number`` counts flits of the capture from 0."""

    number: int
    state: FlitState
    header: ExplicitHeader | CommandHeader | None = None
    seq: int | None = None
    messages: list[DecodedMessage] = field(default_factory=list)
    tl_flits: list[DecodedTLFlit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Decoder:
    """Feed it the 640-byte flits of one direction in order.

    ``from_start`` True: the capture starts with the link; None: it does if its first flit looks so. ``authentication``
    and the rulings must be those of the link; ``row_member`` is that of its address cache (``AddressCache``).
    """

    def __init__(
        self,
        from_start: bool | None = None,
        authentication: bool = False,
        uwm_has_byte_enables: bool = True,
        crc_covers_zero_field: bool = True,
        row_member: str = "dst_acc_id",
    ):
        self.from_start = from_start
        self.crc_covers_zero_field = crc_covers_zero_field
        self.sequence = ReceiveSequence(authentication, uwm_has_byte_enables)
        self.reassembler = Reassembler(AddressCache(row_member), uwm_has_byte_enables)
        self.unpacker = Unpacker()
        self._number = 0
        self._bad_run = 0
        self._reset_run = 0
        self._started = False
        self._forget()

    def _forget(self) -> None:
        self._wire: int | None = None  # number of the last flit on the wire
        self._accepted: int | None = None  # number of the last payload flit in order
        self._waiting = False
        self._framed = self._sequenced = self._messages_known = False
        self._uart_payload = 0
        self.unpacker.flush()

    def _restart(self) -> None:
        self._forget()
        self._wire = self._accepted = RESET_SEQ
        self._framed = self._messages_known = True
        self._start_sequence()

    def _start_sequence(self) -> None:
        self._sequenced = True
        self.sequence.reset()
        self.reassembler.reset()

    def feed(self, flit: bytes) -> DecodedFlit:
        """Decode the next flit."""
        decoded = DecodedFlit(self._number, FlitState.BAD_CRC)
        self._number += 1
        if len(flit) != DL_FLIT_BYTES:
            decoded.notes.append(f"{len(flit)} bytes are no DL flit")
        elif crc_ok(flit, self.crc_covers_zero_field):
            content = DLFlit.decode(flit)
            try:
                decoded.header = decode_header(content.header)
            except HeaderError as error:
                decoded.state = FlitState.BAD_HEADER
                decoded.notes.append(str(error))
        if decoded.header is None:
            self._bad_run += 1
            return decoded
        self._find_restart(decoded)
        self._place(decoded)
        self._bad_run = 0
        if decoded.state is FlitState.PAYLOAD:
            self._payload(content, decoded)
        return decoded

    # Numbers

    def _find_restart(self, decoded: DecodedFlit) -> None:
        header = decoded.header
        if isinstance(header, ExplicitHeader):
            fresh = not header.payload and header.flit_seq_no == RESET_SEQ
        else:
            assert header is not None
            fresh = not header.payload and header.flit_seq_lo == RESET_SEQ & 7 and header.ack_req_seq == RESET_SEQ
        self._reset_run = self._reset_run + 1 if fresh else 0
        if not self._started:
            self._started = True
            if fresh if self.from_start is None else self.from_start:
                self._restart()
            else:
                decoded.notes.append("the capture starts in mid-stream: the TL is not decoded until it is in step")
        elif self._reset_run == RESTART_NOPS and self._accepted != RESET_SEQ:
            self._restart()
            decoded.notes.append("the link restarted")

    def _place(self, decoded: DecodedFlit) -> None:
        header = decoded.header
        assert header is not None
        if 0 in (getattr(header, "flit_seq_no", None), getattr(header, "ack_req_seq", None)):
            decoded.state = FlitState.BAD_HEADER
            decoded.notes.append("flit number 0 is reserved")
            return
        decoded.state = FlitState.UNNUMBERED if header.payload else FlitState.NOP
        if isinstance(header, ExplicitHeader):
            seq = header.flit_seq_no
        elif self._wire is None or self._bad_run >= AMBIGUOUS_AFTER:
            self._wire = None
            return
        else:
            seq = reconstruct_seq(self._wire, header.flit_seq_lo, header.payload)
        decoded.seq = self._wire = seq
        if self._accepted is None:
            # The first number known: a payload flit is taken as the next in order.
            self._accepted = seq
            decoded.state = FlitState.PAYLOAD if header.payload else FlitState.NOP
            return
        ahead = seq_distance(self._accepted, seq)
        behind = ahead == 0 or ahead > WINDOW
        if header.payload and seq == next_seq(self._accepted) and not self._skip(header):
            self._accepted, self._waiting = seq, False
            decoded.state = FlitState.PAYLOAD
        elif header.payload:
            decoded.state = FlitState.DUPLICATE if behind else FlitState.GAP
        if not behind and decoded.state is not FlitState.PAYLOAD and not self._waiting:
            self._waiting = True
            decoded.notes.append(f"flits {next_seq(self._accepted)} and on are missing")

    def _skip(self, header: ExplicitHeader | CommandHeader) -> bool:
        return self._waiting and not isinstance(header, ExplicitHeader)

    # Contents

    def _payload(self, content: DLFlit, decoded: DecodedFlit) -> None:
        headers = [SegmentHeader.decode(value) for value in content.segment_headers]
        if not self._framed:
            self._frame(content, headers)
        errors = len(self.unpacker.format_errors)
        events = iter(self.unpacker.unpack(content))
        decoded.notes += self.unpacker.format_errors[errors:]
        dwords, flits = [], []
        for event in events:
            if event[0] == "message":
                dwords.append(event[1])
            else:
                flits.append(event[1:])
        for header in headers:
            if header.alt_sector:
                decoded.messages.append(self._message(dwords.pop(0)))
            else:
                self._messages_known, self._uart_payload = True, 0
        decoded.tl_flits = [self._tl_flit(data, message_bits, decoded) for data, message_bits in flits]

    def _frame(self, content: DLFlit, headers: list[SegmentHeader]) -> None:
        # How much of an earlier TL flit comes first is not known, so two kinds of segment only show where flits start:
        # one where none does, after which nothing is carried over, and one with TL Flit[1] alone, in its second half.
        for segment, header in enumerate(headers):
            if header.flit[0] is None:
                self._framed = True
                return
            content.segment_headers[segment] &= 0x01

    def _message(self, dword: int) -> DecodedMessage:
        if not self._messages_known:
            return DecodedMessage(dword, None, "may be UART payload: the capture starts in mid-stream")
        if self._uart_payload:
            self._uart_payload -= 1
            return DecodedMessage(dword, None, "UART payload")
        try:
            message = decode_message(dword)
        except MessageError as error:
            return DecodedMessage(dword, None, str(error))
        if isinstance(message, UARTTransport):
            self._uart_payload = message.length + 1
        return DecodedMessage(dword, message)

    def _tl_flit(self, data: bytes, message_bits: int, decoded: DecodedFlit) -> DecodedTLFlit:
        flit = DecodedTLFlit(data, message_bits)
        if not self._sequenced:
            halves = [data[32 * half] for half in (0, 1) if message_bits >> half & 1]
            if INITIAL_CREDIT_RELEASE_COMPLETE not in halves:
                return flit
            # Until this message a transmitter sends no field that brings data, so nothing is owed here.
            self._start_sequence()
            decoded.notes.append("the TL is in step from the Initial Credit Release Complete message on")
        flit.events = self.sequence.receive(data, message_bits)
        try:
            flit.received = self.reassembler.push(flit.events)
        except FieldError as error:
            flit.events.append(ProtocolError(str(error)))
        errors = [event for event in flit.events if isinstance(event, ProtocolError)]
        decoded.notes += [error.reason for error in errors]
        if any(error.fatal for error in errors):
            self._sequenced = False
            decoded.notes.append("the TL is not decoded until it is in step again")
        return flit


def decode_flits(flits: Iterable[bytes], **arguments) -> Iterator[DecodedFlit]:
    """Decode the flits of one direction with the arguments of :class:`Decoder`."""
    decoder = Decoder(**arguments)
    for flit in flits:
        yield decoder.feed(flit)
