"""Which kind each half-flit of a stream is: the automaton of ``tl_sequence.ReceiveSequence`` on counts alone."""

import numpy as np

from .batch_fields import Array, Parsed
from .sequence import MAX_TAGS, POISONED_DATA

__all__ = ["Walk"]


class Walk:
    """What each half-flit is (UALink_200 §5.1.1): the same automaton as ``tl_sequence.ReceiveSequence``.

    ``control``: per flit, it has a Control half-flit; ``places`` of the Data half-flits, of which those numbered in
    ``poisoned`` are poison; ``messages``: places of other messages; ``tagged``: flits with AuthTags.
    """

    def __init__(self, sectors: Array, message: Array, parsed: Parsed, authentication: bool):
        self.control = np.zeros(len(sectors), dtype=bool)
        self.places: list[int] = []
        self.poisoned: list[int] = []
        self.messages: list[int] = []
        self.tagged: list[int] = []
        self.error: tuple[int, str] | None = None
        self._types = (sectors[:, 0] & 0xFF).tolist(), (sectors[:, 8] & 0xFF).tolist()
        self._upper_zero: list[bool] = np.equal(sectors[:, 8:].max(axis=1), 0).tolist()
        self._message = message.tolist()
        self._owed = parsed.owed.tolist()
        self._tags = parsed.tagged.tolist() if authentication else [0] * len(sectors)
        self._bad = parsed.bad
        controls = self._run()
        self.control[controls] = True

    def _run(self) -> list[int]:
        owed, controls = 0, []
        places = self.places
        for row, bits in enumerate(self._message):
            if owed > 1 and not bits:
                places += (2 * row, 2 * row + 1)
                owed -= 2
                continue
            if owed > 1:
                owed -= self._data(row, 0) + self._data(row, 1)
                continue
            swap, new, tags, reason = owed, 0, 0, None
            if bits & 1:
                reason = self._other(row, 0)
            elif row in self._bad:
                reason = self._bad[row]
            else:
                controls.append(row)
                new, tags = self._owed[row], self._tags[row]
                if tags > (0 if swap else MAX_TAGS):
                    reason = f"{tags} tagged fields, swap {swap}"
            owed += new
            if reason:
                pass
            elif swap:
                owed -= self._data(row, 1)
            elif tags:
                self.tagged.append(row)
                reason = "a message stands in the place of authentication tags" if bits & 2 else None
            elif owed:
                owed -= self._data(row, 1)
            elif bits & 2:
                reason = self._other(row, 1)
            elif not self._upper_zero[row]:
                reason = "the upper half must be a NOP half-flit"
            if reason:
                self.error = row, reason
                break
        return controls

    def _data(self, row: int, half: int) -> int:
        """A slot in which data are due; 1 when they are there."""
        if self._message[row] >> half & 1:
            if self._types[half][row] != POISONED_DATA:
                self.messages.append(2 * row + half)
                return 0
            self.poisoned.append(len(self.places))
        self.places.append(2 * row + half)
        return 1

    def _other(self, row: int, half: int) -> str | None:
        """A message in a slot in which no data are due."""
        if self._types[half][row] == POISONED_DATA:
            return "a poison message stands where no data is due"
        self.messages.append(2 * row + half)
        return None
