"""How large the link of a board is."""

from dataclasses import dataclass
from fractions import Fraction

from ualink.config import Credits, PhyConfig, StationConfig
from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_BEAT
from ualink.presets import station_preset
from ualink.traffic.config import TrafficConfig

from ..board import Board

__all__ = ["LINK_PHY", "LINK_STATION", "LinkConfig", "lanes_used", "link_config"]

_COMPACT = station_preset("compact")
_BUFFERS = Credits(pool=12)
LINK_STATION = _COMPACT.replace(upli=_COMPACT.upli.replace(orig_data=_BUFFERS, rd_rsp=_BUFFERS, prompt_data=False))
"""A station of one port; its data beats may take two cycles more, for 570 LUTs less in each UPLI agent, and have
buffers enough to come one a cycle all the same."""

LINK_PHY = PhyConfig(rate=200, marker_interval=1024)
"""Markers four times as often as the standard has them, so that a link at a hundredth of the rate comes up in
milliseconds."""

_SPARE = Fraction(21, 20)
"""Blocks that the station can carry by those of its lanes: what clocks differ, and what FIFOs between them need."""


@dataclass(frozen=True)
class LinkConfig:
    """Station, traffic engine and physical layer of a link over ``lanes`` lanes of a board."""

    lanes: int
    station: StationConfig
    traffic: TrafficConfig
    phy: PhyConfig


def lanes_used(board: Board, stations: int = 1) -> int:
    """One, two or four lanes for each of so many stations on the board, which must have as many lanes as stations."""
    most = board.lanes // stations
    if board.station_lanes is not None:
        most = min(most, board.station_lanes)
    return max(lanes for lanes in (1, 2, 4) if lanes <= most)


def link_config(board: Board, phy: PhyConfig = LINK_PHY, lanes: int | None = None) -> LinkConfig:
    """The link of ``board`` over ``lanes``, or all that a station may have, with the framing of ``phy``.

    A word has the least blocks that carry the lanes with a twentieth to spare. Where that is fewer than eight, a beat
    takes several cycles: the data link works in as many steps, and the station is built ``lean``.

    >>> from ..boards import find_board
    >>> versa = link_config(find_board("versa_ecp5_5g"))
    >>> versa.phy.blocks_per_word, versa.station.dl.cycles_per_beat, versa.station.tl.lean
    (2, 4, True)
    """
    lanes = lanes or lanes_used(board)
    needed = _SPARE * lanes * board.line_rate / BLOCK_BITS
    enough = [blocks for blocks in (1, 2, 4) if blocks % lanes == 0 and blocks * board.station_hz >= needed]
    blocks = min(enough, default=BLOCKS_PER_BEAT)
    lean = blocks < BLOCKS_PER_BEAT
    station = LINK_STATION.replace(
        upli=LINK_STATION.upli.replace(lean=lean),
        tl=LINK_STATION.tl.replace(lean=lean),
        dl=LINK_STATION.dl.replace(cycles_per_beat=min(4, BLOCKS_PER_BEAT // blocks)),
    )
    traffic = TrafficConfig(tags=16, memory_lines=256, upli=station.upli)
    return LinkConfig(lanes, station, traffic, phy.replace(blocks_per_word=blocks))
