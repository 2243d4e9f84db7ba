"""Catch buffers of those who take turns with others, and which catch buffer a receiver has."""

from ualink.config import TLConfig

from .catch_buffer import CatchBuffer
from .catch_lines import CatchLines
from .lean_catch import LeanCatch

__all__ = ["UnhurriedCatch", "UnhurriedLines", "catch_buffer"]


class _ReadAhead(CatchLines):
    """Rows are read with a clock, in the cycle before they are looked at: what is written then goes round the memory.

    Those who take turns with others (``Interleaver``) have three cycles for that, and nothing goes round. All rows of
    theirs are one memory then, that of no register.
    """

    def _row(self, m, storage, becomes, row=None):
        read = storage.read_port(transparent_for=storage.write_ports)
        m.d.comb += read.addr.eq(becomes)
        return read.data


class UnhurriedLines(_ReadAhead):
    """``CatchLines`` out of memories that are read with a clock; members and timing are the same."""


class UnhurriedCatch(_ReadAhead, LeanCatch):
    """``LeanCatch`` out of memories that are read with a clock: no field is in a register. Members and timing are the
    same; ``following`` is 0."""


def catch_buffer(config: TLConfig, entries: int, shape, *, foreseen: bool = False) -> CatchBuffer:
    """The catch buffer that ``config`` wants; with ``foreseen`` one that tells ``following``. One that is ``unhurried``
    has memories whatever else is wanted, and none that is read without a clock."""
    if config.unhurried:
        return (UnhurriedLines if foreseen else UnhurriedCatch)(entries, shape)
    if not config.catch_in_lines:
        return CatchBuffer(entries, shape)
    return (LeanCatch if config.lean and not foreseen else CatchLines)(entries, shape)
