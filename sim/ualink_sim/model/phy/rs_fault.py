"""Link fault signalling, block by block (UALink_200 §7.2.6; clause 81.3.4 of IEEE 802.3)."""

from enum import IntEnum

from .rs_blocks import is_control, octets

__all__ = ["FAULT_BLOCKS", "QUIET_BLOCKS", "LinkFault", "LinkFaultMachine", "fault_of"]

FAULT_BLOCKS = 4
"""Fault sequences of one type that make a fault."""

QUIET_BLOCKS = 128
"""Blocks without a fault sequence that end one, and that part two sequences."""


class LinkFault(IntEnum):
    """What the reconciliation sublayer knows of the link; the codes are D3 of the ordered sets (Table 7-3)."""

    OK = 0
    LOCAL = 1
    REMOTE = 2
    INTERRUPTION = 3


def fault_of(block: int) -> LinkFault | None:
    """The fault of which ``block`` is a sequence ordered set; None of every other block and of reserved codes."""
    if not is_control(block):
        return None
    kind, d1, d2, d3, o_code = octets(block)[:5]
    if kind != 0x4B or d1 or d2 or o_code & 0xF:
        return None
    return LinkFault(d3) if d3 in (1, 2, 3) else None


class LinkFaultMachine:
    """Call ``block`` with every block received.

    Attributes
    ----------
    link_fault : fault in force.
    """

    def __init__(self) -> None:
        self.link_fault = LinkFault.OK
        self._last_type = LinkFault.OK
        self._count = 0
        self._columns = 0

    def block(self, block: int, *, in_alignment: bool = False) -> None:
        """Take one block; time does not pass within an AM flit."""
        fault = fault_of(block)
        if fault is None:
            if not in_alignment:
                self._columns += 1
            if self._columns >= QUIET_BLOCKS:
                self._count = 0
                self.link_fault = LinkFault.OK
            return
        self._columns = 0
        if self._count == 0 or fault != self._last_type:
            self._last_type = fault
            self._count = 0
        self._count += 1
        if self._count >= FAULT_BLOCKS:
            self.link_fault = fault
