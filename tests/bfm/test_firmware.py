"""The firmware model on RTL registers, from the exported table alone."""

import subprocess
import sys

import pytest

from bfm.firmware_top import CONFIG, FirmwareTop
from ualink.dl.register_map import dl_registers
from ualink.registers import write
from ualink.verilog import to_verilog
from ualink_sim.simulator import build

pytestmark = pytest.mark.xdist_group("firmware")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a test of the bench on the compiled model."""
    folder = tmp_path_factory.mktemp("registers")
    write(dl_registers(CONFIG), folder, "table")
    model = build({"firmware.v": to_verilog(FirmwareTop(), "firmware")}, "firmware")
    return lambda testcase: model.run(
        "bfm.firmware_bench", testcase=testcase, environment={"TABLE": str(folder / "table.json")}
    )


def test_bring_up(run):
    run("bring_up")


def test_identities(run):
    run("identities")


def test_rates(run):
    run("rates")


@pytest.mark.req("DL-007", "DL-102")
def test_uart(run):
    run("uart")


def test_counters_and_events(run):
    run("counters_and_events")


def test_mistakes(run):
    run("mistakes")


def test_needs_no_hardware_description():
    """Someone with other RTL has the table and this package only."""
    code = "import ualink_sim.bfm.firmware, sys; sys.exit(bool({'ualink', 'amaranth'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
