"""How large the link of a board is."""

from ualink.config import AddressCacheConfig, Credits, DLConfig, PhyConfig, StationConfig, TLConfig, UPLIConfig
from ualink.traffic.config import TrafficConfig

__all__ = ["LINK_PHY", "LINK_STATION", "LINK_TRAFFIC"]

_NO_CACHE = AddressCacheConfig(rows=0)

LINK_STATION = StationConfig(
    upli=UPLIConfig(req=Credits(pool=4), orig_data=Credits(pool=8), rd_rsp=Credits(pool=8), wr_rsp=Credits(pool=4)),
    tl=TLConfig(
        req_cmd=Credits(pool=16),
        rsp_cmd=Credits(pool=16),
        req_data=Credits(pool=16),
        rsp_data=Credits(pool=16),
        cmd_counter_bits=6,
        data_counter_bits=6,
        tx_cache=_NO_CACHE,
        rx_cache=_NO_CACHE,
        authentication=False,
    ),
    dl=DLConfig(replay_depth=16, crc_stages=4, uart_tx_dwords=32, uart_rx_dwords=32, partner_replay_depth=16),
)
"""A station of one port with the smallest buffers that let a flit go with every slot over a cable, and without what
costs much and adds nothing between two boards: Address Caches and authentication."""

LINK_PHY = PhyConfig(rate=200, marker_interval=1024)
"""Markers four times as often as the standard has them, so that a link at a hundredth of the rate comes up in
milliseconds."""

LINK_TRAFFIC = TrafficConfig(tags=16, memory_lines=256, upli=LINK_STATION.upli)
