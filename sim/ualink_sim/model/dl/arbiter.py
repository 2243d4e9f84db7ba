"""Which DL message goes into the next alternative sector (UALink_200 §6.4.1.2)."""

from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

__all__ = ["MessageArbiter", "RoundRobin"]

T = TypeVar("T")


class RoundRobin(Generic[T]):
    """Who was chosen last comes last next time."""

    def __init__(self, members: Sequence[T]):
        self._order = list(members)

    def choose(self, candidates: Collection[T]) -> T | None:
        """The first of ``candidates``; None without any."""
        for place, member in enumerate(self._order):
            if member in candidates:
                self._order = self._order[place + 1 :] + self._order[: place + 1]
                return member
        return None


class MessageArbiter:
    """Level 2: round robin between the classes; a message of several dwords is not interrupted.

    A choice is made as soon as nothing is on offer, between the classes that have a message then.
    """

    CLASSES = ("basic", "control", "uart")

    def __init__(self):
        self._turns = RoundRobin(self.CLASSES)
        self.chosen: str | None = None
        self.under_way = False

    def choose(self, candidates: Collection[str]) -> str | None:
        """The class whose dword is on offer for the next segment."""
        if not self.under_way and self.chosen not in candidates:
            self.chosen = self._turns.choose(candidates)
        return self.chosen

    def packed(self, more: bool) -> None:
        """The dword on offer went into a segment; with ``more`` its message goes on in the next one."""
        self.under_way = more
        if not more:
            self.chosen = None
