"""Packing of TL flits and DL messages into segments of DL flits, and back (UALink_200 §6.3.3-6.3.5, Figure 6-5)."""

import struct
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .flit import HALF_SEGMENT_SECTORS, SECTORS, SEGMENT_SECTORS, SEGMENT_START, DLFlit

__all__ = ["SEGMENTS", "TICKS", "TL_FLIT_BYTES", "Packed", "Packer", "SegmentHeader", "Unpacker"]

TL_FLIT_BYTES = 64
TL_FLIT_SECTORS = 16
SEGMENTS = len(SEGMENT_SECTORS)
TICKS = 2 * SEGMENTS

TLFlit = tuple[bytes, int]
"""64 bytes and their two message bits: bit 0 belongs to bytes 0..31, bit 1 to bytes 32..63 (ruling A-02 (DL))."""


@dataclass(frozen=True)
class SegmentHeader:
    """One segment header (UALink_200 Table 6-2): ``flit[n]``: the message bits of TL Flit[n], None if absent."""

    alt_sector: bool = False
    flit: tuple[int | None, int | None] = (None, None)

    def encode(self) -> int:
        """The header as an integer of 8 bits."""
        value = int(self.alt_sector)
        for n, message in enumerate(self.flit):
            if message is not None:
                value |= (0b100 | message) << (2 + 3 * n)
        return value

    @classmethod
    def decode(cls, value: int) -> "SegmentHeader":
        """Take 8 bits apart; bit 1 and the message bits of an absent flit are reserved and ignored."""
        first = value >> 2 & 3 if value & 0x10 else None
        second = value >> 5 & 3 if value & 0x80 else None
        return cls(bool(value & 1), (first, second))


@dataclass(frozen=True)
class Packed:
    """Payload of one DL flit; ``payload`` is False for a NOP flit; ``accepted[t]``: a TL flit was taken on tick t."""

    segment_headers: list[int]
    sectors: list[int]
    payload: bool
    accepted: tuple[bool, ...]

    def flit(self, header: int = 0) -> DLFlit:
        """The DL flit with ``header`` around this payload."""
        return DLFlit(list(self.segment_headers), list(self.sectors), header)


class Packer:
    """Transmit side; holds the sectors that the last segment had no room for, ``carry_over`` (0..15 of them)."""

    def __init__(self):
        self.carry_over: list[int] = []

    def flush(self) -> None:
        """Drop the carry-over (ruling A-22 (DL): link down)."""
        self.carry_over = []

    def nop(self) -> Packed:
        """Payload of a NOP flit, over which the carry-over is kept (ruling A-04 (DL))."""
        return Packed([0] * SEGMENTS, [0] * SECTORS, False, (False,) * TICKS)

    def pack(self, ticks: Sequence[TLFlit | None], messages: Sequence[int | None] = (None,) * SEGMENTS) -> Packed:
        """Fill one DL flit.

        ``ticks[2k]`` and ``ticks[2k+1]`` are the TL flits on offer on the first and second tick of segment k; an offer
        for which the segment has no sector left is not accepted. ``messages[k]`` is the dword of segment k.
        """
        if len(ticks) != TICKS:
            raise ValueError(f"{len(ticks)} ticks given; a DL flit has {TICKS}")
        return self._pack(lambda tick: ticks[tick], messages)

    def pack_queue(
        self,
        queue: deque[TLFlit],
        messages: Sequence[int | None] = (None,) * SEGMENTS,
        ticks: Iterable[int] = range(TICKS),
    ) -> Packed:
        """Fill one DL flit from the head of ``queue``, which has its next flit on offer in each of ``ticks``."""
        open_ticks = frozenset(ticks)
        return self._pack(lambda tick: queue.popleft() if queue and tick in open_ticks else None, messages)

    def _pack(self, take: Callable[[int], TLFlit | None], messages: Sequence[int | None]) -> Packed:
        # ``take`` is asked only for ticks on which a flit can start, so whatever it gives is accepted.
        if len(messages) != SEGMENTS:
            raise ValueError(f"{len(messages)} messages given; a DL flit has {SEGMENTS} segments")
        headers: list[int] = []
        sectors: list[int] = []
        accepted = [False] * TICKS
        payload = False
        for segment, size in enumerate(SEGMENT_SECTORS):
            message = messages[segment]
            body = list(self.carry_over) if message is None else [message, *self.carry_over]
            prefix = len(body)
            flits: list[int | None] = [None, None]
            for tick in (0, 1):
                if len(body) >= size:
                    break
                offer = take(2 * segment + tick)
                if offer is None:
                    body += [0] * ((HALF_SEGMENT_SECTORS if tick == 0 else size) - len(body))
                    continue
                data, message_bits = offer
                accepted[2 * segment + tick] = True
                # Where message and carry-over fill the first half, the added flit is TL Flit[0] on either tick.
                first = tick == 0 or (flits[0] is None and prefix == HALF_SEGMENT_SECTORS)
                flits[0 if first else 1] = message_bits
                body += struct.unpack(f"<{TL_FLIT_SECTORS}I", data)
            self.carry_over = body[size:]
            sectors += body[:size]
            headers.append(SegmentHeader(message is not None, (flits[0], flits[1])).encode())
            payload = payload or prefix > 0 or headers[-1] != 0
        return Packed(headers, sectors, payload, tuple(accepted))


class Unpacker:
    """Receive side; feed it the accepted payload flits in order.

    ``format_errors`` lists, in words, the segment headers that promised a flit where none can start (ruling A-38 (DL)).
    With ``carry_over`` it begins as many sectors before the end of a TL flit whose start was not seen.
    """

    def __init__(self, carry_over: int = 0):
        self.format_errors: list[str] = []
        self._sectors: list[int] = []
        self._message_bits: int | None = None
        if carry_over:
            self._sectors = [0] * (TL_FLIT_SECTORS - carry_over)
            self._message_bits = 0

    def flush(self) -> None:
        """Drop a TL flit that has arrived in part."""
        self._sectors = []
        self._message_bits = None

    @property
    def carry_over(self) -> int:
        """Sectors of a started TL flit still to come."""
        return 0 if self._message_bits is None else TL_FLIT_SECTORS - len(self._sectors)

    def unpack(self, flit: DLFlit) -> list[tuple[Literal["flit"], bytes, int] | tuple[Literal["message"], int]]:
        """The TL flits that ``flit`` completes and the DL message dwords it carries, in order of their sectors."""
        events: list = []
        for segment, (start, size) in enumerate(zip(SEGMENT_START, SEGMENT_SECTORS)):
            header = SegmentHeader.decode(flit.segment_headers[segment])
            body = flit.sectors[start : start + size]
            at = 0
            if header.alt_sector:
                events.append(("message", body[0]))
                at = 1
            at = self._take(body, at, events)
            for n, message_bits in enumerate(header.flit):
                if message_bits is None:
                    at = max(at, HALF_SEGMENT_SECTORS)
                elif self._message_bits is not None or at >= size:
                    self.format_errors.append(f"segment {segment}: TL Flit[{n}] has no sector to start in")
                else:
                    self._message_bits = message_bits
                    at = self._take(body, at, events)
        return events

    def _take(self, body: list[int], at: int, events: list) -> int:
        count = min(self.carry_over, len(body) - at)
        self._sectors += body[at : at + count]
        if self._message_bits is not None and self.carry_over == 0:
            events.append(("flit", struct.pack(f"<{TL_FLIT_SECTORS}I", *self._sectors), self._message_bits))
            self.flush()
        return at + count
