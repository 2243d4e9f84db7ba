"""What the flits of one capture interface hold: DL header and state, messages, TL half-flits (UALink_200 §5, §6)."""

from dataclasses import dataclass, field

from .capture import CapturedFlit
from .dl_message_text import describe_message
from .model.dl_flit import DLFlit, crc_ok
from .model.dl_header import CommandHeader, ExplicitHeader, HeaderError, decode_header
from .model.dl_packing import Unpacker
from .model.dl_sequence import next_seq, reconstruct_seq, seq_distance
from .model.tl_sequence import Event, ReceiveSequence

__all__ = ["DecodedFlit", "InterfaceDecoder", "TLFlit"]

LAST_SEQ_AFTER_RESET = 511
WINDOW = 256
UART_TRANSPORT = 0x004
"""mclass and mtype of a UART Stream Transport Message."""


@dataclass(frozen=True)
class TLFlit:
    """A TL flit that was completed in the DL flit, and what its half-flits are."""

    data: bytes
    message_bits: int
    events: tuple[Event, ...]


@dataclass
class DecodedFlit:
    """One captured flit taken apart.

    ``seq`` is its sequence number, reconstructed for command flits; ``new`` tells a payload flit that continues the
    stream from one that repeats or overtakes it. ``messages`` are dwords of DL messages in words; so are ``problems``.
    """

    packet: CapturedFlit
    crc_ok: bool
    header: ExplicitHeader | CommandHeader | None = None
    seq: int | None = None
    new: bool = False
    segment_headers: list[int] = field(default_factory=list)
    messages: list[tuple[int, str]] = field(default_factory=list)
    tl_flits: list[TLFlit] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class InterfaceDecoder:
    """Follows one interface in file order, as a receiver that trusts what it sees (``/tx`` taps see every flit).

    Repeated flits are recognised by their numbers and not unpacked twice; after a flit that is missing or corrupt,
    nothing is unpacked until the replay brings it. A first transmission with number 1 out of turn is a link that was
    restarted.
    """

    def __init__(self, crc_covers_zero_field: bool = True):
        self._covers_zero_field = crc_covers_zero_field
        self._restart()

    def _restart(self) -> None:
        self._accepted = self._position = LAST_SEQ_AFTER_RESET
        self._unpacker = Unpacker()
        self._uart_left = 0
        self._sequence = ReceiveSequence()

    def decode(self, packet: CapturedFlit) -> DecodedFlit:
        """Take the next flit of the interface apart."""
        decoded = DecodedFlit(packet, crc_ok(packet.flit, self._covers_zero_field))
        flit = DLFlit.decode(packet.flit)
        decoded.segment_headers = flit.segment_headers
        if not decoded.crc_ok:
            decoded.problems.append("CRC does not match")
            return decoded
        try:
            header = decoded.header = decode_header(flit.header)
        except HeaderError as error:
            decoded.problems.append(str(error))
            return decoded
        self._follow(decoded, header)
        if decoded.new:
            self._unpack(decoded, flit)
        return decoded

    def _follow(self, decoded: DecodedFlit, header: ExplicitHeader | CommandHeader) -> None:
        if isinstance(header, ExplicitHeader):
            decoded.seq = header.flit_seq_no
            if header.payload and not header.replay and header.flit_seq_no == 1 and self._out_of_turn(decoded.packet):
                self._restart()
        else:
            decoded.seq = reconstruct_seq(self._position, header.flit_seq_lo, header.payload)
        if decoded.seq == 0 or (isinstance(header, CommandHeader) and header.ack_req_seq == 0):
            decoded.problems.append("sequence number 0 is reserved")
            return
        self._position = decoded.seq
        decoded.new = header.payload and decoded.seq == next_seq(self._accepted)

    def _out_of_turn(self, packet: CapturedFlit) -> bool:
        ahead = seq_distance(self._accepted, 1)
        return ahead > WINDOW or ahead == 0 if packet.interface.endswith("/rx") else ahead != 1

    def _message(self, dword: int) -> str:
        """Words for one dword, which is a message or the payload of a UART transport."""
        if self._uart_left:
            self._uart_left -= 1
            return "UART payload"
        if dword & 0x1FC == UART_TRANSPORT:
            self._uart_left = (dword >> 27) + 1
        return describe_message(dword)

    def _unpack(self, decoded: DecodedFlit, flit: DLFlit) -> None:
        self._accepted = decoded.seq or 0
        for event in self._unpacker.unpack(flit):
            if event[0] == "message":
                decoded.messages.append((event[1], self._message(event[1])))
            else:
                _, data, bits = event
                decoded.tl_flits.append(TLFlit(data, bits, tuple(self._sequence.receive(data, bits))))
        decoded.problems += self._unpacker.format_errors
        self._unpacker.format_errors.clear()
