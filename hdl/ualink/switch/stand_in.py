"""What may stand for a part of the switch core: an instance of a module that was made of an equal one."""

from collections.abc import Callable
from typing import Any

__all__ = ["StandIn", "itself"]

StandIn = Callable[..., Any]
"""Makes of the class of a part and its parameters a component with the signature of that part."""


def itself(part, *parameters):
    """The part."""
    return part(*parameters)
