"""Which words may be left out for rate matching (UALink_200 §7.3.5; IEEE 802.3 82.2.3.6, 82.2.3.9)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCK_BITS
from ualink.phy.pcs.rate_words import FlitPosition, blocks_left, check_blocks, is_idle, is_ordered_set

__all__ = ["IdleDeletion"]


class IdleDeletion(wiring.Component):
    """Leaves out Idle, or the second of two equal sequence ordered sets, where there is too much, and nothing else.

    Words go whole, and all blocks of a word that goes are alike. Of a row of equal ordered sets at most every other one
    goes: each that goes follows one that stays. Inside of a data flit nothing goes, whatever its blocks look like.
    Latency 0.

    Parameters
    ----------
    blocks : 1, 4 or 8 blocks a word; a flit may begin at any of them.

    Members
    -------
    word, valid : 66 · ``blocks`` bit, if there is a word in this cycle.
    much : leave out what may be left out.
    delete : this word is left out.
    """

    def __init__(self, *, blocks: int = 1):
        check_blocks(blocks)
        super().__init__({"word": In(BLOCK_BITS * blocks), "valid": In(1), "much": In(1), "delete": Out(1)})
        self.left = blocks_left()

    def elaborate(self, platform):
        m = Module()
        position = FlitPosition(m, self.left, self.word, self.valid)
        before = Signal.like(self.word)
        kept = Signal()
        second = is_ordered_set(self.word) & kept & (before == self.word)
        m.d.comb += self.delete.eq(self.valid & self.much & ~position.inside & (is_idle(self.word) | second))
        with m.If(self.valid):
            m.d.sync += [before.eq(self.word), kept.eq(~self.delete)]
        return m
