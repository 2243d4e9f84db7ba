"""What a model of this kind is given to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..job import Job

__all__ = ["Sabotage", "SabotagedJob"]


@dataclass(frozen=True, kw_only=True)
class Sabotage:
    """What is wrong in a model, so that a test can see that the checks find it.

    ``read`` and ``write`` are accelerators whose Read Responses or Writes have a wrong bit; ``routes`` gives by source
    and destination the port to which the switch sends in truth.
    """

    read: tuple[int, ...] = ()
    write: tuple[int, ...] = ()
    routes: Mapping[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class SabotagedJob(Job):
    """A job in a model with ``sabotage``."""

    sabotage: Sabotage
