"""Configuration of the reconciliation sublayer."""

from dataclasses import dataclass

from ualink.checks import ConfigError, check_integer
from ualink.config.base import Config, check_choice
from ualink.wording import shown

__all__ = ["MARKERS", "PhyConfig"]

MARKERS = {100: (20, 4096), 200: (16, 4096), 400: (32, 8192), 800: (64, 16384)}
"""Blocks that an alignment marker takes, and flit slots from one to the next, by the rate of the port in Gb/s
(UALink_200 §7.2.4.6, §7.2.7)."""


@dataclass(frozen=True, kw_only=True)
class PhyConfig(Config):
    """Reconciliation sublayer of the ports of a station (UALink_200 §7.2).

    ``rate`` of a port in Gb/s: 100, 200, 400 or 800; ``rates``, where the ports do not all run at that one, has the
    rate of each. ``marker_interval`` is flit slots from one alignment marker to the next, None for the standard's of
    the rate; a smaller one, for boards and simulation, is a multiple of ``idle_interval`` or below it, and the same for
    all rates. ``idle_interval`` is flit slots from one Idle flit for rate matching to the next;
    ``control_flit_blocks`` (P-05) the control blocks in a row that are four control flits to the DL, of which the
    PCS may have deleted some. ``blocks_per_word``, 1, 2, 4 or 8, is how many blocks a cycle go to the PCS and come from
    it: fewer than eight for one port alone, whose lanes are slow.
    """

    rate: int = 200
    rates: tuple[int, ...] = ()
    marker_interval: int | None = None
    idle_interval: int = 1024
    control_flit_blocks: int = 300
    blocks_per_word: int = 8

    @property
    def cycles_per_beat(self) -> int:
        """Cycles from one beat of 64 bytes, of eight blocks, to the next, at the least."""
        return 8 // self.blocks_per_word

    def __post_init__(self):
        check_choice("phy", "blocks_per_word", self.blocks_per_word, (1, 2, 4, 8))
        check_choice("phy", "rate", self.rate, tuple(MARKERS))
        if not isinstance(self.rates, tuple) or len(self.rates) not in (0, 1, 2, 4):
            raise ConfigError(f"phy.rates is {shown(self.rates)}; it must hold none, or those of 1, 2 or 4 ports")
        for port, rate in enumerate(self.rates):
            check_choice("phy", f"rates[{port}]", rate, tuple(MARKERS))
        check_integer("phy.idle_interval", self.idle_interval, 4, 1024)
        check_integer("phy.control_flit_blocks", self.control_flit_blocks, 256, 320)
        if self.control_flit_blocks % 4:
            raise ConfigError(f"phy.control_flit_blocks is {self.control_flit_blocks}; it must be a multiple of 4")
        check_integer("phy.marker_interval", self.marker_slots, 4, MARKERS[self.rate][1])
        if self.marker_slots > self.idle_interval and self.marker_slots % self.idle_interval:
            raise ConfigError(
                f"phy.marker_interval is {self.marker_slots}; it must be a multiple of phy.idle_interval, which is "
                f"{self.idle_interval}, or below it"
            )

    @property
    def marker_blocks(self) -> int:
        """Blocks at the start of an AM flit that were a marker."""
        return MARKERS[self.rate][0]

    @property
    def marker_slots(self) -> int:
        """Flit slots from one marker to the next."""
        return self.slots_at(self.rate)

    def slots_at(self, rate: int) -> int:
        """``marker_slots`` of a port of ``rate`` Gb/s."""
        return MARKERS[rate][1] if self.marker_interval is None else self.marker_interval

    def of_port(self, port: int) -> "PhyConfig":
        """What port ``port`` has by itself, at its rate."""
        return self.replace(rate=self.rates[port], rates=()) if self.rates else self

    @property
    def choosable_rates(self) -> tuple[int, ...]:
        """Rates that software may set a port to: all of ``rates`` if they differ, else none."""
        found = tuple(sorted(set(self.rates)))
        return found if len(found) > 1 else ()

    @property
    def control_interval(self) -> int:
        """Flit slots from one that is always a control flit, marker or Idle, to the next."""
        return min(self.idle_interval, self.marker_slots)
