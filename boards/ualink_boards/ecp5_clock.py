"""The clock of the sync domain on an ECP5, from the oscillator of the board."""

from amaranth.hdl import ClockSignal, Const, Instance, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.lib.wiring import In

from ualink.config import ConfigError

__all__ = ["Ecp5Clock"]

_OSCILLATOR_HZ = range(400_000_000, 800_000_001)
_PHASE_DETECTOR_HZ = 3_125_000


class Ecp5Clock(wiring.Component):
    """Drives the domain ``sync`` of its parent with a PLL (EHXPLLL); it is in reset until the PLL is locked.

    Parameters
    ----------
    input_hz, output_hz : ConfigError when no divisors of the PLL lead from one to the other exactly.

    Members
    -------
    clock : the oscillator.
    reset : 1 resets the domain; of no clock.
    """

    def __init__(self, input_hz: int, output_hz: int):
        self.output_hz = output_hz
        self._divisors = _divisors(input_hz, output_hz)
        super().__init__({"clock": In(1), "reset": In(1)})

    def elaborate(self, platform):
        m = Module()
        input_divisor, feedback_divisor, output_divisor = self._divisors
        made = Signal(name="sync_clock", attrs={"keep": 1})
        locked = Signal()
        m.submodules.pll = Instance(
            "EHXPLLL",
            p_CLKI_DIV=input_divisor,
            p_CLKFB_DIV=feedback_divisor,
            p_CLKOP_DIV=output_divisor,
            p_CLKOP_ENABLE="ENABLED",
            p_CLKOP_CPHASE=output_divisor - 1,
            p_CLKOP_FPHASE=0,
            p_FEEDBK_PATH="CLKOP",
            a_ICP_CURRENT="12",
            a_LPF_RESISTOR="8",
            a_MFG_ENABLE_FILTEROPAMP="1",
            a_MFG_GMCREF_SEL="2",
            i_CLKI=self.clock,
            i_CLKFB=made,
            i_RST=Const(0),
            i_STDBY=Const(0),
            i_PHASESEL0=Const(0),
            i_PHASESEL1=Const(0),
            i_PHASEDIR=Const(1),
            i_PHASESTEP=Const(1),
            i_PHASELOADREG=Const(1),
            i_PLLWAKESYNC=Const(0),
            i_ENCLKOP=Const(0),
            o_CLKOP=made,
            o_LOCK=locked,
        )
        m.d.comb += ClockSignal("sync").eq(made)
        m.submodules.reset = ResetSynchronizer(~locked | self.reset, domain="sync")
        if hasattr(platform, "add_clock_constraint"):
            platform.add_clock_constraint(made, self.output_hz)
        return m


def _divisors(input_hz: int, output_hz: int) -> tuple[int, int, int]:
    """Of input, feedback and output; the feedback is the output."""
    for input_divisor in range(1, 129):
        feedback_divisor, rest = divmod(output_hz * input_divisor, input_hz)
        if rest or not 1 <= feedback_divisor <= 128 or input_hz < input_divisor * _PHASE_DETECTOR_HZ:
            continue
        for output_divisor in range(1, 129):
            if output_hz * output_divisor in _OSCILLATOR_HZ:
                return input_divisor, feedback_divisor, output_divisor
    raise ConfigError(f"output_hz is {output_hz}; the PLL cannot make it of {input_hz} Hz")
