"""How large the link of a board is."""

from fractions import Fraction

from ualink.config import Credits, PhyConfig
from ualink.phy.blocks import BLOCK_BITS
from ualink.presets import station_preset
from ualink.traffic.config import TrafficConfig

from ..board import Board

__all__ = ["LINK_PHY", "LINK_STATION", "LINK_TRAFFIC", "link_phy"]

_COMPACT = station_preset("compact")
_BUFFERS = Credits(pool=12)
LINK_STATION = _COMPACT.replace(upli=_COMPACT.upli.replace(orig_data=_BUFFERS, rd_rsp=_BUFFERS, prompt_data=False))
"""A station of one port; its data beats may take two cycles more, for 1,200 LUTs less in each UPLI agent, and have
buffers enough to come one a cycle all the same."""

LINK_PHY = PhyConfig(rate=200, marker_interval=1024)
"""Markers four times as often as the standard has them, so that a link at a hundredth of the rate comes up in
milliseconds."""

_SPARE = Fraction(5, 4)
"""Blocks that the station can carry by those of its lanes: what clocks differ, and what FIFOs between them need."""


def link_phy(phy: PhyConfig, board: Board, lanes: int) -> PhyConfig:
    """``phy`` with the least blocks per word that carry so many lanes of ``board`` with a quarter to spare; else eight.

    >>> from ..boards import find_board
    >>> link_phy(LINK_PHY, find_board("versa_ecp5_5g"), 1).blocks_per_word
    2
    """
    needed = _SPARE * lanes * board.line_rate / BLOCK_BITS
    enough = [blocks for blocks in (1, 2, 4) if blocks % lanes == 0 and blocks * board.station_hz >= needed]
    return phy.replace(blocks_per_word=min(enough, default=8))


LINK_TRAFFIC = TrafficConfig(tags=16, memory_lines=256, upli=LINK_STATION.upli)
