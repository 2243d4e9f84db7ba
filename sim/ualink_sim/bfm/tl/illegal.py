"""Traffic that is legal but for one flit, which breaks exactly one rule (UALink_200 §5)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .checker import LinkChecker
from .legal import LegalTraffic, Weights
from .observed import ObservedFlit
from .options import TLOptions

if TYPE_CHECKING:
    from .endpoint import Plan

__all__ = ["ILLEGAL", "IllegalTraffic", "Illegality", "breaks_flit", "breaks_plan"]

BreakPlan = Callable[["IllegalTraffic", "Plan"], bool]
BreakFlit = Callable[["IllegalTraffic", ObservedFlit, bytes, int], tuple[bytes, int] | None]


@dataclass(frozen=True)
class Illegality:
    """One way to break ``rule``: it changes the plan of a flit, or the flit; each says whether this one can be broken.

    ``needs_authentication`` : the rule exists in no other mode. ``early`` : it can only be broken before traffic runs.
    """

    rule: str
    break_plan: BreakPlan | None = None
    break_flit: BreakFlit | None = None
    needs_authentication: bool = False
    early: bool = False


ILLEGAL: dict[str, Illegality] = {}
"""All of them by name; filled by ``illegal_flits`` and ``illegal_plans``."""


def breaks_plan(rule: str, name: str = "", early: bool = False) -> Callable[[BreakPlan], BreakPlan]:
    """Register a function that spoils the plan of a flit, before it is put on the wire."""

    def register(function: BreakPlan) -> BreakPlan:
        ILLEGAL[name or function.__name__] = Illegality(rule, break_plan=function, early=early)
        return function

    return register


def breaks_flit(rule: str, needs_authentication: bool = False) -> Callable[[BreakFlit], BreakFlit]:
    """Register a function that spoils a legal flit."""

    def register(function: BreakFlit) -> BreakFlit:
        ILLEGAL[function.__name__] = Illegality(rule, None, function, needs_authentication)
        return function

    return register


class IllegalTraffic(LegalTraffic):
    """Legal traffic until ``start`` flits have gone; the first flit after them that can break ``illegality`` does.

    Attributes
    ----------
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
        self.illegality = ILLEGAL[illegality]
        self.start = start
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

    def receive(self, flit: bytes, message_bits: int):
        """Take a flit of the partner."""
        self.view.received(flit, message_bits)
        return super().receive(flit, message_bits)

    @property
    def _due(self) -> bool:
        return self.broken is None and (self.illegality.early or self.view.flits >= self.start)

    def plan(self) -> "Plan":
        """A legal plan, or the one that breaks the rule."""
        plan = super().plan()
        if self._due and self.illegality.break_plan is not None and self.illegality.break_plan(self, plan):
            self.broken = self.view.flits + 1
        return plan

    def commit(self, plan: "Plan") -> tuple[bytes, int]:
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
