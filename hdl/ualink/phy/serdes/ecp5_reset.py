"""Reset and lock sequences of an ECP5 dual-channel unit.

Order and times were not compared with Lattice's usage guide of the SERDES (FPGA-TN-02206), nor tried on hardware.
"""

from dataclasses import dataclass, fields

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, is_integer

from .interface import RETRIES_BITS

__all__ = ["Ecp5ReceiveReset", "Ecp5ResetTimes", "Ecp5TransmitReset"]


@dataclass(frozen=True, kw_only=True)
class Ecp5ResetTimes:
    """Times of the sequences in cycles of the sync domain, each 1 to 2**24 - 1; ConfigError otherwise.

    ``hold``: length of a reset. ``pll``: within this time after its reset the transmit PLL locks. ``cdr``: within this
    time after its reset a receiver's clock recovery locks. ``steady``: a lock or a signal counts when it has lasted
    this long. ``glitch``: a lock or a signal is lost when it has been away this long.
    """

    hold: int
    pll: int
    cdr: int
    steady: int
    glitch: int

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if not is_integer(value, 1, (1 << 24) - 1):
                raise ConfigError(f"{field.name} is {value!r}; it must be 1 to {(1 << 24) - 1} cycles")

    @classmethod
    def at(cls, clock_hz: float) -> "Ecp5ResetTimes":
        """10 us, 20 ms, 10 ms, 100 us and 1 us with a clock of ``clock_hz``."""
        cycles = {"hold": 10e-6, "pll": 20e-3, "cdr": 10e-3, "steady": 100e-6, "glitch": 1e-6}
        return cls(**{name: max(1, round(seconds * clock_hz)) for name, seconds in cycles.items()})


