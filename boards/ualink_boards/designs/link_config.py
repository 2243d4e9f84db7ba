"""How large the link of a board is."""

from ualink.config import Credits, PhyConfig
from ualink.presets import station_preset
from ualink.traffic.config import TrafficConfig

__all__ = ["LINK_PHY", "LINK_STATION", "LINK_TRAFFIC"]

_COMPACT = station_preset("compact")
_BUFFERS = Credits(pool=12)
LINK_STATION = _COMPACT.replace(upli=_COMPACT.upli.replace(orig_data=_BUFFERS, rd_rsp=_BUFFERS, prompt_data=False))
"""A station of one port for slow clocks; its data beats may take two cycles more, for 570 LUTs less in each UPLI agent,
and have buffers enough to come one a cycle all the same."""

LINK_PHY = PhyConfig(rate=200, marker_interval=1024)
"""Markers four times as often as the standard has them, so that a link at a hundredth of the rate comes up in
milliseconds."""

LINK_TRAFFIC = TrafficConfig(tags=16, memory_lines=256, upli=LINK_STATION.upli)
