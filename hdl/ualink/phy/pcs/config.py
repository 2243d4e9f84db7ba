"""What a PCS is built for: lanes, markers, and what it absorbs."""

from dataclasses import dataclass

from ualink.phy.pcs.interface import check_framing

__all__ = ["PCSConfig"]


@dataclass(frozen=True, kw_only=True)
class PCSConfig:
    """Framing of a PCS of boards, the same for both directions; ``ConfigError`` where it cannot work.

    Attributes
    ----------
    lanes : 1, 2 or 4; lane l has the domains "tx<l>" and "rx<l>".
    width : bits of a lane's word: 10, 16, 20, 32, 40 or 64.
    marker_blocks : 16, 20, 32 or 64: of a Start flit, those in whose place markers stand.
    marker_interval : flit slots from marker to marker, as the reconciliation sublayer sends them.
    max_skew : blocks between the earliest and the latest lane that are absorbed.
    ber_window : blocks of a window of the bit error rate monitor.
    blocks_per_word : 1, 2, 4 or 8, a multiple of ``lanes``: blocks a cycle of "sync".
    """

    lanes: int
    width: int
    marker_blocks: int
    marker_interval: int
    max_skew: int = 32
    ber_window: int = 1 << 16
    blocks_per_word: int = 8

    def __post_init__(self):
        check_framing(
            lanes=self.lanes,
            width=self.width,
            marker_blocks=self.marker_blocks,
            marker_interval=self.marker_interval,
            blocks_per_word=self.blocks_per_word,
        )
