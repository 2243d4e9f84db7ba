"""Source rate limits of Requests and Responses, and the catch buffers that they protect (UALink_200 §5.7)."""

from collections import deque
from typing import Generic, TypeVar

__all__ = ["REQUEST_LIMIT", "RESPONSE_LIMIT", "CatchBuffer", "RateLimit", "RateLimitError"]

REQUEST_LIMIT, RESPONSE_LIMIT = 4, 8

Entry = TypeVar("Entry")


class RateLimitError(ValueError):
    """More Requests or Responses in a flit than the receiver can catch."""


class RateLimit:
    """``allowance``: how many Requests (limit 4) or Responses (limit 8) the next transmitted TL flit may hold.

    ``outstanding``: how many a catch buffer holds that moves with flits only. A transmitter goes on sending flits,
    empty ones if need be, until it is 0: the last of them would stay there (TL-224).
    """

    def __init__(self, limit: int):
        self.limit = self.allowance = limit
        self.outstanding = 0

    def reset(self) -> None:
        """Restart with the full allowance."""
        self.allowance, self.outstanding = self.limit, 0

    def flit(self, issued: int) -> None:
        """Count one transmitted TL flit of any kind with ``issued`` of them; the receiver retires one with each."""
        if issued > self.allowance:
            raise RateLimitError(f"{issued} in one flit; {self.allowance} are allowed")
        self.allowance = min(self.limit, self.allowance - issued + 1)
        self.outstanding = max(0, self.outstanding - 1) + issued


class CatchBuffer(Generic[Entry]):
    """The receiver's buffer of ``depth`` entries: one leaves with each received flit, then new ones enter in order."""

    def __init__(self, depth: int):
        self.depth = depth
        self.entries: deque[Entry] = deque()

    def reset(self) -> None:
        """Restart empty."""
        self.entries.clear()

    def flit(self, new: list[Entry]) -> Entry | None:
        """The entry that one received flit pushes on; RateLimitError when ``new`` does not fit behind the others."""
        retired = self.entries.popleft() if self.entries else None
        if len(self.entries) + len(new) > self.depth:
            raise RateLimitError(f"{len(new)} entries arrive where {self.depth - len(self.entries)} are free")
        self.entries.extend(new)
        return retired
