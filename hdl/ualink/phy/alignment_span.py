"""Which of the received blocks belong to an AM flit (UALink_200 §7.2.4.6)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.block_mask import at_or_after, first_of, index_of
from ualink.phy.blocks import BLOCKS_PER_BEAT, BLOCKS_PER_FLIT

__all__ = ["AlignmentSpan"]


class AlignmentSpan(wiring.Component):
    """An AM flit begins with the first block of its kind and is 80 blocks long, whatever comes behind that block:
    what the PCS has deleted of its idles is not known.

    Parameters
    ----------
    blocks_per_word : 1, 2, 4 or 8.

    Members
    -------
    valid, alignment : the word, as of ``BlockClassifier``.
    begins : combinational: bit n: an AM flit begins with block n of this word; at most one bit is set.
    inside : combinational: bit n: block n belongs to an AM flit.
    """

    def __init__(self, blocks_per_word: int = BLOCKS_PER_BEAT):
        self._blocks = blocks_per_word
        super().__init__(
            {
                "valid": In(1),
                "alignment": In(blocks_per_word),
                "begins": Out(blocks_per_word),
                "inside": Out(blocks_per_word),
            }
        )

    def elaborate(self, platform):
        m = Module()
        left = Signal(range(BLOCKS_PER_FLIT + 1))
        over = Cat(left <= n for n in range(self._blocks))
        candidates = self.alignment & over
        m.d.comb += [
            self.begins.eq(first_of(candidates)),
            self.inside.eq(~over | at_or_after(self.begins)),
        ]
        with m.If(self.valid):
            m.d.sync += left.eq(Mux(left > self._blocks, left - self._blocks, 0))
            with m.If(self.begins.any()):
                m.d.sync += left.eq(BLOCKS_PER_FLIT - self._blocks + index_of(self.begins))
        return m
