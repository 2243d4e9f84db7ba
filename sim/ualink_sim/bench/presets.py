"""Rows that say what a station of each named size carries, and what it costs."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ualink.presets import PRESET_NAMES, station_preset
from ualink.station import Station

from .rows import Bench, Options, Row
from .synthesis import SIZES, in_library, on_ecp5
from .tl_efficiency import LEAST_FLITS, check_steady
from .tl_pair import SETTLE, WIRE, Pair, count
from .tl_patterns import BEAT, READ, WRITE_FULL, Kind, Pattern

__all__ = ["benches"]

_KINDS = {"write_full": WRITE_FULL, "read": READ}
_BEATS = (1, 4)
_SETTLE = 4 * SETTLE
"""Cycles until the queue of what is to be answered is full, where Responses go but a little slower than Requests."""


def benches(options: Options) -> list[Bench]:
    """What each carries, then what each costs on an ECP5 and in the library of ``options``."""
    carried = [_carried(preset, name, beats) for preset in PRESET_NAMES for name in _KINDS for beats in _BEATS]
    return [*carried, *(bench for preset in PRESET_NAMES for bench in _costs(preset, options))]


def _carried(preset: str, name: str, beats: int) -> Bench:
    row = Row(
        name=f"preset.{preset}.carried.{name}.{BEAT * beats}",
        unit="fraction",
        limit=1.0,
        how=f"bytes of data of the bytes of a flit in every cycle, Requests and Responses both ways, compressed where "
        f"the size has Address Caches; two TransactionLayers in Verilator, {WIRE} cycles of wire each way, a window of "
        f"{LEAST_FLITS:,} flits",
    )

    def measure() -> Mapping[str, float]:
        pattern = Pattern(kinds=(Kind(_KINDS[name], beats),))
        found = check_steady(count(pattern, LEAST_FLITS, pair=Pair(station_preset(preset).tl), settle=_SETTLE))
        return {row.name: min(end["data"] / (2 * end["cycles"]) for end in found)}

    return Bench((row,), measure)


def _costs(preset: str, options: Options) -> list[Bench]:
    what, make = f"station of one port, {preset}", partial(Station, station_preset(preset))
    found = [
        *on_ecp5(f"preset.{preset}.ecp5", SIZES, what, make),
        in_library(f"preset.{preset}.{{}}", what, make, options),
    ]
    return [replace(bench, slow=True) for bench in found]
