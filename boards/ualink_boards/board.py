"""What a design knows of a board."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ualink.phy.serdes.ecp5_rate import Ecp5Rate
from ualink.phy.serdes.ecp5_unit import Ecp5Unit

__all__ = ["LED_MEANINGS", "Board", "Ecp5Board", "GtyBoard", "Slower"]

LED_MEANINGS = ("alive", "reference", "signal", "words", "locked", "traffic", "error", "loopback")
"""What the LEDs of a board mean, in its order; boards with fewer show the first of them."""


@dataclass(frozen=True, kw_only=True)
class Board(ABC):
    """A board: a name to type, a title to read, and the Amaranth platform.

    ``platform`` makes one; it has the resource ``uart`` 0, and what ``leds`` and ``reset`` name. ``clock`` names its
    oscillator, of ``clock_hz``; designs run at ``sync_hz``, those with a station at ``station_hz``. ``leds`` gives the
    ports of the LEDs of ``LED_MEANINGS`` for a platform; ``reset`` names the button that resets; ``high`` and ``low``
    name what is on and off all the time. A station has ``station_lanes`` of the lanes at most; None: all of them. Words
    of a lane have ``width`` bits. ``programmer`` names the board to openFPGALoader.
    """

    name: str
    title: str
    platform: Callable[[], Any]
    clock: str
    clock_hz: int
    sync_hz: int
    station_hz: int
    leds: Callable[[Any], list]
    reset: str
    width: int
    programmer: str
    high: tuple[str, ...] = ()
    low: tuple[str, ...] = ()
    baud: int = 115_200
    station_lanes: int | None = None

    @property
    @abstractmethod
    def lanes(self) -> int:
        """Lanes that a design can use."""

    @property
    @abstractmethod
    def line_rate(self) -> int:
        """Bit/s of a lane."""

    def of_design(self, name: str) -> "Board":
        """The board as the design called ``name`` uses it."""
        return self


@dataclass(frozen=True, kw_only=True)
class Slower:
    """A ``design`` that is too large to be placed for the rate of a board's lanes, and the clocks that it has instead:
    ``rate`` of the lanes, ``station_hz``."""

    design: str
    rate: Ecp5Rate
    station_hz: int


@dataclass(frozen=True, kw_only=True)
class Ecp5Board(Board):
    """A board with an ECP5.

    ``units`` are those with lanes. ``reference`` is where their reference clock comes from: the pins of unit 0 or 1, or
    ``None``: the oscillator of the board, through logic. ``slower`` are designs with other clocks.
    """

    units: tuple[Ecp5Unit, ...]
    rate: Ecp5Rate
    reference: int | None
    slower: tuple[Slower, ...] = ()

    @property
    def lanes(self) -> int:
        """Lanes of all units."""
        return sum(len(unit.channels) for unit in self.units)

    @property
    def line_rate(self) -> int:
        """Bit/s of a lane."""
        return self.rate.line_rate

    def of_design(self, name: str) -> Board:
        """The board as the design called ``name`` uses it."""
        for those in self.slower:
            if those.design == name:
                return replace(self, rate=those.rate, station_hz=those.station_hz)
        return self


@dataclass(frozen=True, kw_only=True)
class GtyBoard(Board):
    """A board with a Xilinx UltraScale+ device, on whose resources ``qsfp`` and ``qsfp_reference`` a GTY quad is.

    Its channels at ``sites`` (GTYE4_CHANNEL_X1Y<site>) are lanes of ``lane_hz`` bit/s with a reference clock of
    ``reference_hz``. ``constraints`` is a file of the folder ``constraints``, without its suffix.
    """

    sites: tuple[int, ...]
    lane_hz: int
    reference_hz: int
    constraints: str

    @property
    def lanes(self) -> int:
        """Lanes of the quad."""
        return len(self.sites)

    @property
    def line_rate(self) -> int:
        """Bit/s of a lane."""
        return self.lane_hz
