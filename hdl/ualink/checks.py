"""Checks of what parameters are given; every block has the same ones and says the same of what it refuses."""

from typing import Any

from ualink.wording import shown

__all__ = ["ConfigError", "check_choice", "check_integer", "is_integer"]


class ConfigError(ValueError):
    """A configuration value is out of range; the message names the key, the value and the range."""


def is_integer(value: Any, least: int, most: int | None = None) -> bool:
    """Whether ``value`` is a whole number, not True or False, of ``least`` or more, and not above ``most``."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number and value >= least and (most is None or value <= most)


def check_integer(name: str, value: Any, least: int, most: int | None = None) -> None:
    """ConfigError unless ``is_integer``; ``name`` is that of the parameter."""
    if not is_integer(value, least, most):
        bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise ConfigError(f"{name} is {shown(value)}; it must be a whole number {bounds}")


def check_choice(name: str, value: Any, choices: tuple[int, ...]) -> None:
    """ConfigError unless ``value`` is a whole number among ``choices``, two or more of them."""
    if isinstance(value, bool) or value not in choices:
        *some, last = map(str, choices)
        raise ConfigError(f"{name} is {shown(value)}; it must be {', '.join(some)} or {last}")
