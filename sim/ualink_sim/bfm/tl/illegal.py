"""Traffic that is legal but for one flit, which breaks exactly one rule (UALink_200 §5)."""

from . import illegal_credits, illegal_flits, illegal_plans  # noqa: F401  they fill ILLEGAL
from .checker import LinkChecker
from .endpoint import Plan
from .illegalities import ILLEGAL, WatchedTraffic
from .legal import Weights
from .options import TLOptions
from .transfers import Item

__all__ = ["ILLEGAL", "IllegalTraffic", "NothingBrokenError"]


PATIENCE = 10_000
"""Flits after which a rule that no state of the link has let be broken is given up, where nothing else is set."""


class NothingBrokenError(AssertionError):
    """Traffic that was to break a rule has not: what was to be tested was not."""


class IllegalTraffic(WatchedTraffic):
    """Legal traffic until ``start`` flits have gone; the first flit after them that can break ``illegality`` does.

    Not every state of a link lets every rule be broken. When none of ``patience`` flits could, NothingBrokenError says
    so; a bench that ends earlier asks with ``require_broken``.

    Attributes
    ----------
    patience : how many flits after ``start`` may go by.
    broken : the number of the flit that broke the rule, from 1; None so far.
    view : what a checker knows that has followed the legal stream: credits, rate limits, caches. Whoever feeds this
        endpoint needs to do nothing for it.
    """

    def __init__(
        self,
        illegality: str,
        options: TLOptions | None = None,
        seed: int = 0,
        weights: Weights | None = None,
        start: int = 50,
    ):
        if illegality not in ILLEGAL:
            raise ValueError(f"illegality is {illegality!r}; known are {', '.join(map(repr, ILLEGAL))}")
        self.name = illegality
        self.illegality = ILLEGAL[illegality]
        self.start = start
        self.patience = PATIENCE
        self.broken: int | None = None
        super().__init__(options, seed, weights)
        self.view = LinkChecker(self.options)
        if self.illegality.needs_authentication and not self.options.authentication:
            raise ValueError(f"{illegality} needs authentication")

    def reset(self) -> None:
        """The link restarts; a rule that was broken stays broken."""
        super().reset()
        if hasattr(self, "view"):
            self.view.reset()

    def receive(self, flit: bytes, message_bits: int) -> list[Item]:
        """Take a flit of the partner."""
        self.view.received(flit, message_bits)
        return super().receive(flit, message_bits)

    @property
    def _due(self) -> bool:
        return self.broken is None and (self.illegality.early or self.view.flits >= self.start)

    def require_broken(self) -> None:
        """NothingBrokenError unless the rule has been broken."""
        if self.broken is None:
            flits = f"{self.view.flits} flits, of which it was to begin after {self.start}"
            raise NothingBrokenError(f"{self.name!r} has broken nothing in {flits}")

    def plan(self) -> Plan:
        """A legal plan, or the one that breaks the rule."""
        if self.view.flits >= self.start + self.patience:
            self.require_broken()
        plan = super().plan()
        if self._due and self.illegality.break_plan is not None and self.illegality.break_plan(self, plan):
            self.broken = self.view.flits + 1
        return plan

    def commit(self, plan: Plan) -> tuple[bytes, int]:
        """Put a plan on the wire."""
        flit, message_bits = super().commit(plan)
        if self.broken is not None:
            return flit, message_bits
        due = self._due
        seen = self.view.sent(flit, message_bits)
        if due and self.illegality.break_flit is not None and seen is not None:
            spoiled = self.illegality.break_flit(self, seen, flit, message_bits)
            if spoiled is not None:
                self.broken = seen.number
                return spoiled
        return flit, message_bits
