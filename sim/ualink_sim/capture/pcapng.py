"""Captures of DL flits as pcapng: an interface per tap, link type 147, a 640-byte flit a packet, picosecond time."""

import struct
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pcapng import FileScanner, FileWriter
from pcapng.blocks import EnhancedPacket, InterfaceDescription, SectionHeader
from pcapng.exceptions import PcapngException

__all__ = ["FLIT_BYTES", "LINK_TYPE", "CaptureError", "CaptureWriter", "CapturedFlit", "Tap", "read_capture"]

FLIT_BYTES = 640
LINK_TYPE = 147
"""DLT_USER0."""
PACKET_BLOCK = 6
"""Type of an Enhanced Packet Block."""
DROP_COUNT = struct.Struct("<2HQI")
"""Option epb_dropcount (4, 8 bytes: packets lost on the interface since the one before) and the end of options."""
AUTHENTICATION = "authentication"
"""if_description of an interface whose TL flits have AuthTags half-flits (UALink_200 §5.1.1)."""
PICOSECONDS = 12
"""if_tsresol: time stamps count units of 10**-12 s."""


class CaptureError(ValueError):
    """A file is no capture of DL flits; the message is one line that begins with its name."""


class CapturedFlit(NamedTuple):
    """One packet: where it was seen, when, its 640 bytes in wire order, how many flits were lost before it, and whether
    its interface is one with authentication."""

    number: int
    interface: str
    time_ps: int
    flit: bytes
    lost: int = 0
    authentication: bool = False


class CaptureWriter:
    """Writes ``stream``; all taps are named at the start, as ``acc0.0>sw0.0/tx``, with or without authentication."""

    def __init__(self, stream: BinaryIO, interfaces: list[str], clock_mhz: float, authentication: bool = False):
        self._stream = stream
        self._period_ps = Fraction(10**6) / Fraction(str(clock_mhz))
        self._packets = 0
        section = SectionHeader(options={"shb_userappl": "ualink"})
        for name in interfaces:
            options = {"if_name": name, "if_tsresol": bytes([PICOSECONDS])}
            if authentication:
                options["if_description"] = AUTHENTICATION
            section.new_member(InterfaceDescription, link_type=LINK_TYPE, snaplen=FLIT_BYTES, options=options)
        FileWriter(stream, section)
        self._numbers = {name: number for number, name in enumerate(interfaces)}

    def tap(self, interface: str) -> "Tap":
        """A tap that gathers the beats of ``interface`` into flits."""
        return Tap(self, self._numbers[interface])

    def write(self, interface: int, cycle: int, flit: bytes, lost: int = 0) -> None:
        """Append a flit whose first beat was seen in ``cycle`` after ``lost`` others, as an Enhanced Packet Block."""
        if len(flit) != FLIT_BYTES:
            raise ValueError(f"a flit has {FLIT_BYTES} bytes, not {len(flit)}")
        time = int(cycle * self._period_ps)
        options = DROP_COUNT.pack(4, 8, lost, 0) if lost else b""
        length = 32 + FLIT_BYTES + len(options)
        head = struct.pack(
            "<7I", PACKET_BLOCK, length, interface, time >> 32, time & 0xFFFFFFFF, FLIT_BYTES, FLIT_BYTES
        )
        self._stream.write(head + flit + options + length.to_bytes(4, "little"))


class Tap:
    """Gathers ten beats into a flit and writes it."""

    def __init__(self, writer: CaptureWriter, interface: int):
        self._writer, self._interface = writer, interface
        self._beats: list[int] = []
        self._cycle = 0
        self._lost = 0

    def lose(self) -> None:
        """A flit slot went by of which nothing can be told; the next flit is written with the count of these."""
        self._lost += 1

    def beat(self, cycle: int, data: int, first: bool, last: bool, data_flit: bool = True) -> None:
        """See one beat of 512 bits; slots whose last beat has ``data_flit`` false are left out."""
        if first:
            self._beats.clear()
            self._cycle = cycle
        self._beats.append(data)
        if last and data_flit and len(self._beats) == FLIT_BYTES // 64:
            flit = b"".join(beat.to_bytes(64, "little") for beat in self._beats)
            self._writer.write(self._interface, self._cycle, flit, self._lost)
            self._lost = 0


def read_capture(path: str | Path) -> Iterator[CapturedFlit]:
    """Yield the flits of the capture at ``path`` in file order; raise ``CaptureError``."""
    try:
        stream = open(path, "rb")  # noqa: SIM115 (closed below; the reader is a generator)
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror}") from None
    with stream:
        _check_framing(path, stream)
        number = 0
        try:
            for block in FileScanner(stream):
                if isinstance(block, InterfaceDescription):
                    _check_interface(path, block)
                elif isinstance(block, EnhancedPacket):
                    number += 1
                    yield _packet(path, number, block)
        except CaptureError:
            raise
        except (PcapngException, struct.error, ValueError, KeyError, IndexError) as error:
            raise CaptureError(f"{path}: is damaged after packet {number} ({error})") from None


def _check_framing(path: str | Path, stream: BinaryIO) -> None:
    """Walk the blocks by their lengths, so that a file that ends early is told from a whole one."""
    size = stream.seek(0, 2)
    stream.seek(0)
    start = stream.read(12)
    order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(start[8:12])
    if start[:4] != b"\x0a\x0d\x0d\x0a" or order is None:
        raise CaptureError(f"{path}: is not a pcapng capture")
    offset, packets = 0, 0
    while offset < size:
        stream.seek(offset)
        head = stream.read(8)
        kind, length = struct.unpack(order + "2I", head) if len(head) == 8 else (0, 12)
        if offset + length > size or len(head) < 8:
            raise CaptureError(f"{path}: is cut off after packet {packets}")
        stream.seek(offset + length - 4)
        if length < 12 or length % 4 or struct.unpack(order + "I", stream.read(4))[0] != length:
            raise CaptureError(f"{path}: is damaged after packet {packets}")
        offset += length
        packets += kind == PACKET_BLOCK
    stream.seek(0)


def _check_interface(path: str | Path, block: InterfaceDescription) -> None:
    if block.link_type != LINK_TYPE:
        raise CaptureError(f"{path}: has an interface of link type {block.link_type}; DL flits have {LINK_TYPE}")


def _packet(path: str | Path, number: int, block: EnhancedPacket) -> CapturedFlit:
    interface = block.interface
    if len(block.packet_data) != FLIT_BYTES:
        raise CaptureError(f"{path}: packet {number} has {len(block.packet_data)} bytes; a DL flit has {FLIT_BYTES}")
    units = block.timestamp_high << 32 | block.timestamp_low
    time_ps = int(units * Fraction(interface.timestamp_resolution).limit_denominator(10**15) * 10**12)
    name = interface.options.get("if_name", str(block.interface_id))
    lost = int(block.options.get("epb_dropcount", 0))
    authentication = interface.options.get("if_description") == AUTHENTICATION
    return CapturedFlit(number, name, time_ps, bytes(block.packet_data), lost, authentication)
