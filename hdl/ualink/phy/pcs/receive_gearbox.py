"""From words of a lane to blocks of 66 bits."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCK_BITS
from ualink.phy.pcs.bit_shift import COARSE, FINE, look_up, shifted
from ualink.phy.pcs.interface import check_framing

__all__ = ["ReceiveGearbox"]


class ReceiveGearbox(wiring.Component):
    """Gathers words into blocks: 66 bits each, in order, none left out but on ``slip``. Domain "rx".

    A block ends somewhere in the newest word; how far from its end only depends on the number of words and slips so
    far. The shift by that number is three registered steps, as in ``TransmitGearbox``. The last bit of a block arrives
    five cycles before ``valid``.

    Parameters
    ----------
    width : 10, 16, 20, 32, 40 or 64.

    Members
    -------
    data : ``width`` bit, bit 0 received first, a word in every cycle.
    slip : leave out one bit, so that blocks begin one bit later. Blocks that are on their way are dropped: the
        next ``valid`` is of a block that begins after the slip. The caller ignores a block given in a cycle with
        ``slip``.
    block, valid : a block in this cycle.
    """

    def __init__(self, width: int):
        check_framing(width=width)
        self._width = width
        super().__init__({"data": In(width), "slip": In(1), "block": Out(BLOCK_BITS), "valid": Out(1)})

    def elaborate(self, platform):
        m = Module()
        width = self._width
        history = Signal(BLOCK_BITS + width - 1)
        word = Signal(width)
        # Bits that are missing to fill a block, less one: once a word has completed a block, the place in ``history``
        # where that block begins. A slip adds one, so 66 is the highest.
        missing = Signal(range(BLOCK_BITS + 1), init=BLOCK_BITS - 1)
        after = [(n - width) % BLOCK_BITS if n < BLOCK_BITS else BLOCK_BITS - width for n in range(BLOCK_BITS + 1)]
        place_0, place_1, place_2 = (Signal.like(missing) for _ in range(3))
        valid_0, valid_1, valid_2 = (Signal() for _ in range(3))
        coarse = Signal(BLOCK_BITS + COARSE - 1)
        middle = Signal(BLOCK_BITS + FINE - 1)
        m.d.rx += [
            word.eq(self.data),
            history.eq(Cat(history[width:], word)),
            missing.eq(
                Mux(
                    self.slip,
                    look_up([n + 1 for n in after], missing, len(missing)),
                    look_up(after, missing, len(missing)),
                )
            ),
            place_0.eq(missing),
            valid_0.eq(look_up([n < width for n in range(BLOCK_BITS + 1)], missing, 1) & ~self.slip),
            coarse.eq(shifted(history, place_0[4:], COARSE, len(coarse))),
            place_1.eq(place_0),
            valid_1.eq(valid_0 & ~self.slip),
            middle.eq(shifted(coarse, place_1[2:4], FINE, len(middle))),
            place_2.eq(place_1),
            valid_2.eq(valid_1 & ~self.slip),
            self.block.eq(shifted(middle, place_2[:2], 1, BLOCK_BITS)),
            self.valid.eq(valid_2 & ~self.slip),
        ]
        return m
