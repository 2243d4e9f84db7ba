"""One file for ``ualink sim`` and ``ualink generate``: what is simulated and what is generated are the same."""

import json
import multiprocessing
from dataclasses import asdict

import pytest
from click.testing import CliRunner

import ualink.emit.generate
import ualink_sim.pod.run
from ualink.cli import main
from ualink.config import PhyConfig, StationConfig, SwitchConfig
from ualink.description.file import load_description, parse_description
from ualink.description.hardware import read_hardware
from ualink_sim.pod.scenario import load_scenario, parse_scenario

SCENARIO = """
[pod]
accelerators = 4
bifurcation = "2x2"
clock_mhz = 1000
[link]
latency_cycles = 7
[upli]
req = { pool = 5 }
init_done_qualification = 3
[tl]
authentication = true
req_cmd = { pool = 8, vc = [1, 2, 3, 4] }
rx_cache = { rows = 8 }
credit_return_delay = 9
[dl]
replay_depth = 32
crc_stages = 3
[phy]
reconciliation = true
marker_interval = 64
[switch]
route_entries = 64
[[workload]]
kind = "uniform"
"""


@pytest.fixture
def built(monkeypatch, tmp_path):
    """Keeps what would be compiled or written as Verilog, instead of doing so."""

    class Built(Exception):
        pass

    kept = {}

    def keep_pod(accelerators, config, **_):
        kept["pod"] = accelerators, config
        raise Built

    monkeypatch.setattr(ualink_sim.pod.run, "build_pod", keep_pod)
    monkeypatch.setattr(ualink.emit.generate, "verilog_and_memories", lambda component, name: (f"// {name}\n", []))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.toml").write_text(SCENARIO)
    return kept


def plain(config):
    return json.loads(json.dumps(asdict(config)))


@pytest.mark.parametrize(
    ("option", "overrides"),
    [("--config", []), ("--scenario", ["--set", "dl.replay_depth=16", "--set", 'tl.device="accelerator"'])],
)
def test_the_simulated_hardware_is_what_is_generated(built, tmp_path, option, overrides):
    CliRunner().invoke(main, ["sim", "pod.toml", *overrides])
    accelerators, switch = built["pod"]
    assert accelerators == 4
    assert switch.station.dl.replay_depth == (16 if overrides else 32)
    assert switch.station.phy == PhyConfig(rate=400, marker_interval=64)
    assert (switch.station.upli.req.pool, switch.station.upli.init_done_qualification) == (5, 3)
    for what, simulated in (("controller", switch.station), ("station", switch.station), ("switch", switch)):
        result = CliRunner().invoke(main, ["generate", what, option, "pod.toml", *overrides, "-o", what])
        assert result.exit_code == 0, result.output
        description = json.loads((tmp_path / what / f"ualink_{what}.json").read_text())
        built_from = description["parameters"]
        inner = {"controller": "station", "switch": "switch"}.get(what)
        assert (built_from[inner] if inner else built_from) == plain(simulated)


def test_every_example_generates_what_it_simulates(root):
    for path in sorted((root / "examples").glob("*.toml")):
        assert read_hardware(load_description(path)).switch == load_scenario(path).switch


def test_a_device_on_its_own_has_the_defaults_of_its_configuration():
    alone = read_hardware(parse_description("", "none"))
    assert (alone.station, alone.switch) == (StationConfig(), SwitchConfig())
    given = read_hardware(parse_description("", "none"), ports=2, stations=8)
    assert (given.station, given.switch.stations) == (StationConfig(ports=2), 8)
    text = "[pod]\nseparate_upli_clock = true\n[tl]\nbuild_authentication = false\ndevice = 'switch'\n"
    other = read_hardware(parse_description(text, "none"))
    assert other.station.separate_upli_clock
    assert not other.switch.station.separate_upli_clock
    text = "[pod]\nchoosable_ports = true\n[phy]\nreconciliation = true\n"
    chosen = read_hardware(parse_description(text, "none"))
    assert chosen.station == StationConfig(ports=4, choosable_ports=True, phy=PhyConfig(rate=800))
    assert chosen.switch.station == chosen.station
    assert chosen.upli_checker.ports == 4
    two = read_hardware(parse_description('[pod]\nchoosable_ports = true\nbifurcation = "2x2"\n', "none"))
    assert (two.station, two.upli_checker.ports) == (chosen.station.replace(phy=None), 2)
    four = read_hardware(parse_description("[phy]\nreconciliation = true\n", "none"), ports=4)
    assert (four.station.phy, four.switch.station.phy) == (PhyConfig(),) * 2
    assert (other.station.tl.device, other.station.tl.authentication) == ("switch", False)


def test_a_pod_of_accelerator_ends_has_other_stations_in_its_switch(monkeypatch):
    """Two modules are made then, each in its place; all in this process, which looks on."""
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", list)
    made = {}

    def keep(make_sources, top, depends, *, blocks, trace):
        made.update(sources=make_sources(), blocks=blocks)

    monkeypatch.setattr(ualink_sim.pod.run, "build_once", keep)
    monkeypatch.setattr(
        ualink_sim.pod.run,
        "to_verilog",
        lambda component, name: f"// {name}: {component.config.tl.device}" if name.endswith("station") else "//",
    )
    modules = {}

    def noting(make):
        def made_of(config, make_station, *more):
            def station(config):
                box = make_station(config)
                modules.setdefault(make.__name__, set()).add(box.module)
                return box

            return make(config, station, *more)

        return made_of

    for make in (ualink_sim.pod.run.make_controller, ualink_sim.pod.run.make_switch):
        monkeypatch.setattr(ualink_sim.pod.run, make.__name__, noting(make))
    scenario = parse_scenario(SCENARIO, "pod.toml", ['tl.device="accelerator"'])
    ualink_sim.pod.run.build_pod(2, scenario.switch)
    assert modules == {"make_controller": {"ualink_station"}, "make_switch": {"ualink_switch_station"}}
    shared = ("ualink_controller", "ualink_switch_registers", "ualink_core_agent_ingress", "ualink_core_agent_egress")
    banks = {block for block in made["blocks"] if "_bank_" in block}
    assert set(made["blocks"]) - banks == {"ualink_station", "ualink_switch_station", *shared}
    assert made["sources"]["ualink_station.v"] == "// ualink_station: accelerator"
    assert made["sources"]["ualink_switch_station.v"] == "// ualink_switch_station: switch"
    ualink_sim.pod.run.build_pod(2, parse_scenario(SCENARIO, "pod.toml").switch)
    assert set(made["blocks"]) - banks == {"ualink_station", *shared}
    assert made["sources"]["ualink_station.v"] == "// ualink_station: either"
