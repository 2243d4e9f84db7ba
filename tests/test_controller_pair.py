"""Two generated controllers face each other: firmware brings them up, runs and recovers them by registers alone."""

import pytest

from support.controller_pair_top import build_pair, controller_config
from ualink.controller import Controller
from ualink.registers import write
from ualink.upli.isolation.registers import ISOLATION_REGISTERS

PAIRS = {
    (ports, bus): pytest.param(
        (ports, bus), marks=pytest.mark.xdist_group(f"controller-pair-{ports}"), id=f"{bus}-{ports}"
    )
    for ports, bus in ((1, "axi4-lite"), (4, "apb"))
}
several_ports = pytest.mark.parametrize("run", [PAIRS[4, "apb"]], indirect=True)


@pytest.fixture(scope="module", params=PAIRS.values())
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


@pytest.mark.req("RAS-012", "RAS-041", "RAS-099", "RAS-100", "UPLI-280")
def test_firmware_recovers_a_pulled_cable(run):
    run("cable_is_pulled")


@pytest.mark.req("RAS-066", "RAS-067")
def test_firmware_clears_the_isolation_of_a_watchdog(run):
    run("watchdog_isolates")


@pytest.mark.req("RAS-003", "RAS-010", "RAS-049", "RAS-092", "RAS-100", "RAS-101", "RAS-102", "RAS-103", "SW-077")
@several_ports
def test_other_ports_of_a_switch_go_on(run):
    run("other_ports_go_on")


@pytest.mark.req("RAS-098")
def test_a_watchdog_isolates_whose_responses_are_blocked(run):
    run("blocked_responses")


@pytest.mark.req("RAS-105")
@several_ports
def test_firmware_goes_on_with_fewer_links(run):
    run("fewer_links")


@pytest.mark.req("RAS-087", "RAS-115")
def test_firmware_enters_drop_mode(run):
    run("drop_mode_on_command")


@pytest.mark.req("RAS-008", "RAS-079")
def test_firmware_hears_of_a_data_error(run):
    run("data_error_is_told")


def test_every_access_is_answered(run):
    run("every_access_is_answered")


def test_firmware_says_what_is_wrong(run):
    run("mistakes")
