"""Where the ways to break a rule are registered (UALink_200 §5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .observed import ObservedFlit

if TYPE_CHECKING:
    from .endpoint import Plan
    from .illegal import IllegalTraffic

__all__ = ["ILLEGAL", "Illegality", "breaks_flit", "breaks_plan"]

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
