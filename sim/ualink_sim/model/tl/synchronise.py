"""Getting in step with a stream of TL flits that is under way (UALink_200 §5.1.1).

Nothing in a half-flit says what it is, but a stream is fully described by how many Data half-flits are owed before its
first flit, and that count has a bound. All counts are followed side by side: wrong ones take data for control fields
and are refuted, or fall in with the right one where nothing is owed.
"""

from .fields import FlowControl
from .sequence import OwedHalfFlit, ProtocolError, ReceiveSequence

__all__ = ["MOST_OWED", "Synchronizer"]

MOST_OWED = 64
"""Half-flits owed between two flits at most: eight Compressed Responses of four beats beside the last one owed."""

_UNKNOWN = FlowControl()
"""Stands for the fields before the first flit, whose data are on the way."""


class Synchronizer:
    """Feed it successive TL flits until it knows the sequence; arguments as for ``ReceiveSequence``."""

    def __init__(self, authentication: bool = False, uwm_has_byte_enables: bool = True):
        self._arguments = authentication, uwm_has_byte_enables
        self.reset()

    def reset(self) -> None:
        """Know nothing."""
        self._candidates = []
        for count in range(MOST_OWED + 1):
            candidate = ReceiveSequence(*self._arguments)
            candidate.owed.extend(OwedHalfFlit(_UNKNOWN, -1, index, False) for index in range(count))
            self._candidates.append(candidate)

    def push(self, flit: bytes, message_bits: int) -> ReceiveSequence | None:
        """Take one flit; the automaton for those after it, once only one is left. When none is, begin again."""
        left: dict[tuple, ReceiveSequence] = {}
        for candidate in self._candidates:
            events = candidate.receive(flit, message_bits)
            if not any(isinstance(event, ProtocolError) and event.fatal for event in events):
                left.setdefault(tuple((half.field, half.index, half.is_be) for half in candidate.owed), candidate)
        self._candidates = list(left.values())
        if not left:
            self.reset()
        return self._candidates[0] if len(left) == 1 else None
