"""A DL flit as seen on the wire (UALink_200 §6.3, §6.6.2)."""

from dataclasses import dataclass
from functools import cached_property

from ...model.dl.flit import CRC_OFFSET, DLFlit, crc_bytes
from ...model.dl.header import CommandHeader, ExplicitHeader, HeaderError, decode_header

__all__ = ["Header", "ObservedFlit"]

Header = CommandHeader | ExplicitHeader


@dataclass(frozen=True)
class ObservedFlit:
    """640 bytes in wire order, taken apart when asked."""

    raw: bytes
    crc_covers_zero_field: bool = True

    @cached_property
    def _crc(self) -> bytes:
        return crc_bytes(self.raw[:CRC_OFFSET], self.crc_covers_zero_field)

    @property
    def good(self) -> bool:
        """The CRC is right."""
        return self.raw[CRC_OFFSET:] == self._crc

    @property
    def inverted(self) -> bool:
        """The CRC is inverted: error containment (UALink_200 §6.7.4.2)."""
        return self.raw[CRC_OFFSET:] == bytes(byte ^ 0xFF for byte in self._crc)

    @cached_property
    def flit(self) -> DLFlit:
        """Segment headers, sectors and header."""
        return DLFlit.decode(self.raw)

    @cached_property
    def header(self) -> Header | None:
        """The flit header; None when its op code is reserved."""
        try:
            return decode_header(self.flit.header)
        except HeaderError:
            return None

    @property
    def content(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What a replay repeats."""
        return tuple(self.flit.segment_headers), tuple(self.flit.sectors)
