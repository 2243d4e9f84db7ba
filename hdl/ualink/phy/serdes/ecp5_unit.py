"""Which dual-channel unit of a Lattice ECP5 has which lanes."""

from dataclasses import dataclass

from ualink.checks import ConfigError, is_integer

__all__ = ["Ecp5Unit", "checked_unit"]


@dataclass(frozen=True)
class Ecp5Unit:
    """A dual-channel unit in use: its number, 0 or 1, and the channels that are lanes, in order: (0,), (1,), (0, 1) or
    (1, 0). ConfigError: there is no such unit or channel."""

    unit: int
    channels: tuple[int, ...]

    def __post_init__(self):
        checked_unit(self.unit)
        if tuple(self.channels) not in ((0,), (1,), (0, 1), (1, 0)):
            raise ConfigError(f"channels is {self.channels!r}; a unit has channels 0 and 1")


def checked_unit(unit: int) -> int:
    if not is_integer(unit, 0, 1):
        raise ConfigError(f"unit is {unit!r}; a device has dual-channel units 0 and 1")
    return unit
