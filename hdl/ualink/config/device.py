"""Configuration of what firmware sees as one device: a controller, a switch."""

from dataclasses import dataclass, field
from typing import ClassVar

from ualink.checks import ConfigError, check_integer
from ualink.config.base import Config, check_choice
from ualink.config.station import StationConfig

__all__ = ["BUSES", "ControllerConfig", "SwitchConfig", "SwitchDeviceConfig"]

BUSES = ("axi4-lite", "apb", "native")
"""Ways to the registers of a controller or a switch."""


@dataclass(frozen=True, kw_only=True)
class _DeviceConfig(Config):
    """``bus`` and ``clock_hz`` of what firmware sees as one device; ``KEY`` is where complaints say that they stand."""

    KEY: ClassVar[str]

    bus: str = "axi4-lite"
    clock_hz: int = 1_562_500_000

    def __post_init__(self):
        check_choice(self.KEY, "bus", self.bus, BUSES)
        check_integer(f"{self.KEY}.clock_hz", self.clock_hz, 1, (1 << 32) - 1)


@dataclass(frozen=True, kw_only=True)
class ControllerConfig(_DeviceConfig):
    """A station with its registers on ``bus``: "axi4-lite", "apb" or "native", the bus of ``ualink.csr``.

    ``clock_hz`` is what firmware is told of the clock of the registers, which is that of the links.
    """

    KEY = "controller"

    station: StationConfig = field(default_factory=StationConfig)


@dataclass(frozen=True, kw_only=True)
class SwitchConfig(Config):
    """A switch: ``stations`` stations alike, and route tables of ``route_entries`` entries each (UALink_200 §10.7).

    The ingress ports are in rows of ``ports_per_row`` at the most. With one row the core is a flat crossbar; each of
    several rows has one of its own, and they take turns at the egress ports, a cycle later.

    With ``injection`` it can inject items and errors, if it is allowed to (UALink_200 §10.9.1); without, nothing of
    that is built, and its data links inject nothing.
    """

    stations: int = 4
    route_entries: int = 1024
    ports_per_row: int = 32
    injection: bool = False
    station: StationConfig = field(default_factory=StationConfig)

    @property
    def station_of_switch(self) -> StationConfig:
        """The stations, as those of a switch."""
        if self.station.tl.device == "either":
            return self.station
        return self.station.replace(tl=self.station.tl.replace(device="switch"))

    def __post_init__(self):
        check_integer("switch.stations", self.stations, 2, 256)
        check_integer("switch.ports_per_row", self.ports_per_row, 1, 1024)
        check_choice("switch", "injection", self.injection, (False, True))
        if self.station.separate_upli_clock:
            raise ConfigError("switch.station.separate_upli_clock is True; a switch has one clock, at full rate")
        check_integer("switch.route_entries", self.route_entries, 4, 1024)
        if self.route_entries < self.stations * 4:
            raise ConfigError(
                f"switch.route_entries is {self.route_entries}; it must cover the {self.stations * 4} ports that the "
                f"stations have when each is four x1"
            )


@dataclass(frozen=True, kw_only=True)
class SwitchDeviceConfig(_DeviceConfig):
    """A switch with its registers on ``bus``; both keys are as of ``ControllerConfig``."""

    KEY = "switch"

    switch: SwitchConfig = field(default_factory=SwitchConfig)
