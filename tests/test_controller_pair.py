"""Two generated controllers face each other: firmware brings them up, runs and recovers them by registers alone."""

import pytest

from support.controller_pair_top import build_pair, controller_config
from ualink.controller import Controller
from ualink.registers import write
from ualink.upli.isolation.registers import ISOLATION_REGISTERS

PAIRS = ((1, "axi4-lite"), (4, "apb"))


@pytest.fixture(
    scope="module",
    params=[pytest.param(pair, marks=pytest.mark.xdist_group(f"controller-pair-{pair[0]}")) for pair in PAIRS],
    ids=lambda pair: f"{pair[0]}-{pair[1]}",
)
def run(request, tmp_path_factory):
    """Runs a test of the bench."""
    ports, bus = request.param
    folder = tmp_path_factory.mktemp("pair")
    (folder / "controller.json").write_text(Controller(controller_config(ports, bus)).registers.to_json())
    write(ISOLATION_REGISTERS, folder, "isolation")
    model = build_pair(ports, bus)
    environment = {
        "PORTS": str(ports),
        "BUS": bus,
        "TABLE": str(folder / "controller.json"),
        "ISOLATION": str(folder / "isolation.json"),
    }
    return lambda testcase: model.run("support.controller_pair_bench", testcase=testcase, environment=environment)


def test_firmware_recovers_a_pulled_cable(run):
    run("cable_is_pulled")


def test_firmware_clears_the_isolation_of_a_watchdog(run):
    run("watchdog_isolates")


def test_other_ports_of_a_switch_go_on(run):
    run("other_ports_go_on")


def test_firmware_goes_on_with_fewer_links(run):
    run("fewer_links")


def test_firmware_enters_drop_mode(run):
    run("drop_mode_on_command")


def test_firmware_hears_of_a_data_error(run):
    run("data_error_is_told")


def test_every_access_is_answered(run):
    run("every_access_is_answered")


def test_firmware_says_what_is_wrong(run):
    run("mistakes")
