"""Pseudo-random bit sequences, W bits a cycle: generator and checker (ITU-T O.150; polynomials as in IEEE 802.3)."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError

__all__ = ["ERROR_BITS", "PrbsChecker", "PrbsGenerator", "PrbsPattern"]

ERROR_BITS = 32
_TAPS = ((7, 6), (15, 14), (23, 18), (31, 28))
_HISTORY = 31
_LOCK_WORDS = 32
"""Words without an error before the checker counts."""
_WINDOW = 256
"""The checker is lost when half of the words of such a window have errors."""


class PrbsPattern(enum.Enum, shape=2):
    """Length of the shift register; a bit is the XOR of the two that were sent as many bits before."""

    PRBS7 = 0
    PRBS15 = 1
    PRBS23 = 2
    PRBS31 = 3


def _following(history, pattern, width: int):
    """The next ``width`` bits of ``pattern`` after ``history``, whose bit 0 was sent last; bit 0 is next."""
    sequences = []
    for taps in _TAPS:
        # Each bit as the set of bits of the history whose XOR it is.
        terms = [frozenset({n}) for n in range(_HISTORY)][::-1]
        for _ in range(width):
            terms.append(terms[-taps[0]] ^ terms[-taps[1]])
        sequences.append(Cat(Cat(*(history[n] for n in sorted(term))).xor() for term in terms[_HISTORY:]))
    return Array(sequences)[pattern.as_value()]


def _is_empty(history, pattern):
    """The shift register of ``pattern`` is all zeros, after which only zeros follow."""
    return Array(~history[: taps[0]].any() for taps in _TAPS)[pattern.as_value()]


def _with(history, word):
    """``history`` after ``word`` has been sent."""
    return Cat(word[::-1], history)[:_HISTORY]


class PrbsGenerator(wiring.Component):
    """Sends a sequence.

    Parameters
    ----------
    width : bits of a word, 1 or more.

    Members
    -------
    pattern : ``PrbsPattern``; a change takes effect at once.
    flip : bit 0 of the next word is inverted.
    word : ``width`` bits, bit 0 sent first; in every cycle, from a register.
    """

    def __init__(self, width: int):
        self.width = _checked(width)
        super().__init__({"pattern": In(PrbsPattern), "flip": In(1), "word": Out(width)})

    def elaborate(self, platform):
        m = Module()
        history = Signal(_HISTORY, init=(1 << _HISTORY) - 1)
        word = _following(history, self.pattern, self.width)
        m.d.sync += [history.eq(_with(history, word)), self.word.eq(word ^ self.flip)]
        # A change of pattern can lead there.
        with m.If(_is_empty(history, self.pattern)):
            m.d.sync += history[0].eq(1)
        return m


class PrbsChecker(wiring.Component):
    """Follows a sequence and counts the bits that are not as expected.

    Takes the bits of its shift register from the line until 32 words in a row were as expected, at any phase of words
    to sequence; from then on the shift register runs by itself, so that each wrong bit counts once. Lost, and begun
    anew, when half of 256 words have errors: the line has slipped. Latency of ``errors`` and ``locked``: 2 cycles.

    Parameters
    ----------
    width : bits of a word, 1 or more.

    Members
    -------
    pattern : ``PrbsPattern``.
    word : ``width`` bits, bit 0 received first, a word in every cycle.
    clear : the counters start at 0.
    locked : words are compared.
    errors : 32 bit: wrong bits since ``clear``; stays at its largest value.
    lost : pulse: the sequence was lost.
    """

    def __init__(self, width: int):
        self.width = _checked(width)
        super().__init__(
            {
                "pattern": In(PrbsPattern),
                "word": In(width),
                "clear": In(1),
                "locked": Out(1),
                "errors": Out(ERROR_BITS),
                "lost": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        history = Signal(_HISTORY)
        expected = _following(history, self.pattern, self.width)
        wrong = Signal(self.width)
        empty = Signal()
        free = Signal()
        m.d.sync += [
            wrong.eq(self.word ^ expected),
            empty.eq(_is_empty(history, self.pattern)),
            history.eq(_with(history, Mux(free, expected, self.word))),
        ]
        bad = wrong.any() | empty
        count = Signal(range(_WINDOW))
        bad_words = Signal(range(_WINDOW))
        with m.If(~free):
            m.d.sync += count.eq(count + 1)
            with m.If(bad):
                m.d.sync += count.eq(0)
            with m.Elif(count == _LOCK_WORDS - 1):
                m.d.sync += [free.eq(1), count.eq(0), bad_words.eq(0)]
        with m.Else():
            m.d.sync += [count.eq(count + 1), bad_words.eq(bad_words + bad)]
            with m.If(count.all()):
                m.d.sync += bad_words.eq(0)
            with m.If(bad_words == _WINDOW // 2):
                m.d.sync += [free.eq(0), count.eq(0)]
        m.d.sync += [self.lost.eq(free & (bad_words == _WINDOW // 2)), self.locked.eq(free)]

        # The word that was compared first is in `wrong` one cycle after `free` rises.
        counted = Signal(range(self.width + 1))
        total = Signal(ERROR_BITS + 1)
        m.d.sync += counted.eq(Mux(free, sum(wrong), 0))
        m.d.comb += [total.eq(self.errors + counted)]
        m.d.sync += self.errors.eq(Mux(total[-1], (1 << ERROR_BITS) - 1, total))
        with m.If(self.clear):
            m.d.sync += self.errors.eq(0)
        return m


def _checked(width: int) -> int:
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise ConfigError(f"width is {width!r}; it must be a whole number of 1 or more")
    return width
