"""What a pod is given to do."""

from dataclasses import dataclass
from pathlib import Path

from ..request import Request
from .scenario import Scenario

__all__ = ["LOOK_CYCLES", "Job"]

LOOK_CYCLES = 64
"""Every so many cycles a bench looks whether it shall end, or whether nothing moves any more."""


@dataclass(frozen=True)
class Job:
    """What to simulate: requests in order, and where the capture goes (None: nowhere); an absolute path."""

    scenario: Scenario
    requests: list[Request]
    capture: Path | None
