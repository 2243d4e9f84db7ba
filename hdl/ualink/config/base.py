"""What all configurations have in common."""

from dataclasses import replace
from typing import Any, Self

from ualink.checks import ConfigError
from ualink.wording import shown

__all__ = ["Config", "check_choice"]


def check_choice(owner: str, key: str, value: Any, choices: tuple) -> None:
    """ConfigError, which names ``owner`` and ``key``, unless ``value`` is one of ``choices``, type and all."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ConfigError(f"{owner}.{key} is {shown(value)}; it must be one of {', '.join(map(repr, choices))}")


class Config:
    """Base of all of them."""

    def replace(self, **changes: Any) -> Self:
        """The same configuration with ``changes``, validated again."""
        return replace(self, **changes)  # type: ignore[type-var]
