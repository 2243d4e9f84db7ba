"""A Request with everything that belongs to it."""

from dataclasses import dataclass, field
from typing import Any

from .channel import Beat

__all__ = ["Transaction"]


@dataclass(eq=False)
class Transaction:
    """One Request with its data beats on the way in, and its Response beats on the way out.

    ``issued`` and ``completed`` are tick numbers, ``response`` the beats in order of arrival; ``terminated`` by a reset
    it never completes. ``ended`` is an Event for a coroutine that waits.
    """

    request: Beat
    data: list[Beat] = field(default_factory=list)
    port: int = 0
    response: list[Beat] = field(default_factory=list)
    issued: int | None = None
    completed: int | None = None
    terminated: bool = False
    ended: Any = None

    @property
    def done(self) -> bool:
        return self.completed is not None

    @property
    def status(self) -> int:
        """RdRspStatus or WrRspStatus, the same on every beat of a response."""
        return self.response[0]["status"]
