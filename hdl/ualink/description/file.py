"""A description: TOML text with overrides, read into a ``Table`` that knows where every value stands."""

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .error import ScenarioError
from .lines import DEEPEST, KeyLines
from .overrides import parse_override
from .table import Places, Table

__all__ = ["load_description", "parse_description", "read_text"]

BYTE_ORDER_MARK = "\ufeff"


def load_description(path: str | Path, overrides: Sequence[str] = ()) -> Table:
    """The whole of the file at ``path``, with ``overrides`` (``key=value``) laid over it; raises ``ScenarioError``."""
    return parse_description(read_text(path), path, overrides)


def read_text(path: str | Path) -> str:
    """The UTF-8 text of a description or trace, line ends as they are; raises ``ScenarioError``."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8 text") from None
    if text.startswith(BYTE_ORDER_MARK):
        raise ScenarioError(f"{path}:1: begins with a byte order mark; save it as UTF-8 without one")
    return text


def parse_description(text: str, path: str | Path, overrides: Sequence[str] = ()) -> Table:
    """As ``load_description`` for ``text``; ``path`` is named in complaints."""
    parsed = [parse_override(override) for override in overrides]
    lines = KeyLines(text)
    if lines.too_deep is not None:
        raise ScenarioError(f"{path}:{lines.too_deep}: is nested deeper than {DEEPEST} levels")
    values = _values(text, path)
    places = Places(path, lines)
    for override in parsed:
        override.apply(values)
        places.overridden(override)
    return Table(values, (), places)


def _values(text: str, path: str | Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column \d+\)$", str(error))
        line = int(place[1]) if place else max(1, len(text.rstrip("\n").split("\n")))
        reason = re.sub(r"\s*\(at .*\)$", "", str(error))
        raise ScenarioError(f"{path}:{line}: not TOML: {reason}") from None
    except ValueError:
        # Python converts no decimal number of more digits than this.
        most = sys.get_int_max_str_digits()
        number = re.search(rf"[0-9](?:_?[0-9]){{{most},}}", text)
        line = text.count("\n", 0, number.start()) + 1 if number else 1
        raise ScenarioError(f"{path}:{line}: holds a number of more than {most} digits") from None
