"""Rules for what is inside a transmitted DL flit (UALink_200 §6.3, §6.6.2)."""

from collections.abc import Callable, Iterator

from ...model.dl.flit import HALF_SEGMENT_SECTORS, SEGMENT_SECTORS, SEGMENT_START
from ...model.dl.header import CommandHeader, ExplicitHeader
from .observed import Header, ObservedFlit

__all__ = ["FlitRules", "Part", "Report"]

Report = Callable[..., None]
"""Called with a rule's name and a detail where the rule is broken."""

Part = tuple[str, int]
"""``("message", dword)`` or ``("flit", segment)`` in the order of the sectors; ``("segment", n)`` begins each."""

TL_FLIT_SECTORS = 16


class FlitRules:
    """Checks single flits, and follows the carry-over of new payload flits from one to the next."""

    def __init__(self, report: Report):
        self._report = report
        self.carry_over = 0

    def reset(self) -> None:
        """Link down: no TL flit is under way."""
        self.carry_over = 0

    def header(self, seen: ObservedFlit) -> Header | None:
        """Check the flit header; None when it cannot be used."""
        header, word = seen.header, seen.flit.header
        if header is None:
            self._report("op_code", f"op {word >> 21:03b}, payload {word >> 20 & 1}")
            return None
        reserved = 0x0E_00FF if isinstance(header, ExplicitHeader) else 0x00_00FF
        if word & reserved:
            self._report("header_reserved", f"{word:06x}")
        number = header.ack_req_seq if isinstance(header, CommandHeader) else header.flit_seq_no
        if number == 0:
            self._report("number_zero", "ackReqSeq" if isinstance(header, CommandHeader) else "flitSeqNo")
            return None
        if not header.payload and (any(seen.flit.segment_headers) or any(seen.flit.sectors)):
            self._report("nop_content")
        return header

    def payload(self, seen: ObservedFlit) -> Iterator[Part]:
        """Check a new payload flit; gives what starts in it, in order."""
        before = self.carry_over
        if not before and not any(seen.flit.segment_headers):
            self._report("empty_payload")
        for segment, header in enumerate(seen.flit.segment_headers):
            yield "segment", segment
            yield from self._segment(seen, segment, header)

    def _segment(self, seen: ObservedFlit, segment: int, header: int) -> Iterator[Part]:
        start, size = SEGMENT_START[segment], SEGMENT_SECTORS[segment]
        body = seen.flit.sectors[start : start + size]
        starts = (bool(header & 0x10), bool(header & 0x80))
        if header & 2:
            self._report("segment_reserved", f"SH{segment} is {header:02x}")
        if (not starts[0] and header & 0x0C) or (not starts[1] and header & 0x60):
            self._report("message_bits", f"SH{segment} is {header:02x}")
        at = 0
        if header & 1:
            yield "message", body[0]
            at = 1
        at += self.carry_over
        self.carry_over = 0
        if at == HALF_SEGMENT_SECTORS and starts == (False, True):
            self._report("first_flit", f"segment {segment}")
        for number, present in enumerate(starts):
            end = HALF_SEGMENT_SECTORS if number == 0 else size
            if present:
                if self.carry_over or at >= size:
                    self._report("flit_start", f"segment {segment}, TL Flit[{number}]")
                    continue
                taken = min(TL_FLIT_SECTORS, size - at)
                self.carry_over = TL_FLIT_SECTORS - taken
                at += taken
                yield "flit", segment
            elif at < end:
                if any(body[at:end]):
                    self._report("zero_fill", f"sectors {start + at} to {start + end - 1}")
                at = end
