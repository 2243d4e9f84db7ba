"""The elastic buffer of rate matching (UALink_200 §7.3.5)."""

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib import wiring
from amaranth.lib.fifo import AsyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, is_integer
from ualink.phy.blocks import BLOCK_BITS
from ualink.phy.pcs.idle_deletion import IdleDeletion
from ualink.phy.pcs.idle_insertion import IdleInsertion
from ualink.phy.pcs.rate_words import check_blocks

__all__ = ["RateMatcher"]

_BAND = 3
"""Words that the buffer may hold more or less than half before anything is done: what clocks jitter, not drift."""


class RateMatcher(wiring.Component):
    """Brings blocks from the clock of domain "write" to that of "read", which takes a word in every cycle.

    The buffer is kept half full: a word of Idle, or the second of two equal sequence ordered sets, is left out where it
    fills up, and a word of Idle is put in where it runs dry, by the rules of ``IdleDeletion`` and ``IdleInsertion``. No
    block of a data flit is lost, doubled or parted from the flit, unless ``full`` or ``empty`` tell so. With the
    reconciliation sublayer's Idle flit in every 1,024 slots a drift of 200 ppm asks for 17 of its 80 blocks; a depth of
    64 words of one block bears 28, one of 16 words of eight blocks 37. A word stays for half the depth and a cycle,
    more or less by five words while clocks drift.

    A PCS whose interface to the reconciliation sublayer has cycles without a beat needs none of this.

    Parameters
    ----------
    blocks : 1: words are single blocks. 4: words are four blocks, of which one 257-bit block is made. 8: words are
        beats of the 64B/66B interface.
    depth : words, a power of two, 16 or more.

    Members
    -------
    input, input_valid : [write] 66 · ``blocks`` bit, the first block lowest, if there is a word in this cycle.
    output : [read] a word in every cycle.
    full : [write] sticky: a word was lost.
    empty : [read] sticky: /E/ was sent since no word was there.
    """

    def __init__(self, *, blocks: int = 1, depth: int = 64):
        check_blocks(blocks)
        if not is_integer(depth, 16) or depth & (depth - 1):
            raise ConfigError(f"depth is {depth!r}; it must be a power of two, 16 or more")
        self._blocks, self._depth = blocks, depth
        width = BLOCK_BITS * blocks
        super().__init__(
            {
                "input": In(width),
                "input_valid": In(1),
                "output": Out(width),
                "full": Out(1),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        deletion, insertion = IdleDeletion(blocks=self._blocks), IdleInsertion(blocks=self._blocks)
        m.submodules.deletion = DomainRenamer("write")(deletion)
        m.submodules.insertion = DomainRenamer("read")(insertion)
        m.submodules.fifo = fifo = AsyncFIFOBuffered(
            width=len(self.input), depth=self._depth + 1, w_domain="write", r_domain="read", exact_depth=True
        )
        half = self._depth // 2
        m.d.comb += [
            deletion.word.eq(self.input),
            deletion.valid.eq(self.input_valid),
            deletion.much.eq(fifo.w_level > half + _BAND),
            fifo.w_data.eq(self.input),
            fifo.w_en.eq(self.input_valid & ~deletion.delete),
            insertion.word.eq(fifo.r_data),
            insertion.available.eq(fifo.r_rdy),
            insertion.start.eq(fifo.r_level >= half),
            insertion.few.eq(fifo.r_level < half - _BAND),
            fifo.r_en.eq(insertion.take),
            self.output.eq(insertion.output),
        ]
        m.d.write += self.full.eq(self.full | (fifo.w_en & ~fifo.w_rdy))
        m.d.read += self.empty.eq(self.empty | insertion.empty)
        return m
