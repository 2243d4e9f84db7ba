"""Typed access to TOML tables, with complaints that name file, line and key."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ualink.checks import ConfigError, is_integer
from ualink.config import from_dict
from ualink.wording import named, shown

from .error import ScenarioError
from .lines import KeyLines

if TYPE_CHECKING:
    from .overrides import Override

__all__ = ["Places", "Table"]


class Places:
    """Where values come from: lines of the file at ``path``, or options of the command line."""

    def __init__(self, path: str | Path, lines: KeyLines):
        self.path = Path(path)
        self.lines = lines
        self._named_path = path
        self._options: list[tuple[tuple[str, ...], str]] = []

    def overridden(self, override: "Override") -> None:
        """From now on ``override`` is the place of its key and of all below it."""
        self._options.append((override.path, override.option))

    def of(self, *key: str | int) -> str:
        """The place of ``key``, as complaints name it."""
        counted = tuple(str(part) for part in key if part != "")
        plain = tuple(part for part in key if isinstance(part, str) and part)
        for path, option in reversed(self._options):
            if path in (counted[: len(path)], plain[: len(path)]):
                return option
        below = [
            option
            for path, option in self._options
            if plain and (path[: len(plain)] == plain or path[: len(counted)] == counted)
        ]
        place = f"{self._named_path}:{self.lines.line(*key)}"
        if not below:
            return place
        return f"{place} with {below[-1]}" if self.lines.has(*(part for part in key if part != "")) else below[-1]


class Table:
    """One table of the file, with typed access that complains with the key's place."""

    def __init__(self, values: dict[str, Any], where: tuple[str | int, ...], places: Places):
        self.values, self.where, self.places = values, where, places

    def fail(self, key: str, reason: str) -> ScenarioError:
        """The complaint about ``key``, to be raised."""
        names = [named(part) for part in (*self.where, key) if isinstance(part, str) and part]
        return ScenarioError(f"{self.places.of(*self.where, key)}: {'.'.join(names)}: {reason}")

    def line(self, key: str) -> int:
        """The line of ``key``."""
        return self.places.lines.line(*self.where, key)

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
        return Table(value, (*self.where, key), self.places)

    def tables(self, key: str, *, required: bool = False) -> list["Table"]:
        """The tables of the array under ``key``."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.fail(key, f"must be an array of tables, [[{key}]]")
        if required and not value:
            raise self.fail(key, "is missing; the scenario asks for nothing")
        return [Table(item, (*self.where, key, index), self.places) for index, item in enumerate(value)]

    def part(self, values: dict[str, Any]) -> "Table":
        """The same table with other values."""
        return Table(values, self.where, self.places)

    def integer(self, key: str, default: int | None, low: int, high: int) -> int:
        """A whole number; ``default`` None means that the key is needed."""
        value = self._value(key, default)
        if not is_integer(value, low, high):
            raise self.fail(key, f"is {shown(value)}; it must be a whole number from {low} to {high}")
        return value

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """A number, whole or not."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise self.fail(key, f"is {shown(value)}; it must be a number from {low:g} to {high:g}")
        return float(value)

    def boolean(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, f"is {shown(value)}; it must be true or false")
        return value

    def choice(self, key: str, default: str | None, choices: tuple[str, ...]) -> str:
        """One of ``choices``."""
        value = self._value(key, default)
        if value not in choices:
            raise self.fail(key, f"is {shown(value)}; it must be one of {', '.join(choices)}")
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
