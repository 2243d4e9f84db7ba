"""Stations of sizes that have names: ``full``, ``balanced``, ``compact``."""

from ualink.config import StationConfig
from ualink.description.file import parse_description
from ualink.description.hardware import read_hardware
from ualink.description.presets import PRESET_NAMES

__all__ = ["PRESET_NAMES", "station_preset"]


def station_preset(name: str, *, ports: int = 1) -> StationConfig:
    """The station of preset ``name``, with ``ports`` ports; raises ``ConfigError`` if there is none of that name."""
    return read_hardware(parse_description("", ""), ports=ports, preset=name).station
