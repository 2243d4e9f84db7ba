"""Which blocks of a beat belong to a marker."""

from amaranth.hdl import Module, Mux, Signal

from ualink.phy.blocks import BLOCKS_PER_BEAT

__all__ = ["HALF_BEAT", "MarkerSpan"]

HALF_BEAT = BLOCKS_PER_BEAT // 2
"""Markers are 16, 20, 32 or 64 blocks long: beats are in a marker whole, by their first half, or not at all."""


class MarkerSpan:
    """Counts the first ``marker_blocks`` blocks from a beat with ``marker`` on; not a component, part of several.

    Attributes
    ----------
    low, high : the first and the second four blocks of this beat belong to a marker.
    beat : index of this beat within the marker.
    """

    def __init__(self, m: Module, marker, step, marker_blocks: int):
        halves = marker_blocks // HALF_BEAT
        beats = -(-halves // 2)
        left = Signal(range(halves + 1))
        next_beat = Signal(range(beats + 1))
        total = Signal.like(left)
        self.low, self.high = Signal(), Signal()
        self.beat = Signal.like(next_beat)
        m.d.comb += [
            total.eq(Mux(marker, halves, left)),
            self.beat.eq(Mux(marker, 0, next_beat)),
            self.low.eq(total != 0),
            self.high.eq(total > 1),
        ]
        with m.If(step):
            m.d.sync += left.eq(Mux(self.high, total - 2, 0))
            with m.If(self.low):
                m.d.sync += next_beat.eq(self.beat + 1)
