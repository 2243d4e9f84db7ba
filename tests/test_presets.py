"""Presets: sizes of a station by name, below what a description says."""

import json

import pytest
from click.testing import CliRunner

from support.verilator_lint import lint
from ualink.cli import main
from ualink.config import AddressCacheConfig, ConfigError, Credits, StationConfig
from ualink.description.error import ScenarioError
from ualink.description.file import parse_description
from ualink.description.hardware import read_hardware
from ualink.presets import PRESET_NAMES, station_preset


def described(text: str, **given) -> StationConfig:
    return read_hardware(parse_description(text, "FILE"), **given).station


def test_full_is_the_default_and_the_others_are_smaller():
    full, balanced, compact = map(station_preset, PRESET_NAMES)
    assert full == StationConfig() == described("")
    for larger, smaller in ((full, balanced), (balanced, compact)):
        for size in ("requests_in_sight", "responses_in_sight"):
            assert getattr(larger.tl, size) > getattr(smaller.tl, size)
        for buffers in ("req_cmd", "rsp_cmd", "req_data", "rsp_data"):
            assert getattr(larger.tl, buffers).total > getattr(smaller.tl, buffers).total
        assert larger.tl.rx_cache.rows * larger.tl.rx_cache.ways > smaller.tl.rx_cache.rows * smaller.tl.rx_cache.ways
    assert (compact.tl.authentication, compact.tl.catch_in_lines) == (False, True)
    assert (balanced.tl.lean, balanced.upli.lean) == (False, False)
    assert (compact.tl.lean, compact.upli.lean) == (True, True)
    assert (balanced.dl.cycles_per_beat, compact.dl.cycles_per_beat) == (1, 4)


@pytest.mark.parametrize("name", PRESET_NAMES)
def test_a_description_says_the_same_as_a_caller(name):
    assert described(f"[pod]\npreset = '{name}'\n") == station_preset(name)
    assert described("", preset=name, ports=2) == station_preset(name, ports=2)


def test_what_a_description_says_goes_before_its_preset():
    text = "[pod]\npreset = 'compact'\n[tl]\nresponses_in_sight = 7\n"
    text += "rsp_cmd = { vc = [2, 0, 0, 0] }\nrsp_data = { vc = [9, 0, 0, 0] }\n"
    text += "[dl]\nreplay_depth = 32\n[tl.rx_cache]\nrows = 16\n"
    station, compact = described(text), station_preset("compact")
    assert (station.tl.responses_in_sight, station.tl.requests_in_sight) == (7, 2)
    # A value that is a table of its own is said whole.
    assert station.tl.rsp_cmd == Credits(vc=(2, 0, 0, 0))
    assert station.tl.rx_cache == AddressCacheConfig(rows=16)
    assert (station.tl.req_cmd, station.upli) == (compact.tl.req_cmd, compact.upli)
    assert (station.dl.replay_depth, station.dl.crc_stages) == (32, 4)


def test_a_preset_of_the_caller_goes_before_that_of_the_description():
    assert described("[pod]\npreset = 'balanced'\n", preset="compact") == station_preset("compact")


def test_a_pod_has_the_sizes_of_its_preset():
    hardware = read_hardware(parse_description("[pod]\naccelerators = 2\npreset = 'balanced'\n", "FILE"))
    assert hardware.station.tl.tx_cache == hardware.switch.station.tl.tx_cache == AddressCacheConfig(rows=1024, ways=1)
    assert hardware.switch.station.tl.responses_in_sight == 5


def test_a_preset_slows_no_link_that_brings_a_beat_in_every_cycle():
    """A pod's, and the reconciliation sublayer's; what is said of it is refused, as without a preset."""
    hardware = read_hardware(parse_description("[pod]\naccelerators = 2\npreset = 'compact'\n", "FILE"))
    assert hardware.station.dl == station_preset("compact").dl.replace(cycles_per_beat=1)
    assert hardware.switch.station.dl == hardware.station.dl
    below = "[pod]\npreset = 'compact'\n[phy]\nreconciliation = true\n"
    assert described(below).dl == hardware.station.dl
    assert described(below.replace("true", "false")) == station_preset("compact")
    refused = r"^FILE:6: dl.cycles_per_beat: is 4; a reconciliation sublayer has a beat in every cycle: 1$"
    with pytest.raises(ScenarioError, match=refused):
        described(below + "[dl]\ncycles_per_beat = 4\n")


def test_a_wrong_preset_is_refused():
    with pytest.raises(
        ScenarioError, match=r"^FILE:2: pod.preset: is 'small'; it must be one of full, balanced, compact$"
    ):
        described("[pod]\npreset = 'small'\n")
    with pytest.raises(ConfigError, match="preset is 'small'; it must be one of full, balanced, compact"):
        station_preset("small")


def test_a_bad_key_beside_a_preset_is_named_with_its_line():
    with pytest.raises(ScenarioError, match=r"^FILE:4: tl.requests_in_sight: .* is 5; it must be"):
        described("[pod]\npreset = 'compact'\n[tl]\nrequests_in_sight = 5\n")


def test_generate_takes_a_preset(tmp_path):
    """Verilator has nothing to warn of in what is not built."""
    arguments = ["generate", "station", "--preset", "compact", "--set", "tl.requests_in_sight=1", "-o", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "ualink_station.json").read_text())["parameters"]
    assert (written["tl"]["requests_in_sight"], written["tl"]["responses_in_sight"]) == (1, 4)
    assert (written["tl"]["tx_cache"]["rows"], written["dl"]["cycles_per_beat"]) == (0, 4)
    assert "%Warning" not in lint(tmp_path / "ualink_station.v", "ualink_station.vlt")
