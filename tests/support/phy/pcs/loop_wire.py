"""Bits on their way between the PCSs of ``loop_bench``."""

import random

__all__ = ["Wire"]


class Wire:
    """Bits on their way from one lane's serialiser to another's deserialiser."""

    def __init__(self, rng: random.Random, delay: int):
        self.bits = rng.getrandbits(delay) if delay else 0
        self.count = delay
        self.into = 0
        self.given: list[int] = []
        self.taken: list[int] = []
        self.flips: set[int] = set()
        self.lost: set[int] = set()
        """Bits that are flipped and left out, by their number among those that came in."""

    def push(self, word: int, width: int) -> None:
        self.taken.append(word)
        for n in range(width):
            at = self.into
            self.into += 1
            if at not in self.lost:
                self.bits |= (word >> n & 1 ^ (at in self.flips)) << self.count
                self.count += 1

    def pop(self, width: int) -> int:
        word = self.bits & (1 << width) - 1
        self.bits >>= width
        self.count -= width
        self.given.append(word)
        return word
