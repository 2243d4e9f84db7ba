"""Decoder of captured DL flits of one direction: headers, messages, TL flits, half-flits, whole transactions.

Works on either end of a wire. A capture may start in mid-stream: flit numbers are then known from the first explicit
flit on, the place of TL flits in segments and the kinds of half-flits as soon as only one reading is left
(``dl_synchronise``, ``tl_synchronise``), and regions of addresses when they are loaded again. Until then these parts
stay undecoded, and a note says so.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from .dl_flit import DL_FLIT_BYTES, SEGMENT_START, DLFlit, crc_ok
from .dl_header import CommandHeader, ExplicitHeader, HeaderError, decode_header
from .dl_messages import DLMessage, MessageError, UARTTransport, decode_message
from .dl_packing import SegmentHeader, Unpacker
from .dl_sequence import RESET_SEQ, WINDOW, next_seq, previous_seq, reconstruct_seq, seq_distance
from .dl_synchronise import FrameSynchronizer
from .tl_compression import AddressCache
from .tl_fields import FieldError
from .tl_reassembly import Reassembler, Received
from .tl_sequence import INITIAL_CREDIT_RELEASE_COMPLETE, Event, ProtocolError, ReceiveSequence
from .tl_synchronise import Synchronizer

__all__ = ["DecodedFlit", "DecodedMessage", "DecodedTLFlit", "Decoder", "FlitState", "decode_flits"]

AMBIGUOUS_AFTER = 7
"""Bad or lost flits in a row after which the low bits of a number say nothing any more."""
RESTART_NOPS = 8
"""NOP flits in a row with both numbers at their reset value that show a link restart; DL NOP sends ten or more."""
NEAR_RESET = 16
"""Missing flits before number 511 up to which NOP flits with that number may as well belong to the old stream."""


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
    """One DL flit; ``seq`` is its own number, None where not known; ``number`` counts flits of the capture from 0.

    ``problems`` are rules that the flit breaks, ``notes`` what the decoder knows and does not know from it on;
    ``restarted`` tells the first flit that shows a link restart.
    """

    number: int
    state: FlitState
    header: ExplicitHeader | CommandHeader | None = None
    seq: int | None = None
    segment_headers: tuple[int, ...] = ()
    restarted: bool = False
    messages: list[DecodedMessage] = field(default_factory=list)
    tl_flits: list[DecodedTLFlit] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
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
        self.synchronizer = Synchronizer(authentication, uwm_has_byte_enables)
        self.reassembler = Reassembler(AddressCache(row_member), uwm_has_byte_enables)
        self.framer = FrameSynchronizer()
        self.unpacker = Unpacker()
        self._number = 0
        self._bad_run = 0
        self._reset_run = 0
        self._started = False
        self._forget()

    def _forget(self) -> None:
        self._wire: int | None = None  # number of the last flit on the wire
        self._accepted: int | None = None  # number of the last payload flit in order, for the receiver
        self._decoded: int | None = None  # and for this decoder
        self._waiting = False
        self._from_link_start = False
        self._framed = self._sequenced = self._messages_known = False
        self._uart_payload = 0
        self.unpacker.flush()
        self.framer.reset()
        self.synchronizer.reset()

    def _restart(self) -> None:
        self._forget()
        self._wire = self._accepted = self._decoded = RESET_SEQ
        self._framed = self._messages_known = self._from_link_start = True
        self._start_sequence()

    def _start_sequence(self) -> None:
        self._sequenced = True
        self.sequence.reset()
        self.reassembler.reset()

    def feed(self, flit: bytes, lost: int = 0) -> DecodedFlit:
        """Decode the next flit, before which ``lost`` others are known to be missing."""
        decoded = DecodedFlit(self._number, FlitState.BAD_CRC)
        self._number += 1
        if lost:
            decoded.notes.append(f"{lost} flits before this one were lost")
            self._bad_run += lost
        if len(flit) != DL_FLIT_BYTES:
            decoded.problems.append(f"{len(flit)} bytes are no DL flit")
        else:
            content = DLFlit.decode(flit)
            decoded.segment_headers = tuple(content.segment_headers)
            self._header(decoded, content.header, crc_ok(flit, self.crc_covers_zero_field))
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

    def _header(self, decoded: DecodedFlit, header: int, good: bool) -> None:
        if not good:
            decoded.problems.append("CRC does not match")
            return
        try:
            decoded.header = decode_header(header)
        except HeaderError as error:
            decoded.state = FlitState.BAD_HEADER
            decoded.problems.append(str(error))

    def _find_restart(self, decoded: DecodedFlit) -> None:
        header = decoded.header
        assert header is not None
        if isinstance(header, ExplicitHeader):
            fresh = not header.payload and header.flit_seq_no == RESET_SEQ
            first = header.payload and not header.replay and header.flit_seq_no == next_seq(RESET_SEQ)
        else:
            fresh = not header.payload and header.flit_seq_lo == RESET_SEQ & 7 and header.ack_req_seq == RESET_SEQ
            first = False
        run, self._reset_run = self._reset_run, self._reset_run + 1 if fresh else 0
        if not self._started:
            self._started = True
            if (fresh or first) if self.from_start is None else self.from_start:
                self._restart()
            else:
                decoded.notes.append("the capture starts in mid-stream: the TL is not decoded until it is in step")
            return
        if self._accepted == RESET_SEQ:
            return
        if first:
            restarted = run >= RESTART_NOPS or (self._accepted is not None and not self._ahead(next_seq(RESET_SEQ)))
        else:
            near = self._accepted is not None and seq_distance(self._accepted, RESET_SEQ) <= NEAR_RESET
            restarted = self._reset_run == RESTART_NOPS and not near
        if restarted:
            self._restart()
            decoded.restarted = True
            decoded.notes.append("the link restarted")

    def _ahead(self, seq: int) -> bool:
        """True for a number after the last one in order, as the receiver's window has it."""
        assert self._accepted is not None
        return 0 < seq_distance(self._accepted, seq) <= WINDOW

    def _place(self, decoded: DecodedFlit) -> None:
        header = decoded.header
        assert header is not None
        if 0 in (getattr(header, "flit_seq_no", None), getattr(header, "ack_req_seq", None)):
            decoded.state = FlitState.BAD_HEADER
            decoded.problems.append("flit number 0 is reserved")
            return
        decoded.state = FlitState.UNNUMBERED if header.payload else FlitState.NOP
        if isinstance(header, ExplicitHeader):
            seq = header.flit_seq_no
        elif self._wire is None or self._bad_run >= AMBIGUOUS_AFTER:
            self._wire = None
            return
        else:
            seq = reconstruct_seq(self._wire, header.flit_seq_lo, header.payload)
        before, self._wire = self._wire, seq
        decoded.seq = seq
        if self._accepted is not None and self._lost_for_good(header, before, seq):
            decoded.notes.append(f"flits {next_seq(self._accepted)} and on were never replayed")
            self._lose_step(decoded)
            self._wire = seq
        if self._accepted is None:
            # The first number known: a payload flit is taken as the next in order.
            self._accepted = self._decoded = seq
            decoded.state = FlitState.PAYLOAD if header.payload else FlitState.NOP
            return
        ahead = self._ahead(seq)
        if not ahead and isinstance(header, ExplicitHeader) and header.replay and not self._from_link_start:
            # Flits have been decoded that the receiver has missed: this is the one that it waits for.
            self._accepted = previous_seq(seq)
        if header.payload and seq == next_seq(self._accepted) and not self._skip(header):
            self._accepted, self._waiting = seq, False
            new = self._decoded is None or 0 < seq_distance(self._decoded, seq) <= WINDOW
            decoded.state = FlitState.PAYLOAD if new else FlitState.DUPLICATE
            self._decoded = seq if new else self._decoded
        elif header.payload:
            decoded.state = FlitState.GAP if ahead else FlitState.DUPLICATE
        if ahead and seq != self._accepted and not self._waiting:
            self._waiting = True
            decoded.notes.append(f"flits {next_seq(self._accepted)} and on are missing")

    def _lost_for_good(self, header: ExplicitHeader | CommandHeader, before: int | None, seq: int) -> bool:
        # A transmitter keeps no more flits for a replay than the window holds: what it sends first is never behind.
        if not header.payload or self._ahead(seq):
            return False
        if isinstance(header, ExplicitHeader) and not header.replay:
            return True
        return self._waiting and before is not None and self._ahead(before) and seq == next_seq(before)

    def _lose_step(self, decoded: DecodedFlit) -> None:
        self._forget()
        decoded.notes.append("the TL is not decoded until it is in step again")

    def _skip(self, header: ExplicitHeader | CommandHeader) -> bool:
        return self._waiting and not isinstance(header, ExplicitHeader)

    # Contents

    def _payload(self, content: DLFlit, decoded: DecodedFlit) -> None:
        if self._framed:
            errors = len(self.unpacker.format_errors)
            events = self.unpacker.unpack(content)
            decoded.problems += self.unpacker.format_errors[errors:]
            flits = [event[1:] for event in events if event[0] == "flit"]
        else:
            self._find_frame(content)
            flits = []
        for start, header in zip(SEGMENT_START, content.segment_headers):
            if SegmentHeader.decode(header).alt_sector:
                decoded.messages.append(self._message(content.sectors[start]))
            else:
                self._messages_known, self._uart_payload = True, 0
        decoded.tl_flits = [self._tl_flit(data, message_bits, decoded) for data, message_bits in flits]

    def _find_frame(self, content: DLFlit) -> None:
        unpacker = self.framer.push(content)
        if unpacker is not None:
            self.unpacker, self._framed = unpacker, True

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
        if not self._sequenced and not self._get_in_step(flit, decoded):
            return flit
        flit.events = self.sequence.receive(data, message_bits)
        try:
            flit.received = self.reassembler.push(flit.events)
        except FieldError as error:
            flit.events.append(ProtocolError(str(error)))
        errors = [event for event in flit.events if isinstance(event, ProtocolError)]
        decoded.problems += [error.reason for error in errors]
        if any(error.fatal for error in errors):
            self._sequenced = False
            self.synchronizer.reset()
            decoded.notes.append("the TL is not decoded until it is in step again")
        return flit

    def _get_in_step(self, flit: DecodedTLFlit, decoded: DecodedFlit) -> bool:
        """Whether ``flit`` itself can be decoded; else it may be the last that cannot."""
        halves = [flit.data[32 * half] for half in (0, 1) if flit.message_bits >> half & 1]
        if INITIAL_CREDIT_RELEASE_COMPLETE in halves:
            # Until this message a transmitter sends no field that brings data, so nothing is owed here.
            self._start_sequence()
            decoded.notes.append("the TL is in step from the Initial Credit Release Complete message on")
            return True
        sequence = self.synchronizer.push(flit.data, flit.message_bits)
        if sequence is not None:
            self.sequence, self._sequenced = sequence, True
            self.synchronizer.reset()
            self.reassembler.reset(from_start=False)
            decoded.notes.append("the TL is in step from the next TL flit on")
        return False


def decode_flits(flits: Iterable[bytes], **arguments) -> Iterator[DecodedFlit]:
    """Decode the flits of one direction with the arguments of :class:`Decoder`."""
    decoder = Decoder(**arguments)
    for flit in flits:
        yield decoder.feed(flit)
