"""Xilinx VCU118 (XCVU9P): four lanes of 10.3125 Gb/s on QSFP28 cage 1, quad 231, with its 156.25 MHz."""

from amaranth.build import Attrs, Clock, DiffPairs, Pins, PinsN, Resource, Subsignal
from amaranth.vendor import XilinxPlatform
from amaranth_boards.resources import LEDResources, UARTResource

from .board import LED_MEANINGS, GtyBoard
from .pins import simple_leds

__all__ = ["BOARD", "Vcu118Platform"]

_LOW = Attrs(IOSTANDARD="LVCMOS12")
_HIGH = Attrs(IOSTANDARD="LVCMOS18")


class Vcu118Platform(XilinxPlatform):
    """What of the kit is used here."""

    device = "xcvu9p"
    package = "flga2104"
    speed = "2L-e"
    default_clk = "clk125"
    resources = [
        Resource("clk125", 0, DiffPairs("AY24", "AY23", dir="i"), Clock(125e6), Attrs(IOSTANDARD="LVDS")),
        Resource("rst", 0, Pins("L19", dir="i"), _LOW),
        *LEDResources(pins="AT32 AV34 AY30 BB32 BF32 AU37 AV36 BA37", attrs=_LOW),
        UARTResource(0, rx="AW25", tx="BB21", attrs=_HIGH),
        Resource(
            "qsfp",
            0,
            Subsignal("rx_p", Pins("Y2 W4 V2 U4", dir="i")),
            Subsignal("rx_n", Pins("Y1 W3 V1 U3", dir="i")),
            Subsignal("tx_p", Pins("V7 T7 P7 M7", dir="o")),
            Subsignal("tx_n", Pins("V6 T6 P6 M6", dir="o")),
        ),
        Resource(
            "qsfp_reference",
            0,
            Subsignal("p", Pins("W9", dir="i")),
            Subsignal("n", Pins("W8", dir="i")),
        ),
        Resource("qsfp_select", 0, PinsN("AM21", dir="o"), _HIGH),
        Resource("qsfp_reset", 0, PinsN("BA22", dir="o"), _HIGH),
        Resource("qsfp_low_power", 0, Pins("AN21", dir="o"), _HIGH),
    ]
    connectors: list = []


BOARD = GtyBoard(
    name="vcu118",
    title="Xilinx VCU118 (XCVU9P), QSFP28; needs Vivado",
    platform=Vcu118Platform,
    clock="clk125",
    clock_hz=125_000_000,
    sync_hz=125_000_000,
    station_hz=125_000_000,
    leds=lambda platform: simple_leds(platform, len(LED_MEANINGS)),
    reset="rst",
    high=("qsfp_select",),
    low=("qsfp_reset", "qsfp_low_power"),
    width=64,
    programmer="vcu118",
    sites=(48, 49, 50, 51),
    lane_hz=10_312_500_000,
    reference_hz=156_250_000,
    constraints="vcu118",
)
