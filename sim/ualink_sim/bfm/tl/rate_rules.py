"""Rules for the source rate limits of one direction (UALink_200 §5.7)."""

from ...model.tl.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT
from .follower import Report
from .observed import ObservedFlit

__all__ = ["RateRules"]


class RateRules:
    """Follows how many Requests and Responses the receiver of a direction can still catch.

    Attributes
    ----------
    requests, responses : how many the next flit may hold.
    """

    def __init__(self, report: Report):
        self._report = report
        self.reset()

    def reset(self) -> None:
        """The link restarts with empty catch buffers."""
        self.requests, self.responses = REQUEST_LIMIT, RESPONSE_LIMIT

    def sent(self, seen: ObservedFlit) -> None:
        """A flit of the direction that is checked; the receiver retires one of each kind with every flit."""
        if seen.requests > self.requests:
            self._report("request_rate", f"{seen.requests}, {self.requests} allowed")
        if seen.responses > self.responses:
            self._report("response_rate", f"{seen.responses}, {self.responses} allowed")
        self.requests = min(REQUEST_LIMIT, max(0, self.requests - seen.requests) + 1)
        self.responses = min(RESPONSE_LIMIT, max(0, self.responses - seen.responses) + 1)
