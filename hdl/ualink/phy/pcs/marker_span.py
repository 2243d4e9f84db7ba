"""Which blocks of a beat belong to a marker."""

from amaranth.hdl import Module, Mux, Signal

__all__ = ["MarkerSpan", "span_blocks"]


def span_blocks(blocks_per_word: int) -> int:
    """Blocks that are in a marker together or not at all. Markers are 16, 20, 32 or 64 blocks long: a beat of eight is
    in one whole, by its first half, or not at all, and a shorter one whole or not."""
    return min(4, blocks_per_word)


class MarkerSpan:
    """Counts the first ``marker_blocks`` blocks from a beat with ``marker`` on; not a component, part of several.

    Attributes
    ----------
    parts : for each ``span_blocks`` of this beat in turn, one or two: they belong to a marker.
    whole : the last of them do, and so all.
    beat : index of this beat within the marker.
    """

    def __init__(self, m: Module, marker, step, marker_blocks: int, blocks_per_word: int):
        of_marker = marker_blocks // span_blocks(blocks_per_word)
        of_beat = blocks_per_word // span_blocks(blocks_per_word)
        beats = -(-of_marker // of_beat)
        left = Signal(range(of_marker + 1))
        next_beat = Signal(range(beats + 1))
        total = Signal.like(left)
        self.parts = [Signal(name=f"part_{n}") for n in range(of_beat)]
        self.whole = self.parts[-1]
        self.beat = Signal.like(next_beat)
        m.d.comb += [
            total.eq(Mux(marker, of_marker, left)),
            self.beat.eq(Mux(marker, 0, next_beat)),
            *(part.eq(total > n) for n, part in enumerate(self.parts)),
        ]
        with m.If(step):
            m.d.sync += left.eq(Mux(self.whole, total - of_beat, 0))
            with m.If(self.parts[0]):
                m.d.sync += next_beat.eq(self.beat + 1)
