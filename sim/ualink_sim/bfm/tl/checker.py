"""Holds what a device sends on a link against the rules of the TL (UALink_200 §5)."""

from collections.abc import Callable

from .credit_rules import CreditRules
from .field_rules import FieldRules
from .follower import Follower
from .observed import ObservedFlit
from .options import TLOptions
from .rate_rules import RateRules
from .rules import TLProtocolError

__all__ = ["LinkChecker"]


def _raise(error: TLProtocolError) -> None:
    raise error


def _overlook(rule: str, detail: object = "") -> None:
    """What the partner does wrong is not held against the device."""


class LinkChecker:
    """Tell it of every TL flit that the device was given (``received``) and of every one that it sent (``sent``).

    Flits are told in the order of time, each with its message bits (bit 0: M0). ``on_error`` is called with each
    ``TLProtocolError``; unless given, it is raised. ``options`` are those of the device. After an error that leaves
    open what comes next, nothing of that direction is checked until ``reset``.
    """

    def __init__(self, options: TLOptions | None = None, on_error: Callable[[TLProtocolError], None] = _raise):
        self.options = options = options or TLOptions()
        self._on_error = on_error
        self.follower = Follower(self.report, options)
        self.incoming = Follower(_overlook, options)
        self.fields = FieldRules(self.report, options)
        self.rates = RateRules(self.report)
        self.credits = CreditRules(self.report)

    def reset(self) -> None:
        """The link restarts: reset, or channel 0 was offline (ruling D18)."""
        for part in (self.follower, self.incoming, self.fields, self.rates, self.credits):
            part.reset()

    @property
    def flits(self) -> int:
        """Flits that the device has sent."""
        return self.follower.flits

    def report(self, rule: str, detail: object = "") -> None:
        """A rule is broken in the flit at hand."""
        if rule not in self.options.ignore:
            self._on_error(TLProtocolError(rule, self.flits, detail))

    def received(self, flit: bytes, message_bits: int) -> ObservedFlit | None:
        """A flit that the device was given, taken apart; None when it cannot be."""
        seen = self.incoming.push(flit, message_bits)
        if seen is not None:
            self.credits.received(seen)
        return seen

    def sent(self, flit: bytes, message_bits: int) -> ObservedFlit | None:
        """A flit that the device sent, taken apart; None when it cannot be."""
        seen = self.follower.push(flit, message_bits)
        if seen is not None:
            self.fields.sent(seen)
            self.rates.sent(seen)
            self.credits.sent(seen)
        return seen
