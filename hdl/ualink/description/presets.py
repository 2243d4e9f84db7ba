"""Sizes of a station by name: tables that lie below those of a description."""

import tomllib
from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any

from ualink.checks import ConfigError
from ualink.wording import shown

from .table import Table

__all__ = ["PRESET_NAMES", "beats_in_every_cycle", "over_preset", "preset_tables"]

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


def beats_in_every_cycle(root: Table) -> str:
    """What in ``root`` brings a data link a beat in every cycle, with its verb: the links of a pod or the
    reconciliation sublayer. Empty where the physical layer lies outside, which may bring fewer."""
    if "accelerators" in _table(root.values, "pod"):
        return "links of a pod have"
    return "a reconciliation sublayer has" if _table(root.values, "phy").get("reconciliation") is True else ""


def over_preset(root: Table, name: str) -> Table:
    """``root`` with the values of preset ``name`` for all keys of its tables that it does not say.

    ``dl.cycles_per_beat`` is not taken where beats come in every cycle.
    """
    values = dict(root.values)
    below = preset_tables(name)
    if beats_in_every_cycle(root):
        below.get("dl", {}).pop("cycles_per_beat", None)
    for table, preset in below.items():
        above = values.get(table, {})
        values[table] = preset | above if isinstance(above, dict) else above
    return Table(values, root.where, root.places)


def _table(values: dict[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name)
    return found if isinstance(found, dict) else {}
