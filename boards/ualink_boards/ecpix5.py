"""LambdaConcept ECPIX-5 with LFE5UM5G-85F: one lane of 2.5 Gb/s, unit 1 channel 0, on the SATA connector.

No oscillator goes to the reference inputs of the SERDES; the board's 100 MHz go there through logic.
"""

from amaranth_boards.ecpix5 import ECPIX585Platform

from ualink.phy.serdes.ecp5_rate import Ecp5Rate
from ualink.phy.serdes.ecp5_unit import Ecp5Unit

from .board import Ecp5Board

__all__ = ["BOARD"]


def _leds(platform) -> list:
    """Two meanings to each of the four coloured LEDs."""
    direction = dict.fromkeys("rgb", "-")
    first, second, third, fourth = (platform.request("rgb_led", number, dir=direction) for number in range(4))
    return [first.g, first.b, second.g, second.b, third.g, third.b, fourth.r, fourth.b]


BOARD = Ecp5Board(
    name="ecpix5",
    title="LambdaConcept ECPIX-5 (LFE5UM5G-85F)",
    platform=ECPIX585Platform,
    clock="clk100",
    clock_hz=100_000_000,
    sync_hz=50_000_000,
    station_hz=25_000_000,
    leds=_leds,
    reset="rst",
    units=(Ecp5Unit(1, (0,)),),
    rate=Ecp5Rate(line_rate=2_500_000_000, reference_hz=100_000_000),
    reference=None,
    width=40,
    programmer="ecpix5",
)
