"""What a build may choose of a traffic engine."""

from dataclasses import dataclass, field

from ualink.config import ConfigError, UPLIConfig

__all__ = ["TrafficConfig"]


@dataclass(frozen=True, kw_only=True)
class TrafficConfig:
    """A traffic engine.

    ``tags`` Requests may be outstanding; ``memory_lines`` lines of 64 bytes answer for it; both are powers of two.
    ``ports`` is the bifurcation of the station, ``upli`` what the two agents announce.
    """

    tags: int = 64
    memory_lines: int = 256
    ports: int = 1
    upli: UPLIConfig = field(default_factory=UPLIConfig)

    def __post_init__(self):
        for key, low, high in (("tags", 2, 2048), ("memory_lines", 4, 1 << 20)):
            value = getattr(self, key)
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not low <= value <= high
                or value.bit_count() != 1
            ):
                raise ConfigError(f"traffic.{key} is {value!r}; it must be a power of two from {low} to {high}")
        if isinstance(self.ports, bool) or self.ports not in (1, 2, 4):
            raise ConfigError(f"traffic.ports is {self.ports!r}; it must be 1, 2 or 4")
