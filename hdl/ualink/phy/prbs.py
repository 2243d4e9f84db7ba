"""Pseudo-random bit sequences over a lane: generator and checker, a word a cycle (ITU-T O.150)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, check_integer
from ualink.lib.gf2 import LinearMap

__all__ = ["LOCK_WORDS", "LOSS_WINDOW", "LOSS_WORDS", "PRBS_TAPS", "PRBSChecker", "PRBSGenerator"]

PRBS_TAPS = {7: 6, 9: 5, 15: 14, 23: 18, 31: 28}
"""By order n the other tap k: bit t is bit t - n XOR bit t - k."""

LOCK_WORDS = 16
"""Words in a row, and bits of at least twice the order among them, that have to follow from what came before them."""
LOSS_WINDOW, LOSS_WORDS = 64, 32
"""The lock is lost once so many words of a window are wrong; windows follow each other from the lock on."""


def _steps(order: int, width: int) -> LinearMap:
    """From the last ``order`` bits, the oldest lowest, to the ``width`` bits after them."""

    def following(state: int) -> int:
        bits = state
        for n in range(order, order + width):
            bits |= ((bits >> n - order ^ bits >> n - PRBS_TAPS[order]) & 1) << n
        return bits >> order

    return LinearMap.of(following, order, width)


def _check(order: int, width: int) -> None:
    if order not in PRBS_TAPS:
        raise ConfigError(f"order is {order!r}; it must be one of {', '.join(map(str, PRBS_TAPS))}")
    check_integer("width", width, 1)


def _newest(state, word, order: int):
    """The last ``order`` bits once ``word`` has followed on ``state``."""
    return Cat(state, word)[-order:]


def _ones(bits):
    """How many of ``bits`` are 1: a balanced tree, whose sums are no wider than they have to be."""
    if len(bits) == 1:
        return bits
    half = len(bits) // 2
    return (_ones(bits[:half]) + _ones(bits[half:]))[: len(bits).bit_length()]


class PRBSGenerator(wiring.Component):
    """``width`` bits a cycle of PRBS-``order``, not inverted. After reset the ``order`` bits before were ones.

    Parameters
    ----------
    order : 7, 9, 15, 23 or 31.
    width : bits of a word.

    Members
    -------
    enable : low: ``data`` stays.
    inject : flips bit 0 of the next word and of no other: one bit error on the wire.
    data : ``width`` bit, bit 0 first, from a register.
    """

    def __init__(self, order: int, width: int):
        _check(order, width)
        self._order, self._width = order, width
        super().__init__({"enable": In(1, init=1), "inject": In(1), "data": Out(width)})

    def elaborate(self, platform):
        m = Module()
        state = Signal(self._order, init=-1)
        word = Signal(self._width)
        m.d.comb += word.eq(_steps(self._order, self._width).emit(m, state))
        with m.If(self.enable):
            m.d.sync += [state.eq(_newest(state, word, self._order)), self.data.eq(word ^ self.inject)]
        return m


class PRBSChecker(wiring.Component):
    """Compares what is received with PRBS-``order`` and counts bits that differ.

    Not locked, each word is compared with what the bits before it say (self-synchronising). After enough right words in
    a row that are not all zero the checker is locked: it goes on by itself, so that each wrong bit counts once. It is
    lost once 32 words of a window of 64 are wrong; a phase that slips makes half of all bits wrong.

    A word is compared in its own cycle; one cycle after it ``locked``, ``lost`` and ``zeros`` show it, three cycles
    after it ``errors`` and ``words``, both at once. What counts is whether the checker was locked when the word came:
    the word that loses the lock counts, none after it does.

    Parameters
    ----------
    order : 7, 9, 15, 23 or 31.
    width : bits of a word.
    counter_bits : width of ``errors``, which saturates.

    Members
    -------
    data : ``width`` bit, bit 0 first.
    enable : there is a word in this cycle.
    clear : clears ``errors``, ``lost`` and ``words``; neither the word of this cycle nor one before it is counted.
    locked : 0 after reset.
    lost : sticky: the lock was lost.
    zeros : the last ``order`` bits were zeros, which no sequence has, and a line that is cut may.
    errors : bits that differed.
    words : words compared while locked, 48 bit, not saturating.
    """

    def __init__(self, order: int, width: int, *, counter_bits: int = 32):
        _check(order, width)
        self._order, self._width, self._counter_bits = order, width, counter_bits
        super().__init__(
            {
                "data": In(width),
                "enable": In(1, init=1),
                "clear": In(1),
                "locked": Out(1),
                "lost": Out(1),
                "zeros": Out(1),
                "errors": Out(counter_bits),
                "words": Out(48),
            }
        )

    def elaborate(self, platform):
        m = Module()
        order, width = self._order, self._width
        lock_words = max(LOCK_WORDS, -(-2 * order // width))
        state = Signal(order)
        expected, difference = Signal(width), Signal(width)
        wrong = Signal()
        good = Signal(range(lock_words + 1))
        seen, bad = Signal(range(LOSS_WINDOW)), Signal(range(LOSS_WORDS + 1))
        m.d.comb += [
            expected.eq(_steps(order, width).emit(m, state)),
            difference.eq(self.data ^ expected),
            wrong.eq(difference.any()),
        ]
        received = Signal(order, init=-1)
        m.d.comb += self.zeros.eq(~received.any())
        with m.If(self.enable):
            m.d.sync += [
                state.eq(_newest(state, Mux(self.locked, expected, self.data), order)),
                received.eq(_newest(received, self.data, order)),
            ]
            with m.If(~self.locked):
                m.d.sync += good.eq(good + 1)
                with m.If(wrong | ~state.any()):
                    m.d.sync += good.eq(0)
                with m.Elif(good == lock_words - 1):
                    m.d.sync += [self.locked.eq(1), good.eq(0), seen.eq(0), bad.eq(0)]
            with m.Else():
                m.d.sync += [seen.eq(seen + 1), bad.eq(bad + wrong)]
                with m.If(wrong & (bad == LOSS_WORDS - 1)):
                    m.d.sync += [self.locked.eq(0), self.lost.eq(1)]
                with m.Elif(seen == LOSS_WINDOW - 1):
                    m.d.sync += [seen.eq(0), bad.eq(0)]

        # Counting bits and adding them up are a cycle each: together they would be the longest path of a lane.
        different, count = Signal(width), Signal(range(width + 1))
        compared, counted = Signal(), Signal()
        total = Signal(self._counter_bits + 1)
        m.d.comb += total.eq(self.errors + count)
        m.d.sync += [
            different.eq(difference),
            compared.eq(self.enable & self.locked),
            count.eq(_ones(different)),
            counted.eq(compared),
        ]
        with m.If(counted):
            m.d.sync += [
                self.errors.eq(Mux(total[-1], (1 << self._counter_bits) - 1, total)),
                self.words.eq(self.words + 1),
            ]
        with m.If(self.clear):
            m.d.sync += [compared.eq(0), counted.eq(0), self.errors.eq(0), self.words.eq(0), self.lost.eq(0)]
        return m
