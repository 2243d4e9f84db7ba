"""Gathers words into long ones, so that a bench can look seldom."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["WordRecorder"]


class WordRecorder(wiring.Component):
    """Hands out ``words`` words of ``width`` bits at a time, the first in the lowest bits.

    Members
    -------
    word : one every cycle.
    gathered : stays for ``words`` cycles.
    turn : changes when ``gathered`` has.
    """

    def __init__(self, width: int, words: int):
        self._width, self._words = width, words
        super().__init__({"word": In(width), "gathered": Out(width * words), "turn": Out(1)})

    def elaborate(self, platform):
        m = Module()
        place = Signal(range(self._words))
        begun = Signal(self._width * (self._words - 1))
        with m.If(place == self._words - 1):
            m.d.sync += [
                place.eq(0),
                self.gathered.eq(begun),
                self.gathered[-self._width :].eq(self.word),
                self.turn.eq(~self.turn),
            ]
        with m.Else():
            m.d.sync += [place.eq(place + 1), begun.word_select(place, self._width).eq(self.word)]
        return m
