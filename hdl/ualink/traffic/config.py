"""What a build may choose of a traffic engine."""

from dataclasses import dataclass

from ualink.checks import ConfigError, check_choice, is_integer
from ualink.config import Credits, UPLIConfig

__all__ = ["TrafficConfig"]

UPLI = UPLIConfig(orig_data=Credits(pool=16), rd_rsp=Credits(pool=16))
"""Enough for a beat in every cycle, and one row of LUT RAMs."""


@dataclass(frozen=True, kw_only=True)
class TrafficConfig:
    """A traffic engine.

    ``tags`` Requests may be outstanding; ``memory_lines`` lines of 64 bytes answer for it; both are powers of two.
    ``ports`` is the bifurcation of the station, ``upli`` what the two agents announce.
    """

    tags: int = 64
    memory_lines: int = 256
    ports: int = 1
    upli: UPLIConfig = UPLI

    def __post_init__(self):
        for key, low, high in (("tags", 2, 2048), ("memory_lines", 4, 1 << 20)):
            value = getattr(self, key)
            if not is_integer(value, low, high) or value.bit_count() != 1:
                raise ConfigError(f"traffic.{key} is {value!r}; it must be a power of two from {low} to {high}")
        check_choice("traffic.ports", self.ports, (1, 2, 4))
