"""Values of the command line, ``link.latency_cycles=100``, that take the place of those in a file."""

import tomllib
from dataclasses import dataclass
from typing import Any

from ualink.wording import named

from .error import ScenarioError
from .lines import KeyLines

__all__ = ["Override", "parse_override"]


@dataclass(frozen=True)
class Override:
    """``value`` for the key ``path``; of an array of tables a number, from 0, names one, and no number means all."""

    option: str
    path: tuple[str, ...]
    value: Any

    def apply(self, values: dict[str, Any]) -> None:
        """Put the value into ``values``, where tables that are missing are made."""
        self._put(values, self.path, ())

    def fail(self, reason: str) -> ScenarioError:
        """The complaint about the option itself, to be raised."""
        return ScenarioError(f"{self.option}: {reason}")

    def _put(self, target: Any, path: tuple[str, ...], above: tuple[str, ...]) -> None:
        key = path[0]
        if isinstance(target, list) and all(isinstance(item, dict) for item in target):
            self._put_in_array(target, path, above)
        elif not isinstance(target, dict):
            raise self.fail(f"{'.'.join(above)} is a value, not a table")
        elif len(path) == 1:
            target[key] = self.value
        else:
            self._put(target.setdefault(key, {}), path[1:], (*above, key))

    def _put_in_array(self, tables: list[dict[str, Any]], path: tuple[str, ...], above: tuple[str, ...]) -> None:
        if not path[0].isdecimal():
            for table in tables:
                self._put(table, path, above)
        elif len(path) == 1:
            raise self.fail(f"names a whole [[{'.'.join(above)}]]; name a key of it")
        elif int(path[0][:9]) >= len(tables):
            raise self.fail(f"there are {len(tables)} [[{'.'.join(above)}]], counted from 0")
        else:
            self._put(tables[int(path[0])], path[1:], (*above, path[0]))


def parse_override(text: str) -> Override:
    """Read ``key=value``, both as TOML has them; raise ``ScenarioError``."""
    option = f"--set {named(text)}"
    if KeyLines(text).too_deep is not None:
        raise ScenarioError(f"{option}: is nested too deeply")
    key, equals, value = text.partition("=")
    if not equals or "\n" in text:
        raise ScenarioError(f"{option}: must be KEY=VALUE on one line, such as link.latency_cycles=100")
    path = _only_path(f"{key} = 0", option, "the key is no TOML key")
    try:
        # What is behind the value on its line is a comment at most.
        return Override(option, path, tomllib.loads(f"value = {value}")["value"])
    except tomllib.TOMLDecodeError:
        raise ScenarioError(f'{option}: the value is not TOML; text needs quotes, as in pod.bifurcation="x4"') from None
    except ValueError:
        raise ScenarioError(f"{option}: the value has too many digits") from None


def _only_path(text: str, option: str, reason: str) -> tuple[str, ...]:
    try:
        values = tomllib.loads(text)
    except ValueError:
        raise ScenarioError(f"{option}: {reason}") from None
    path = []
    while isinstance(values, dict):
        if len(values) != 1:
            raise ScenarioError(f"{option}: {reason}")
        ((key, values),) = values.items()
        path.append(key)
    return tuple(path)
