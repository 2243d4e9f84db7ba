"""Lattice ECP5-5G Evaluation Board (LFE5UM5G-85F-EVN): two lanes of 5 Gb/s on unit 1, with its 200 MHz oscillator."""

from amaranth_boards.ecp5_5g_evn import ECP55GEVNPlatform

from ualink.phy.serdes.ecp5_rate import Ecp5Rate
from ualink.phy.serdes.ecp5_unit import Ecp5Unit

from .board import LED_MEANINGS, Ecp5Board, Slower
from .pins import simple_leds

__all__ = ["BOARD"]

_REFERENCE_HZ = 200_000_000

BOARD = Ecp5Board(
    name="ecp5_5g_evn",
    title="Lattice ECP5-5G Evaluation Board (LFE5UM5G-85F)",
    platform=ECP55GEVNPlatform,
    clock="clk12",
    clock_hz=12_000_000,
    sync_hz=48_000_000,
    station_hz=40_000_000,
    # Two need words of four blocks, for whose wires the device is too small (docs/boards.md).
    station_lanes=1,
    leds=lambda platform: simple_leds(platform, len(LED_MEANINGS)),
    reset="rst",
    units=(Ecp5Unit(1, (0, 1)),),
    rate=Ecp5Rate(line_rate=5_000_000_000, reference_hz=_REFERENCE_HZ),
    # With its clocks met for 5 Gb/s it does not route (docs/boards.md).
    slower=(
        Slower(
            design="link", rate=Ecp5Rate(line_rate=2_500_000_000, reference_hz=_REFERENCE_HZ), station_hz=24_000_000
        ),
    ),
    reference=1,
    width=40,
    programmer="ecp5_evn",
)
