"""A TL flit as seen on the wire by someone who knows the sequence (UALink_200 §5.1.1, §5.1.2)."""

from dataclasses import dataclass
from enum import Enum

from ...model.tl.fields import ControlField
from ...model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, POISONED_DATA, OwedHalfFlit

__all__ = ["Due", "Half", "ObservedFlit"]


class Due(Enum):
    """What a half-flit is by its place in the sequence, unless a message stands there."""

    CONTROL = "control"
    DATA = "data"
    BYTE_ENABLES = "byte enables"
    TAGS = "tags"
    NOP = "NOP"


@dataclass(frozen=True)
class Half:
    """One half-flit; ``owed`` is the Data half-flit that is due in it, if one is."""

    due: Due
    content: bytes
    is_message: bool
    owed: OwedHalfFlit | None = None

    @property
    def message(self) -> int | None:
        """The type of the message, None when it is none."""
        return self.content[0] if self.is_message else None

    @property
    def poisoned(self) -> bool:
        """It stands for corrupt data."""
        return self.message == POISONED_DATA

    @property
    def is_release(self) -> bool:
        """It is Initial Credit Release Complete."""
        return self.message == INITIAL_CREDIT_RELEASE_COMPLETE


@dataclass(frozen=True)
class ObservedFlit:
    """One flit; ``number`` counts from 1, ``fields`` are those of its Control half-flit with their lowest sectors.

    ``owed`` is how many Data half-flits were owed before it; the flit is a swap flit when it was one.
    """

    number: int
    lower: Half
    upper: Half
    fields: tuple[tuple[int, ControlField], ...]
    owed: int

    @property
    def halves(self) -> tuple[Half, Half]:
        """Lower, then upper."""
        return self.lower, self.upper

    @property
    def swap(self) -> bool:
        """The last owed Data half-flit is due in the upper half, beside the next Control half-flit."""
        return self.owed == 1

    @property
    def requests(self) -> int:
        """Requests in it."""
        return sum(control.is_request for _, control in self.fields)

    @property
    def responses(self) -> int:
        """Read and Write Responses in it."""
        return sum(control.is_response for _, control in self.fields)
