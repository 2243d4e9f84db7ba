"""What rate matching may do to a stream of 64B/66B blocks (UALink_200 §7.3.5; IEEE 802.3 82.2.3.6, 82.2.3.9)."""

from collections import Counter
from itertools import islice, takewhile

__all__ = ["changes"]

IDLE_BLOCK, ORDERED_SET_TYPE, BLOCKS_PER_FLIT = 0x79, 0x4B, 80
CONTROL, DATA = 0b01, 0b10
"""Sync headers 10 and 01 as numbers: their first bit is bit 0."""


def _idle(word: tuple[int, ...]) -> bool:
    return all(block == IDLE_BLOCK for block in word)


def _ordered_set(word: tuple[int, ...]) -> bool:
    first = word[0]
    sequence = first & 3 == CONTROL and first >> 2 & 0xFF == ORDERED_SET_TYPE and first >> 34 & 0xF == 0
    return sequence and all(block == first for block in word)


class _Flits:
    """Follows data flits through a stream of blocks. From a header 00 or 11 on a flit has 80 blocks, whatever they are
    (rulings P-04, R7-04)."""

    def __init__(self) -> None:
        self.left = 0
        self.damaged = False

    def word(self, word: tuple[int, ...]) -> bool:
        """One more word; True if a flit ends with its last block."""
        return [self._block(block) for block in word][-1]

    def _block(self, block: int) -> bool:
        if not self.left:
            self.damaged = False
            if block & 3 == CONTROL:
                return False
            self.left = BLOCKS_PER_FLIT
        self.damaged = self.damaged or block & 3 not in (CONTROL, DATA)
        if block & 3 == CONTROL and not self.damaged:
            self.left = 0
            return False
        self.left -= 1
        return not self.left


def changes(given: list[tuple[int, ...]], taken: list[tuple[int, ...]]) -> Counter[str]:
    """How many words of Idle and of ordered sets were left out and put in between ``given`` and ``taken``, words of any
    number of blocks; ValueError at the first word that no rule explains.

    Words of one block judge what was done with longer ones as well: eight blocks are eight times one."""
    made: Counter[str] = Counter()
    before, after = _Flits(), _Flits()
    open_ = True
    at = 0
    run_start = run_gone = 0
    for number, word in enumerate(taken):
        while True:
            ahead = given[at] if at < len(given) else None
            if at and ahead != given[at - 1]:
                run_start, run_gone = at, 0
            if ahead == word:
                before.word(word)
                open_ = after.word(word) or _idle(word[-1:]) or _ordered_set(word[-1:])
                at += 1
                break
            if ahead is not None and not before.left and _idle(ahead):
                made["idle deleted"] += 1
                at += 1
                continue
            # Which of a row of equal ones are gone cannot be seen, but no more than every other one may be.
            second = ahead is not None and _ordered_set(ahead) and 2 * (run_gone + 1) <= _row(given, run_start)
            comes_next = next((later for later in islice(taken, number, None) if not _idle(later)), None) == ahead
            if second and not before.left and not (_idle(word) and comes_next):
                made["ordered set deleted"] += 1
                run_gone += 1
                at += 1
                continue
            if _idle(word) and open_ and not after.left:
                made["idle inserted"] += 1
                break
            raise ValueError(f"word {number} is {word}, where {ahead} comes next")
    return made


def _row(words: list[tuple[int, ...]], start: int) -> int:
    """How many equal words stand in a row from ``start`` on."""
    return sum(1 for _ in takewhile(lambda word: word == words[start], islice(words, start, None)))
