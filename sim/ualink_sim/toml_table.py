"""Typed access to TOML tables, with complaints that name file, line and key."""

import re
from pathlib import Path
from typing import Any

from ualink.config import ConfigError, from_dict

from .toml_lines import KeyLines

__all__ = ["ScenarioError", "Table"]


class ScenarioError(ValueError):
    """A scenario or trace cannot be used; the message is one line, ``file:line: key: reason``."""


class Table:
    """One table of the file, with typed access that complains with the key's line."""

    def __init__(self, values: dict[str, Any], where: tuple[str | int, ...], path: str | Path, lines: KeyLines):
        self.values, self.where, self.path, self.lines = values, where, path, lines

    def fail(self, key: str, reason: str) -> ScenarioError:
        """The complaint about ``key``, to be raised."""
        names = [str(part) for part in (*self.where, key) if isinstance(part, str) and part]
        return ScenarioError(f"{self.path}:{self.line(key)}: {'.'.join(names)}: {reason}")

    def line(self, key: str) -> int:
        """The line of ``key``."""
        return self.lines.line(*self.where, key)

    def known(self, *names: str) -> None:
        """Complain about the first key that is not one of ``names``."""
        for key in self.values:
            if key not in names:
                raise self.fail(key, f"unknown key; known are {', '.join(names)}")

    def table(self, key: str, *, required: bool = False) -> "Table":
        """The table under ``key``; empty when it is not there."""
        if required and key not in self.values:
            raise self.fail(key, "is missing")
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.fail(key, f"must be one table, [{key}]")
        return Table(value, (*self.where, key), self.path, self.lines)

    def tables(self, key: str, *, required: bool = False) -> list["Table"]:
        """The tables of the array under ``key``."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.fail(key, f"must be an array of tables, [[{key}]]")
        if required and not value:
            raise self.fail(key, "is missing; the scenario asks for nothing")
        return [Table(item, (*self.where, key, index), self.path, self.lines) for index, item in enumerate(value)]

    def integer(self, key: str, default: int | None, low: int, high: int) -> int:
        """A whole number; ``default`` None means that the key is needed."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.fail(key, f"is {value!r}; it must be a whole number from {low} to {high}")
        return value

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """A number, whole or not."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise self.fail(key, f"is {value!r}; it must be a number from {low:g} to {high:g}")
        return float(value)

    def boolean(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, f"is {value!r}; it must be true or false")
        return value

    def choice(self, key: str, default: str | None, choices: tuple[str, ...]) -> str:
        """One of ``choices``."""
        value = self._value(key, default)
        if value not in choices:
            raise self.fail(key, f"is {value!r}; it must be one of {', '.join(choices)}")
        return value

    def config(self, kind: type, values: dict[str, Any]) -> Any:
        """Build configuration ``kind`` from this table and ``values``, naming the key at fault if one alone is."""
        name = ".".join(str(part) for part in self.where)
        try:
            return from_dict(kind, {**self.values, **values}, name)
        except ConfigError as error:
            reason = str(error)
        for key, value in self.values.items():
            try:
                from_dict(kind, {key: value}, name)
            except ConfigError as error:
                if str(error) == reason:
                    raise self.fail(key, re.sub(rf"^{re.escape(name)}(\.{re.escape(key)})?:? ", "", reason)) from None
        raise self.fail("", reason)

    def _value(self, key: str, default: Any) -> Any:
        if key not in self.values and default is None:
            raise self.fail(key, "is missing")
        return self.values.get(key, default)
