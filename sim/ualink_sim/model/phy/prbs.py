"""Pseudo-random bit sequences, bit by bit (ITU-T O.150)."""

from collections import deque
from collections.abc import Iterator

__all__ = ["POLYNOMIALS", "Follower", "sequence"]

POLYNOMIALS = {7: (7, 6), 9: (9, 5), 15: (15, 14), 23: (23, 18), 31: (31, 28)}
"""By order the exponents of its polynomial, besides 0."""


def sequence(order: int) -> Iterator[int]:
    """The bits after a register full of ones, without end."""
    register = deque([1] * order)
    while True:
        yield _next(register, order)


def _next(register: deque[int], order: int) -> int:
    """The bit after those of ``register``, the latest first; it takes the place of the oldest."""
    first, second = POLYNOMIALS[order]
    bit = register[first - 1] ^ register[second - 1]
    register.appendleft(bit)
    register.pop()
    return bit


class Follower:
    """Follows a sequence in words of ``width`` bits and counts what is wrong in them.

    It begins with zeros. While it is not ``locked`` each word should be what the bits received before it lead to; 16
    words in a row that are, with bits of at least twice the order and not behind zeros, lock it. Then it goes on by
    itself. 32 wrong words in one of the windows of 64 words since the lock end it: ``lost``. ``errors`` and ``words``
    are of the words that came while it was locked.
    """

    def __init__(self, order: int, width: int):
        self._order, self._width = order, width
        self._register = deque([0] * order)
        self._right = 0
        self._window: list[bool] = []
        self.locked = self.lost = False
        self.errors = self.words = 0

    def take(self, word: int) -> None:
        """The next word."""
        received = [word >> n & 1 for n in range(self._width)]
        own = self._register.copy()
        expected = [_next(own, self._order) for _ in range(self._width)]
        wrong = sum(one != other for one, other in zip(received, expected))
        if self.locked:
            self._register = own
            self.words += 1
            self.errors += wrong
            self._window.append(wrong > 0)
            if sum(self._window) == 32:
                self.locked, self.lost = False, True
                self._right = 0
            elif len(self._window) == 64:
                self._window = []
            return
        self._right = self._right + 1 if any(self._register) and not wrong else 0
        for bit in received:
            self._register.appendleft(bit)
            self._register.pop()
        if self._right >= 16 and self._right * self._width >= 2 * self._order:
            self.locked, self._window = True, []

    def clear(self) -> None:
        """Forget what was counted, and a lock that was lost."""
        self.lost = False
        self.errors = self.words = 0
