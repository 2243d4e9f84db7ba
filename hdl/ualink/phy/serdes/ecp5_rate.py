"""Line rate and reference clock of an ECP5 dual-channel unit.

Ranges and codes were not compared with Lattice's usage guide of the SERDES (FPGA-TN-02206).
"""

from dataclasses import dataclass
from fractions import Fraction

from ualink.config import ConfigError

__all__ = ["Ecp5Rate"]

_MULTIPLIERS = {25: "0b100", 20: "0b000", 16: "0b010", 10: "0b001", 8: "0b011"}
_DIVIDERS = {1: "0b000", 2: "0b010", 4: "0b100"}
_VCO_HZ = range(2_500_000_000, 5_000_000_001)
_REFERENCE_HZ = range(50_000_000, 625_000_001)
# The 25-fold multiplier is for 100 MHz (2.5 GHz) and 200 MHz (5 GHz).
_TIMES_25_HZ = (100_000_000, 200_000_000)


@dataclass(frozen=True, kw_only=True)
class Ecp5Rate:
    """How the PLL of a dual-channel unit, and the receivers' clock recovery, make a line rate of a reference clock.

    Parameters
    ----------
    line_rate : bit/s of a lane, 625 Mb/s to 5 Gb/s; above 3.2 Gb/s an LFE5UM5G is needed.
    reference_hz : frequency of the reference clock, 50 to 625 MHz.

    ConfigError when no multiplier (8, 10, 16, 20, 25) and divider (1, 2, 4) lead from one to the other with the
    oscillator between 2.5 and 5 GHz.
    """

    line_rate: int
    reference_hz: int

    def __post_init__(self):
        for name in ("line_rate", "reference_hz"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise ConfigError(f"{name} is {value!r}; it must be a whole number")
        if self.reference_hz not in _REFERENCE_HZ or not self._ways():
            possible = sorted(
                {
                    Fraction(self.line_rate * divider, multiplier)
                    for divider in _DIVIDERS
                    for multiplier in _MULTIPLIERS
                    if _possible(Fraction(self.line_rate * divider, multiplier), multiplier, divider, self.line_rate)
                }
            )
            shown = ", ".join(f"{float(value) / 1e6:g}" for value in possible) or "no"
            raise ConfigError(
                f"reference_hz is {self.reference_hz}; for {self.line_rate / 1e9:g} Gb/s the dual-channel unit takes "
                f"{shown} MHz"
            )

    def _ways(self) -> list[tuple[int, int]]:
        """Multipliers with their dividers, the fastest oscillator last."""
        return sorted(
            (multiplier, divider)
            for multiplier in _MULTIPLIERS
            for divider in _DIVIDERS
            if self.reference_hz * multiplier == self.line_rate * divider
            and _possible(Fraction(self.reference_hz), multiplier, divider, self.line_rate)
        )

    @property
    def multiplier(self) -> int:
        """Of the reference clock to the oscillator."""
        return self._ways()[-1][0]

    @property
    def divider(self) -> int:
        """Of the oscillator to the line rate."""
        return self._ways()[-1][1]

    @property
    def multiplier_code(self) -> str:
        """Value of the parameter ``D_REFCK_MODE``."""
        return _MULTIPLIERS[self.multiplier]

    @property
    def divider_code(self) -> str:
        """Value of the parameters ``D_TX_VCO_CK_DIV`` and ``CHx_RX_DCO_CK_DIV``."""
        return _DIVIDERS[self.divider]

    @property
    def rate_class(self) -> str:
        """Value of the parameters ``D_TX_MAX_RATE`` and ``CHx_CDR_MAX_RATE``, in Gb/s."""
        return str(self.line_rate / 1e9)

    def word_hz(self, width: int) -> float:
        """Frequency of words of ``width`` bits."""
        return self.line_rate / width


def _possible(reference: Fraction, multiplier: int, divider: int, line_rate: int) -> bool:
    # The exact bounds of the oscillator are part of the range.
    in_range = _VCO_HZ[0] <= line_rate * divider <= _VCO_HZ[-1]
    known = multiplier != 25 or reference in _TIMES_25_HZ
    return in_range and known and _REFERENCE_HZ[0] <= reference <= _REFERENCE_HZ[-1]
