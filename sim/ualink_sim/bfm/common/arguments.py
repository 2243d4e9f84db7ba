"""Checks of what bus models are made with: one line that names model, argument and range."""

from collections.abc import Sequence
from typing import Any

from ..upli.channel import FIELDS, Beat

__all__ = ["PORTS", "check_beat", "check_choice", "check_credits", "check_function", "check_number"]

PORTS = (1, 2, 4)
"""Ports that a UPLI interface can have (UALink_200 §2.5)."""


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def check_number(owner: str, name: str, value: Any, low: int, high: int | None = None) -> None:
    """ValueError unless ``value`` is a whole number from ``low`` to ``high`` (None: without bound)."""
    if not _is_whole(value) or value < low or (high is not None and value > high):
        most = f"from {low} to {high}" if high is not None else f"of {low} or more"
        raise ValueError(f"{owner}: {name} is {value!r}; it must be a whole number {most}")


def check_choice(owner: str, name: str, value: Any, choices: Sequence[Any]) -> None:
    """ValueError unless ``value`` is one of ``choices``."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ValueError(f"{owner}: {name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")


def check_function(owner: str, name: str, value: Any, gives: str) -> None:
    """ValueError unless ``value`` can be called; ``gives`` is what it is called for."""
    if not callable(value):
        raise ValueError(f"{owner}: {name} is {value!r}; it must be a function that gives {gives}")


def check_credits(owner: str, channel: str, pool: Any, vc: Any) -> None:
    """ValueError unless ``pool`` and the four of ``vc`` are counts of credits and not all 0."""
    check_number(owner, f"{channel}_pool", pool, 0)
    if not isinstance(vc, tuple | list) or len(vc) != 4:
        raise ValueError(f"{owner}: {channel}_vc is {vc!r}; it must be four counts, one for each VC")
    for number, count in enumerate(vc):
        check_number(owner, f"{channel}_vc[{number}]", count, 0)
    if not pool and not any(vc):
        raise ValueError(f"{owner}: {channel}_pool and {channel}_vc are 0; without a credit nothing can come")


def check_beat(owner: str, channel: str, beat: Beat) -> None:
    """ValueError unless ``beat`` has the fields of ``channel`` in their widths; port, pool and tag may be missing."""
    widths = FIELDS[channel]
    unknown = beat.keys() - widths.keys()
    missing = widths.keys() - beat.keys() - {"port_id", "pool", "tag"}
    if unknown or missing:
        what = f"has no {min(missing)}" if missing else f"has {min(unknown)}, which the channel has not"
        raise ValueError(f"{owner}: a beat of {channel} {what}")
    for name, value in beat.items():
        check_number(owner, f"{channel}.{name}", value, 0, (1 << widths[name]) - 1)
