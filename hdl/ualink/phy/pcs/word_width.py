"""Words of twice the width at half the clock, for a serialiser whose words come too fast for the rest of a lane."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError

__all__ = ["WordNarrower", "WordWidener"]


def _check(width: int) -> None:
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise ConfigError(f"width is {width!r}; it must be a whole number of 1 or more")


class WordWidener(wiring.Component):
    """Two words of ``width`` bits in domain "line" become one of twice the width in "rx", the earlier word lowest.

    "rx" runs at half the clock of "line" and is divided from it, so that both clocks' edges keep their distance; which
    of the two edges of "line" an edge of "rx" meets does not matter. Paths between the two are to be timed as within
    "line". Latency: two to four cycles of "line", then a register of "rx".

    Parameters
    ----------
    width : bits of a word in "line".

    Members
    -------
    narrow : [line] ``width`` bit, a word in every cycle.
    wide : [rx] 2 · ``width`` bit, a word in every cycle.
    """

    def __init__(self, width: int):
        _check(width)
        self._width = width
        super().__init__({"narrow": In(width), "wide": Out(2 * width)})

    def elaborate(self, platform):
        m = Module()
        first, pair = Signal(self._width), Signal(2 * self._width)
        second_half = Signal()
        m.d.line += second_half.eq(~second_half)
        with m.If(second_half):
            m.d.line += pair.eq(Cat(first, self.narrow))
        with m.Else():
            m.d.line += first.eq(self.narrow)
        m.d.rx += self.wide.eq(pair)
        return m


class WordNarrower(wiring.Component):
    """One word of 2 · ``width`` bits in domain "tx" becomes two of ``width`` bits in "line", the lower half first.

    "tx" runs at half the clock of "line" and is divided from it, as for ``WordWidener``.

    Parameters
    ----------
    width : bits of a word in "line".

    Members
    -------
    wide : [tx] 2 · ``width`` bit, a word in every cycle, from a register.
    narrow : [line] ``width`` bit, a word in every cycle.
    """

    def __init__(self, width: int):
        _check(width)
        self._width = width
        super().__init__({"wide": In(2 * width), "narrow": Out(width)})

    def elaborate(self, platform):
        m = Module()
        later = Signal(self._width)
        second_half = Signal()
        m.d.line += second_half.eq(~second_half)
        with m.If(second_half):
            m.d.line += self.narrow.eq(later)
        with m.Else():
            m.d.line += Cat(self.narrow, later).eq(self.wide)
        return m
