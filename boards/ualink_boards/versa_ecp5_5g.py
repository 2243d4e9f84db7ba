"""Lattice Versa ECP5-5G (LFE5UM5G-45F): one lane of 2.5 Gb/s, unit 0 channel 1, on the SMA connectors."""

from amaranth.build import Attrs, Pins, PinsN, Resource
from amaranth_boards.versa_ecp5_5g import VersaECP55GPlatform

from ualink.phy.serdes.ecp5_rate import Ecp5Rate
from ualink.phy.serdes.ecp5_unit import Ecp5Unit

from .board import LED_MEANINGS, Ecp5Board
from .pins import simple_leds

__all__ = ["BOARD", "VersaPlatform"]


class VersaPlatform(VersaECP55GPlatform):
    """With the pins of the clock chip that feeds the reference inputs of the SERDES."""

    resources = [
        *VersaECP55GPlatform.resources,
        Resource("reference_enable", 0, Pins("C12", dir="o"), Attrs(IO_TYPE="LVCMOS33")),
        Resource("reference_reset", 0, PinsN("R1", dir="o"), Attrs(IO_TYPE="LVCMOS33")),
    ]


BOARD = Ecp5Board(
    name="versa_ecp5_5g",
    title="Lattice Versa ECP5-5G (LFE5UM5G-45F)",
    platform=VersaPlatform,
    clock="clk100",
    clock_hz=100_000_000,
    sync_hz=50_000_000,
    station_hz=25_000_000,
    leds=lambda platform: simple_leds(platform, len(LED_MEANINGS)),
    reset="rst",
    high=("reference_enable",),
    low=("reference_reset",),
    units=(Ecp5Unit(0, (1,)),),
    rate=Ecp5Rate(line_rate=2_500_000_000, reference_hz=156_250_000),
    reference=0,
    width=40,
    programmer="ecp5_versa",
)
