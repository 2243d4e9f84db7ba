"""Finding where TL flits start in DL flits of a stream that is under way (UALink_200 §6.3.4, §6.3.5).

A segment header tells which flits start, but not how many sectors of an earlier one come first. All numbers are
followed side by side: wrong ones leave a flit without a sector to start in, or fall in with the right one in a segment
that has room left.
"""

from .flit import DLFlit
from .packing import TL_FLIT_SECTORS, Unpacker

__all__ = ["FrameSynchronizer"]


class FrameSynchronizer:
    """Feed it successive payload flits until it knows the carry-over."""

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        """Know nothing."""
        self._candidates = [Unpacker(carry_over) for carry_over in range(TL_FLIT_SECTORS)]

    def push(self, flit: DLFlit) -> Unpacker | None:
        """Take one flit; the unpacker for those after it, once only one is left. When none is, begin again."""
        left: dict[int, Unpacker] = {}
        for candidate in self._candidates:
            candidate.unpack(flit)
            if not candidate.format_errors:
                left.setdefault(candidate.carry_over, candidate)
        self._candidates = list(left.values())
        if not left:
            self.reset()
        return self._candidates[0] if len(left) == 1 else None
