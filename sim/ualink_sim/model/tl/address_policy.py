"""Which way of its row the Tx Address Cache gives to which region: the policy, request by request.

The standard leaves replacement to the sender (UALink_200 §5.5); the receiver only obeys. This one keeps streams that
come back. A hit makes its entry young. A miss makes all entries of its row older by one and takes the lowest empty way,
or else the lowest way whose entry had reached the greatest age already; if there is none, it goes out uncompressed
without a load. An entry is thus lost only to a region that comes when it has not been hit for ``OLDEST`` misses.
"""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["OLDEST", "AddressPolicy", "Answer", "hit_rate"]

OLDEST = 7
"""The greatest age."""


@dataclass(frozen=True)
class Answer:
    """``way`` holds the region (``hit``), takes it over (``load``), or has no meaning."""

    hit: bool = False
    load: bool = False
    way: int = 0


@dataclass
class _Entry:
    region: int
    age: int = 0


class AddressPolicy:
    """A Tx Address Cache of ``rows`` rows of ``ways`` ways, empty at first."""

    def __init__(self, rows: int = 1024, ways: int = 4):
        self.rows, self.ways = rows, ways
        self.entries: list[list[_Entry | None]] = [[None] * ways for _ in range(rows)]

    def look_up(self, row: int, region: int, candidate: bool = True) -> Answer:
        """One Request; without ``candidate`` it neither hits nor loads and changes nothing."""
        if not candidate:
            return Answer()
        entries = self.entries[row]
        for way, entry in enumerate(entries):
            if entry is not None and entry.region == region:
                entry.age = 0
                return Answer(hit=True, way=way)
        place = self._place(entries)
        for entry in entries:
            if entry is not None:
                entry.age = min(entry.age + 1, OLDEST)
        if place is None:
            return Answer()
        entries[place] = _Entry(region)
        return Answer(load=True, way=place)

    @staticmethod
    def _place(entries: list[_Entry | None]) -> int | None:
        """The way that a new region gets."""
        if None in entries:
            return entries.index(None)
        return next((way for way, entry in enumerate(entries) if entry is not None and entry.age == OLDEST), None)

    def clear(self) -> None:
        """Forget everything."""
        self.entries = [[None] * self.ways for _ in range(self.rows)]

    def invalidate(self, row: int, way: int) -> None:
        """Forget one entry."""
        self.entries[row][way] = None


def hit_rate(regions: Iterable[int], ways: int = 4) -> float:
    """Part of the Requests to one Accelerator, with these regions in turn, that go out compressed."""
    policy = AddressPolicy(1, ways)
    answers = [policy.look_up(0, region).hit for region in regions]
    return sum(answers) / len(answers) if answers else 0.0
