"""Sizes of a station by name: tables that lie below those of a description."""

import tomllib
from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any

from ualink.checks import ConfigError
from ualink.wording import shown

from .table import Table

__all__ = ["PRESET_NAMES", "over_preset", "preset_tables"]

PRESET_NAMES = ("full", "balanced", "compact")
"""From the largest to the smallest; ``full`` changes nothing."""


@cache
def _read() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("ualink").joinpath("presets.toml").read_text())


def preset_tables(name: str) -> dict[str, Any]:
    """The tables of preset ``name``, to be changed at will; raises ``ConfigError`` if there is none of that name."""
    if name not in PRESET_NAMES:
        raise ConfigError(f"preset is {shown(name)}; it must be one of {', '.join(PRESET_NAMES)}")
    return deepcopy(_read()[name])


def over_preset(root: Table, name: str) -> Table:
    """``root`` with the values of preset ``name`` for all keys of its tables that it does not say.

    ``dl.cycles_per_beat`` is taken where the physical layer lies outside: links of a pod, and the reconciliation
    sublayer, bring a beat in every cycle.
    """
    values = dict(root.values)
    below = preset_tables(name)
    if "accelerators" in _table(values, "pod") or _table(values, "phy").get("reconciliation") is True:
        below.get("dl", {}).pop("cycles_per_beat", None)
    for table, preset in below.items():
        above = values.get(table, {})
        values[table] = preset | above if isinstance(above, dict) else above
    return Table(values, root.where, root.places)


def _table(values: dict[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name)
    return found if isinstance(found, dict) else {}
