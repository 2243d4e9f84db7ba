"""Two generated controllers at a switch: firmware routes, denies and recovers by the registers of the switch alone."""

import pytest

from support.controller_pair_top import controller_config
from support.switch_pair_top import BUS, build_switch_pair, switch_config
from ualink.controller import Controller
from ualink.registers import write
from ualink.switch.device import SwitchDevice
from ualink.upli.isolation.registers import ISOLATION_REGISTERS

pytestmark = [
    pytest.mark.xdist_group("switch-pair"),
    pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a test of the bench."""
    folder = tmp_path_factory.mktemp("switch")
    (folder / "controller.json").write_text(Controller(controller_config(1, BUS)).registers.to_json())
    (folder / "switch.json").write_text(SwitchDevice(switch_config()).registers.to_json())
    write(ISOLATION_REGISTERS, folder, "isolation")
    model = build_switch_pair()
    environment = {
        "PORTS": "1",
        "BUS": BUS,
        "TABLE": str(folder / "controller.json"),
        "SWITCH_TABLE": str(folder / "switch.json"),
        "ISOLATION": str(folder / "isolation.json"),
    }
    return lambda testcase: model.run("support.switch_pair_bench", testcase=testcase, environment=environment)


@pytest.mark.req("SW-058", "SW-059", "SW-072", "SW-097", "SW-100")
def test_firmware_routes_and_denies(run):
    run("routes_and_denies")


@pytest.mark.req("SW-070", "SW-071", "SW-097")
def test_firmware_recovers_a_pulled_cable(run):
    run("cable_is_pulled")


def test_firmware_says_what_is_wrong(run):
    run("mistakes")
