"""From the beats of a data link to the words of a narrow reconciliation sublayer."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_BEAT
from ualink.phy.interface import TX_BEAT_LAYOUT, tx_word_layout

__all__ = ["BeatSplitter"]


class BeatSplitter(wiring.Component):
    """Gives a beat of 64 bytes as 8 / ``blocks_per_word`` words, the first bytes first. A beat taken in cycle t is the
    word of cycle t + 1; the next beat is taken with the last word of this one, so that words follow each other without
    a pause. From a beat taken to the next one there are 8 / ``blocks_per_word`` cycles or more.

    Parameters
    ----------
    blocks_per_word : 1, 2 or 4.

    Members
    -------
    beat : stream of ``TX_BEAT_LAYOUT``.
    word : stream of ``tx_word_layout(blocks_per_word)``; ``port`` is 0.
    """

    def __init__(self, blocks_per_word: int):
        self._words = BLOCKS_PER_BEAT // blocks_per_word
        super().__init__(
            {
                "beat": In(stream.Signature(TX_BEAT_LAYOUT)),
                "word": Out(stream.Signature(tx_word_layout(blocks_per_word))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat, word = self.beat, self.word
        held = Signal(TX_BEAT_LAYOUT, reset_less=True)
        place = Signal(range(self._words))
        first, last = place == 0, place == self._words - 1
        m.d.comb += [
            beat.ready.eq(~word.valid | (word.ready & last)),
            word.p.data.eq(held.data),
            word.p.first.eq(held.first & first),
            word.p.last.eq(held.last & last),
            word.p.kind.eq(held.kind),
        ]
        with m.If(beat.ready):
            m.d.sync += [held.eq(beat.p), word.valid.eq(beat.valid), place.eq(0)]
        with m.Elif(word.ready):
            m.d.sync += [held.data.eq(held.data >> len(word.p.data)), place.eq(place + 1)]
        return m
