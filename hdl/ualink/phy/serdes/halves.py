"""Between words and half words at twice the clock, whose phase to each other is not known but does not change."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, is_integer

__all__ = ["JoinHalves", "SplitWords"]


class SplitWords(wiring.Component):
    """Words of a slow domain become half words of a domain whose clock is exactly twice as fast, low half first.

    Two words stand in registers, each for two slow cycles; the fast domain finds once where it is, after reset, and
    then reads each word between two and three of its own cycles after it was written. So whatever the phase of the two
    clocks is, no register is read within a fast cycle of a change. Latency: 5 to 7 fast cycles.

    Parameters
    ----------
    width : bits of a word, even.
    slow, fast : the domains.

    Members
    -------
    word : ``width`` bits, slow domain; half : ``width / 2`` bits, fast domain.
    """

    def __init__(self, width: int, *, slow: str, fast: str):
        _check(width)
        self._width, self._slow, self._fast = width, slow, fast
        super().__init__({"word": In(width), "half": Out(width // 2)})

    def elaborate(self, platform):
        m = Module()
        words = [Signal(self._width, name=f"word_{n}", reset_less=True) for n in range(2)]
        odd = Signal()
        m.d[self._slow] += odd.eq(~odd)
        with m.If(odd):
            m.d[self._slow] += words[1].eq(self.word)
        with m.Else():
            m.d[self._slow] += words[0].eq(self.word)
        # `odd` rises as word 0 is written, and is seen to rise when word 0 has just been read.
        number = _place(m, odd, self._fast, bits=2, then=2)
        # A look-up table from register to register: at 250 MHz an ECP5 has the time for one and its wires.
        read = Signal(self._width, reset_less=True)
        with m.If(number[0]):
            m.d[self._fast] += read.eq(Mux(number[1], words[1], words[0]))
        m.d[self._fast] += self.half.eq(Mux(number[0], read[self._width // 2 :], read[: self._width // 2]))
        return m


class JoinHalves(wiring.Component):
    """Half words of a fast domain become words of a domain whose clock is exactly half as fast; reverse of
    ``SplitWords``, with the same care. Which two halves make a word is fixed at reset. Latency: 2 to 4 slow cycles.

    Parameters
    ----------
    width : bits of a word, even.
    slow, fast : the domains.

    Members
    -------
    half : ``width / 2`` bits, fast domain; word : ``width`` bits, slow domain.
    """

    def __init__(self, width: int, *, slow: str, fast: str):
        _check(width)
        self._width, self._slow, self._fast = width, slow, fast
        super().__init__({"half": In(width // 2), "word": Out(width)})

    def elaborate(self, platform):
        m = Module()
        words = [Signal(self._width, name=f"word_{n}", reset_less=True) for n in range(2)]
        low = Signal(self._width // 2, reset_less=True)
        number = Signal(2)
        # Enables of forty registers come from a register, as in a cycle of 250 MHz no logic stands before such a wire.
        completes = [Signal(name=f"completes_{n}") for n in range(2)]
        written = Signal()
        m.d[self._fast] += [number.eq(number + 1), written.eq(number[1])]
        with m.If(~number[0]):
            m.d[self._fast] += low.eq(self.half)
        for n, word in enumerate(words):
            m.d[self._fast] += completes[n].eq(number == 2 * n)
            with m.If(completes[n]):
                m.d[self._fast] += word.eq(Cat(low, self.half))
        # `written` rises a fast cycle after word 0 was written, and is seen to rise when word 0 is to be read.
        turn = _place(m, written, self._slow, bits=1, then=1)
        m.d[self._slow] += self.word.eq(Array(words)[turn])
        return m


def _place(m: Module, flag, domain: str, *, bits: int, then: int):
    """A counter of ``bits`` in ``domain``, set once: it is ``then`` in the cycle after ``flag`` is seen to rise."""
    seen, before, found = (Signal(name=name) for name in ("seen", "before", "found"))
    number = Signal(bits)
    m.submodules.flag = FFSynchronizer(flag, seen, o_domain=domain)
    m.d[domain] += [before.eq(seen), number.eq(number + 1)]
    with m.If(seen & ~before & ~found):
        m.d[domain] += [number.eq(then), found.eq(1)]
    return number


def _check(width: int) -> None:
    if not is_integer(width, 2) or width % 2:
        raise ConfigError(f"width is {width!r}; it must be an even number of 2 or more")
