"""From the words of a narrow reconciliation sublayer to the beats of a data link."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_BEAT
from ualink.phy.interface import RX_BEAT_LAYOUT, rx_word_layout

__all__ = ["BeatJoiner"]


class BeatJoiner(wiring.Component):
    """Gathers 8 / ``blocks_per_word`` words of a slot to a beat of 64 bytes, the first bytes lowest, which is there in
    the cycle after its last word. A word with ``first`` begins a beat, whatever words were gathered for another one; a
    word with ``first`` and ``last`` is a beat by itself, whose ``data`` has no meaning.

    Words of that kind come when no slot is in hand. So from a beat to the next one there are 8 / ``blocks_per_word``
    cycles or more, as many as words.

    Parameters
    ----------
    blocks_per_word : 1, 2 or 4.

    Members
    -------
    word : stream of ``rx_word_layout(blocks_per_word)``; ``port`` is not looked at.
    beat : stream of ``RX_BEAT_LAYOUT``, always ready; ``port`` is 0.
    """

    def __init__(self, blocks_per_word: int):
        self._words = BLOCKS_PER_BEAT // blocks_per_word
        super().__init__(
            {
                "word": In(stream.Signature(rx_word_layout(blocks_per_word), always_ready=True)),
                "beat": Out(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word, beat = self.word, self.beat
        gathered = Signal(len(beat.p.data), reset_less=True)
        following, place = Signal(range(self._words)), Signal(range(self._words))
        opened, opens, whole = Signal(), Signal(), Signal()
        m.d.comb += [
            place.eq(Mux(word.p.first, 0, following)),
            opens.eq(word.p.first | opened),
            whole.eq(word.valid & ((place == self._words - 1) | (word.p.first & word.p.last))),
            beat.p.data.eq(gathered),
        ]
        m.d.sync += beat.valid.eq(whole)
        with m.If(word.valid):
            m.d.sync += [
                gathered.eq(Cat(gathered, word.p.data)[len(word.p.data) :]),
                following.eq(place + 1),
                opened.eq(opens & ~whole),
                beat.p.first.eq(opens),
                beat.p.last.eq(word.p.last),
                beat.p.status.eq(word.p.status),
            ]
        return m
