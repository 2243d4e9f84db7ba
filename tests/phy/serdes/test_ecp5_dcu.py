"""The DCUA primitive as it is connected: what place and route gets."""

import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Module

from ualink.config import ConfigError
from ualink.phy.serdes.ecp5_dcu import Ecp5Dcu, Ecp5ReferenceInput
from ualink.phy.serdes.ecp5_rate import Ecp5Rate
from ualink.phy.serdes.ecp5_reset import Ecp5ResetTimes
from ualink.phy.serdes.ecp5_unit import Ecp5Unit

FIVE = Ecp5Rate(line_rate=5_000_000_000, reference_hz=200_000_000)
TIMES = Ecp5ResetTimes.at(48e6)


def text_of(unit=1, channels=(0, 1), **settings):
    unit = Ecp5Dcu(Ecp5Unit(unit, channels), **({"rate": FIVE, "width": 40, "times": TIMES} | settings))
    module = Module()
    module.submodules.unit = unit
    module.domains += [ClockDomain(name) for name in unit.clock_hz if not name.endswith("_half")]
    return rtlil.convert(module, ports=[unit.reference, *(lane.tx_data for lane in unit.lanes)])


def parameters(text):
    return dict(re.findall(r'parameter \\(\w+) "(.*)"', text))


@pytest.mark.parametrize(("width", "geared"), ((10, "0b0"), (20, "0b1"), (40, "0b1")))
def test_words_are_raw(width, geared):
    found = parameters(text_of(width=width, channels=(0,)))
    assert found["CH0_PROTOCOL"] == "10BSER"
    assert [found[f"CH0_{name}"] for name in ("ENC_BYPASS", "DEC_BYPASS", "WA_BYPASS", "CTC_BYPASS")] == ["0b1"] * 4
    assert found["CH0_TX_GEAR_MODE"] == found["CH0_RX_GEAR_MODE"] == geared
    assert found["D_REFCK_MODE"] == "0b100"
    assert found["D_TX_MAX_RATE"] == found["CH0_CDR_MAX_RATE"] == "5.0"


def test_place_is_fixed_by_attribute():
    assert 'attribute \\LOC "DCU1"' in text_of()
    assert 'attribute \\LOC "EXTREF1"' in rtlil.convert(Ecp5ReferenceInput(1), ports=[])


def test_only_the_channels_of_lanes_are_connected():
    for channels, other in (((0,), "CH1_"), ((1,), "CH0_")):
        ports = re.findall(r"connect \\(\w+)", text_of(channels=channels))
        assert ports and not [port for port in ports if port.startswith(other)]


def test_clocks_of_words():
    def clocks(**settings):
        return Ecp5Dcu(Ecp5Unit(0, (1,)), rate=FIVE, times=TIMES, **settings).clock_hz

    assert clocks(width=20) == {"tx0": 250e6, "rx0": 250e6}
    assert clocks(width=40, first_lane=2) == {"tx2": 125e6, "rx2": 125e6, "tx2_half": 250e6, "rx2_half": 250e6}


@pytest.mark.parametrize(
    ("settings", "words"),
    (
        ({"unit": 2}, "unit is 2"),
        ({"channels": (0, 0)}, "channels is"),
        ({"width": 32}, "width is 32"),
        ({"first_lane": -1}, "first_lane is -1"),
    ),
)
def test_bad_parameters_are_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        text_of(**settings)
