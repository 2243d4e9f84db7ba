"""Line rates of an ECP5 dual-channel unit."""

import pytest

from ualink.config import ConfigError
from ualink.phy.serdes.ecp5_rate import Ecp5Rate


@pytest.mark.parametrize(
    ("gigabits", "megahertz", "multiplier", "divider"),
    (
        (5, 200, 25, 1),
        (5, 250, 20, 1),
        (2.5, 100, 25, 1),
        (2.5, 156.25, 16, 1),
        (2.5, 250, 20, 2),
        (3.125, 156.25, 20, 1),
        (1.25, 156.25, 16, 2),
    ),
)
def test_multiplier_and_divider(gigabits, megahertz, multiplier, divider):
    rate = Ecp5Rate(line_rate=int(gigabits * 1e9), reference_hz=int(megahertz * 1e6))
    assert (rate.multiplier, rate.divider) == (multiplier, divider)
    assert rate.word_hz(20) == gigabits * 1e9 / 20


@pytest.mark.parametrize(
    ("line_rate", "reference_hz", "words"),
    (
        (5_000_000_000, 100_000_000, "for 5 Gb/s the dual-channel unit takes 200, 250, 312.5, 500, 625 MHz"),
        (10_000_000_000, 100_000_000, "takes no MHz"),
        (2_500_000_000.0, 100_000_000, "line_rate is 2500000000.0"),
    ),
)
def test_impossible_rates_are_refused(line_rate, reference_hz, words):
    with pytest.raises(ConfigError, match=words):
        Ecp5Rate(line_rate=line_rate, reference_hz=reference_hz)
