"""Values that change slowly from one clock domain to another, whatever the two clocks do."""

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["ClockMeter", "ValueCrossing"]


class ValueCrossing(wiring.Component):
    """Shows in domain ``to`` a value of domain ``source``, as it was some cycles ago, never parts of two values.

    A copy stands still in the source until the other side has taken it. Without clock in the source the last one
    stays.

    Members
    -------
    value : ``shape``, source domain; shown : ``shape``, domain ``to``, reset value 0.
    """

    def __init__(self, shape: ShapeLike, *, source: str, to: str = "sync"):
        self._shape, self._source, self._to = shape, source, to
        super().__init__({"value": In(shape), "shown": Out(shape)})

    def elaborate(self, platform):
        m = Module()
        copy = Signal(self._shape, reset_less=True)
        # The source turns `sent` with each copy, and makes the next when `taken` has followed. Neither is ever reset,
        # as that of one side alone would end the turns.
        sent, sent_here = Signal(reset_less=True), Signal(reset_less=True)
        taken, taken_there = Signal(reset_less=True), Signal(reset_less=True)
        m.submodules.sent = FFSynchronizer(sent, sent_here, o_domain=self._to)
        m.submodules.taken = FFSynchronizer(taken, taken_there, o_domain=self._source)
        with m.If(sent == taken_there):
            m.d[self._source] += [copy.eq(self.value), sent.eq(~sent)]
        with m.If(sent_here != taken):
            m.d[self._to] += [self.shown.eq(copy), taken.eq(sent_here)]
        return m


class ClockMeter(wiring.Component):
    """Frequency of the clock of ``domain``, in kHz, measured over 16 ms of ``sync``.

    Members
    -------
    khz : 20 bit, sync domain, in steps of 1; 0 while the clock stands still.
    """

    def __init__(self, domain: str, clock_hz: int):
        self._domain, self._window = domain, clock_hz // 1000
        super().__init__({"khz": Out(20)})

    def elaborate(self, platform):
        m = Module()
        # Sixteen cycles of the clock to a turn of `slow`, which sync can follow.
        count = Signal(4, reset_less=True)
        slow = Signal()
        before = Signal()
        m.d[self._domain] += count.eq(count + 1)
        m.submodules.slow = FFSynchronizer(count[-1], slow)
        passed = Signal(range(16 * self._window))
        turns = Signal(20)
        m.d.sync += [before.eq(slow), passed.eq(passed + 1)]
        with m.If(slow & ~before):
            m.d.sync += turns.eq(turns + 1)
        # Sixteen milliseconds, so that turns are kHz.
        with m.If(passed == 16 * self._window - 1):
            m.d.sync += [passed.eq(0), turns.eq(slow & ~before), self.khz.eq(turns)]
        return m
