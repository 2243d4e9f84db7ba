"""Decoder of captured DL flits of one direction: headers, messages, TL flits, half-flits, whole transactions.

Works on either end of a wire. A capture may start in mid-stream: flit numbers are then known from the first explicit
flit on, the place of TL flits in segments and the kinds of half-flits as soon as only one reading is left
(``dl_synchronise``, ``tl_synchronise``), and regions of addresses when they are loaded again. Until then these parts
stay undecoded, and a note says so.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .dl.flit import DL_FLIT_BYTES, SEGMENT_START, DLFlit, crc_ok
from .dl.follow import FlitFollower, FlitState, StreamChange
from .dl.header import CommandHeader, ExplicitHeader, HeaderError, decode_header
from .dl.messages import DLMessage, MessageError, UARTTransport, decode_message
from .dl.packing import SegmentHeader, Unpacker
from .dl.synchronise import FrameSynchronizer
from .tl.compression import AddressCache
from .tl.fields import FieldError
from .tl.reassembly import Reassembler, Received
from .tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, Event, ProtocolError, ReceiveSequence
from .tl.synchronise import Synchronizer

__all__ = ["DecodedFlit", "DecodedMessage", "DecodedTLFlit", "Decoder", "FlitState", "decode_flits"]


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
        self.crc_covers_zero_field = crc_covers_zero_field
        self.follower = FlitFollower(from_start)
        self.sequence = ReceiveSequence(authentication, uwm_has_byte_enables)
        self.synchronizer = Synchronizer(authentication, uwm_has_byte_enables)
        self.reassembler = Reassembler(AddressCache(row_member), uwm_has_byte_enables)
        self.framer = FrameSynchronizer()
        self.unpacker = Unpacker()
        self._number = 0
        self._forget()

    def _forget(self) -> None:
        self._framed = self._sequenced = self._messages_known = False
        self._uart_payload = 0
        self.unpacker.flush()
        self.framer.reset()
        self.synchronizer.reset()

    def _start_link(self) -> None:
        self._forget()
        self._framed = self._messages_known = True
        self._start_sequence()

    def _start_sequence(self) -> None:
        self._sequenced = True
        self.sequence.reset()
        self.reassembler.restart()

    def feed(self, flit: bytes, lost: int = 0) -> DecodedFlit:
        """Decode the next flit, before which ``lost`` others are known to be missing."""
        decoded = DecodedFlit(self._number, FlitState.BAD_CRC)
        self._number += 1
        if lost:
            decoded.notes.append(f"{lost} flits before this one were lost")
            self.follower.missed(lost)
        if len(flit) != DL_FLIT_BYTES:
            decoded.problems.append(f"{len(flit)} bytes are no DL flit")
        else:
            content = DLFlit.decode(flit)
            decoded.segment_headers = tuple(content.segment_headers)
            self._header(decoded, content.header, crc_ok(flit, self.crc_covers_zero_field))
        if decoded.header is None:
            self.follower.missed()
            return decoded
        place = self.follower.follow(decoded.header)
        decoded.state, decoded.seq = place.state, place.seq
        decoded.notes += place.notes
        decoded.restarted = place.change is StreamChange.RESTART
        if place.change is StreamChange.HOLE:
            self._forget()
            self.reassembler.reset(from_start=False)
        elif place.change is not StreamChange.NONE:
            self._start_link()
        if decoded.state is FlitState.PAYLOAD:
            self._payload(content, decoded)
        elif decoded.state is FlitState.BAD_HEADER:
            decoded.problems.append("flit number 0 is reserved")
        return decoded

    def _header(self, decoded: DecodedFlit, header: int, good: bool) -> None:
        if not good:
            decoded.problems.append("CRC does not match")
            return
        try:
            decoded.header = decode_header(header)
        except HeaderError as error:
            decoded.state = FlitState.BAD_HEADER
            decoded.problems.append(str(error))

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
            self.reassembler.reset(from_start=False)
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