class Ecp5TransmitReset(wiring.Component):
    """Brings up what the channels of a unit share: reference clock and transmit PLL.

    Resets the PLL and waits until it has been locked for ``times.steady``. Begins anew when that has not come after
    ``times.pll``, as without reference clock, and when the lock has been away for ``times.glitch``. Sync domain.

    Members
    -------
    reset : 1 holds everything in reset.
    loss_of_lock : from the unit (``D_FFS_PLOL``), of no clock.
    unit_reset : to ``D_FFC_MACRO_RST``, ``D_FFC_DUAL_RST`` and ``D_FFC_TRST``; reset value 1.
    ready : the PLL is locked; reset value 0.
    retries : how often the sequence began anew; stays at 255.
    """

    def __init__(self, times: Ecp5ResetTimes):
        self.times = times
        super().__init__(
            {
                "reset": In(1),
                "loss_of_lock": In(1),
                "unit_reset": Out(1, init=1),
                "ready": Out(1),
                "retries": Out(RETRIES_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lost = Signal(init=1)
        m.submodules.loss_of_lock = FFSynchronizer(self.loss_of_lock, lost, init=1)
        steps = _Steps(m, self.times, self.retries)
        with m.FSM() as fsm:
            with m.State("RESET"):
                with m.If(self.reset):
                    steps.stay()
                with m.Elif(steps.passed(self.times.hold)):
                    steps.to("LOCK")
            with m.State("LOCK"):
                steps.count_while(~lost)
                with m.If(self.reset):
                    steps.to("RESET")
                with m.Elif(steps.lasted(self.times.steady)):
                    steps.to("READY")
                with m.Elif(steps.passed(self.times.pll)):
                    steps.again("RESET")
            with m.State("READY"):
                steps.count_while(lost)
                with m.If(self.reset):
                    steps.to("RESET")
                with m.Elif(steps.lasted(self.times.glitch)):
                    steps.again("RESET")
            # Registers: on these wires a glitch would be a reset.
            m.d.sync += [self.unit_reset.eq(fsm.ongoing("RESET")), self.ready.eq(fsm.ongoing("READY"))]
        return m


class Ecp5ReceiveReset(wiring.Component):
    """Brings up the receiver of one channel: signal, clock recovery, words.

    Waits, as long as it takes, until there has been a signal for ``times.steady``; then lets the clock recovery run
    until it has been locked for ``times.steady``. Begins anew when the lock has not come after ``times.cdr``, and when
    lock or signal have been away for ``times.glitch``. Sync domain.

    Members
    -------
    enable : the transmit PLL is locked, whose reference clock the receiver starts from.
    reset : 1 holds the receiver in reset.
    ignore_signal : there is a signal whatever ``loss_of_signal`` says, as in loopback inside the unit.
    loss_of_signal, loss_of_lock : from the unit (``CHx_FFS_RLOS``, ``CHx_FFS_RLOL``), of no clock.
    serdes_reset : to ``CHx_FFC_RRST``; words_reset : to ``CHx_FFC_LANE_RX_RST``; reset values 1.
    signal : there is a signal; locked : the clock recovery is locked; both synchronous, as they come.
    ready : words are received; reset value 0.
    retries : how often the sequence began anew for want of lock; stays at 255.
    """

    def __init__(self, times: Ecp5ResetTimes):
        self.times = times
        super().__init__(
            {
                "enable": In(1),
                "reset": In(1),
                "ignore_signal": In(1),
                "loss_of_signal": In(1),
                "loss_of_lock": In(1),
                "serdes_reset": Out(1, init=1),
                "words_reset": Out(1, init=1),
                "signal": Out(1),
                "locked": Out(1),
                "ready": Out(1),
                "retries": Out(RETRIES_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        silent, lost = Signal(init=1), Signal(init=1)
        m.submodules.loss_of_signal = FFSynchronizer(self.loss_of_signal, silent, init=1)
        m.submodules.loss_of_lock = FFSynchronizer(self.loss_of_lock, lost, init=1)
        off = Signal()
        m.d.comb += [
            self.signal.eq(~silent | self.ignore_signal),
            self.locked.eq(~lost),
            off.eq(self.reset | ~self.enable),
        ]
        steps = _Steps(m, self.times, self.retries)
        with m.FSM() as fsm:
            with m.State("RESET"):
                with m.If(off):
                    steps.stay()
                with m.Elif(steps.passed(self.times.hold)):
                    steps.to("SIGNAL")
            with m.State("SIGNAL"):
                steps.stay()
                steps.count_while(self.signal)
                with m.If(off):
                    steps.to("RESET")
                with m.Elif(steps.lasted(self.times.steady)):
                    steps.to("LOCK")
            with m.State("LOCK"):
                steps.count_while(self.locked & self.signal)
                with m.If(off):
                    steps.to("RESET")
                with m.Elif(steps.lasted(self.times.steady)):
                    steps.to("READY")
                with m.Elif(steps.passed(self.times.cdr)):
                    steps.again("RESET")
            with m.State("READY"):
                steps.count_while(~self.locked | ~self.signal)
                with m.If(off):
                    steps.to("RESET")
                with m.Elif(steps.lasted(self.times.glitch)):
                    steps.again("RESET")
            m.d.sync += [
                self.serdes_reset.eq(fsm.ongoing("RESET") | fsm.ongoing("SIGNAL")),
                self.words_reset.eq(~fsm.ongoing("READY")),
                self.ready.eq(fsm.ongoing("READY")),
            ]
        return m


class _Steps:
    """What the states of both sequences count: cycles in the state, and cycles in a row of some condition."""

    def __init__(self, m: Module, times: Ecp5ResetTimes, retries: Signal):
        longest = max(getattr(times, field.name) for field in fields(times))
        self._m, self._retries = m, retries
        self._passed = Signal(range(longest + 1), name="passed")
        self._lasted = Signal(range(longest + 1), name="lasted")
        m.d.sync += [self._passed.eq(self._passed + 1), self._lasted.eq(0)]

    def passed(self, cycles: int):
        """The state has lasted for ``cycles``."""
        return self._passed == cycles

    def lasted(self, cycles: int):
        """The condition of ``count_while`` has been true for ``cycles`` in a row."""
        return self._lasted == cycles

    def count_while(self, condition):
        """Count the cycles of this state in which ``condition`` is true, from 0 on when it is not."""
        with self._m.If(condition):
            self._m.d.sync += self._lasted.eq(self._lasted + 1)

    def stay(self):
        """The time of this state has not begun."""
        self._m.d.sync += self._passed.eq(0)

    def to(self, state: str):
        """Go on with ``state``."""
        self._m.d.sync += [self._passed.eq(0), self._lasted.eq(0)]
        self._m.next = state

    def again(self, state: str):
        """Begin anew with ``state``, and count that."""
        with self._m.If(~self._retries.all()):
            self._m.d.sync += self._retries.eq(self._retries + 1)
        self.to(state)
