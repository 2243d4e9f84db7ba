"""How large the link of a board is."""

from ualink.config import PhyConfig
from ualink.presets import station_preset
from ualink.traffic.config import TrafficConfig

__all__ = ["LINK_PHY", "LINK_STATION", "LINK_TRAFFIC"]

LINK_STATION = station_preset("compact")
"""A station of one port."""

LINK_PHY = PhyConfig(rate=200, marker_interval=1024)
"""Markers four times as often as the standard has them, so that a link at a hundredth of the rate comes up in
milliseconds."""

LINK_TRAFFIC = TrafficConfig(tags=16, memory_lines=256, upli=LINK_STATION.upli)
