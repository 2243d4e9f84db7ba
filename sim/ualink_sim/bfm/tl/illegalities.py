"""Where the ways to break a rule are registered (UALink_200 §5)."""

from collections.abc import Callable
from dataclasses import dataclass

from .checker import LinkChecker
from .endpoint import Plan
from .legal import LegalTraffic
from .observed import ObservedFlit

__all__ = ["ILLEGAL", "Illegality", "WatchedTraffic", "breaks_flit", "breaks_plan"]


class WatchedTraffic(LegalTraffic):
    """Legal traffic and what a checker knows that follows it: all that a way to break a rule may look at."""

    view: LinkChecker


BreakPlan = Callable[[WatchedTraffic, Plan], bool]
BreakFlit = Callable[[WatchedTraffic, ObservedFlit, bytes, int], tuple[bytes, int] | None]


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
"""All of them by name; filled by ``illegal_credits``, ``illegal_flits`` and ``illegal_plans``."""


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
