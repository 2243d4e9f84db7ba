"""A station with as little in it as its parameters let."""

from ualink.config import AddressCacheConfig, Credits, StationConfig, TLConfig, UPLIConfig

__all__ = ["FEW_BUFFERS"]

FEW = Credits(pool=4)
FEW_BUFFERS = StationConfig(
    upli=UPLIConfig(req=FEW, orig_data=FEW, rd_rsp=FEW, wr_rsp=FEW),
    tl=TLConfig(
        req_cmd=FEW,
        rsp_cmd=FEW,
        req_data=FEW,
        rsp_data=FEW,
        tx_cache=AddressCacheConfig(rows=0),
        rx_cache=AddressCacheConfig(rows=0),
        authentication=False,
    ),
)
"""A station that is small enough to be simulated whole in Amaranth's own simulator."""
