"""From blocks of 66 bits to words of a lane."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCK_BITS
from ualink.phy.pcs.bit_shift import COARSE, FINE, look_up, shifted
from ualink.phy.pcs.interface import check_framing

__all__ = ["TransmitGearbox"]


class TransmitGearbox(wiring.Component):
    """Cuts blocks into words: the bits of all blocks taken, in order, ``width`` a cycle, without a gap. Domain "tx".

    A word is ``width`` bits out of this block and the next one, from an offset on that goes up by ``width`` a cycle.
    Only the offset is in a loop; the shift by it is three registered steps: by multiples of 16, of 4, of 1. A block
    taken in cycle t becomes the next one in t + 1; its first bit leaves at least six cycles after that.

    Parameters
    ----------
    width : 10, 16, 20, 32, 40 or 64.

    Members
    -------
    block : 66 bit, bit 0 sent first; must hold a block in every cycle.
    take : the block is used up at the end of this cycle.
    data : ``width`` bit, bit 0 sent first.
    """

    def __init__(self, width: int):
        check_framing(width=width)
        self._width = width
        super().__init__({"block": In(BLOCK_BITS), "take": Out(1), "data": Out(width)})

    def elaborate(self, platform):
        m = Module()
        width = self._width
        this, following = Signal(BLOCK_BITS), Signal(BLOCK_BITS)
        offset = Signal(range(BLOCK_BITS))
        advance = Signal()
        # The offset after this one, and whether that one ends a block, are tables: a look-up is shorter than a sum.
        after = [(n + width) % BLOCK_BITS for n in range(BLOCK_BITS)]
        m.d.tx += [
            offset.eq(look_up(after, offset, len(offset))),
            advance.eq(look_up([n + width >= BLOCK_BITS for n in after], offset, 1)),
        ]
        m.d.comb += self.take.eq(advance)
        with m.If(advance):
            m.d.tx += [this.eq(following), following.eq(self.block)]

        coarse = Signal(width + COARSE - 1)
        middle = Signal(width + FINE - 1)
        offset_1, offset_2 = Signal.like(offset), Signal.like(offset)
        m.d.tx += [
            coarse.eq(shifted(Cat(this, following), offset[4:], COARSE, len(coarse))),
            offset_1.eq(offset),
            middle.eq(shifted(coarse, offset_1[2:4], FINE, len(middle))),
            offset_2.eq(offset_1),
            self.data.eq(shifted(middle, offset_2[:2], 1, width)),
        ]
        return m
