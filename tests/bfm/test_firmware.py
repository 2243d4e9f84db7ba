"""The firmware model on RTL registers and message blocks, from the exported table alone; so the example of its page."""

import inspect
import re
import subprocess
import sys

import pytest

from support.bfm.firmware_top import CONFIG, FirmwareTop
from ualink.dl.registers.map import dl_registers
from ualink.emit.verilog import to_verilog
from ualink.registers import write
from ualink_sim.bfm.common.controller_firmware import ControllerFirmware
from ualink_sim.bfm.common.firmware import DLFirmware
from ualink_sim.bfm.common.pod_controller import PodController
from ualink_sim.bfm.common.switch_firmware import SwitchFirmware
from ualink_sim.bfm.common.switch_station_firmware import SwitchStationFirmware
from ualink_sim.simulator import build

pytestmark = pytest.mark.xdist_group("firmware")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The exported table."""
    folder = tmp_path_factory.mktemp("registers")
    write(dl_registers(CONFIG), folder, "dl_port")
    return folder / "dl_port.json"


@pytest.fixture(scope="module")
def model():
    """The compiled model."""
    return build({"firmware.v": to_verilog(FirmwareTop(), "firmware")}, "firmware")


@pytest.fixture(scope="module")
def run(model, table):
    """Runs a test of the bench."""
    return lambda testcase: model.run(
        "support.bfm.firmware_bench", testcase=testcase, environment={"TABLE": str(table)}
    )


def test_bring_up(run):
    run("bring_up")


def test_identities(run):
    run("identities")


def test_rates(run):
    run("rates")


@pytest.mark.req("DL-006", "DL-007", "DL-102")
def test_uart(run):
    run("uart")


def test_counters_and_events(run):
    run("counters_and_events")


def test_mistakes(run):
    run("mistakes")


def test_needs_no_hardware_description():
    """Someone with other RTL has the table and this package only."""
    for module in ("firmware", "controller_firmware"):
        code = (
            f"import ualink_sim.bfm.common.{module}, sys; sys.exit(bool({{'ualink', 'amaranth'}} & {{*sys.modules}}))"
        )
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "firmware.md").read_text()


def test_example_runs(page, model, table, tmp_path, monkeypatch):
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    example = example.replace('"dl_port.json"', repr(str(table))).replace("@cocotb.test()\n", "")
    test = "from support.bfm.firmware_bench import documented\n\n\n@cocotb.test()\nasync def example(dut):\n"
    (tmp_path / "documented_firmware.py").write_text(f"{example}\n{test}    await documented(dut, two_ends_talk)\n")
    monkeypatch.syspath_prepend(tmp_path)
    model.run("documented_firmware", testcase="example")


def test_every_coroutine_is_listed(page):
    listed = {name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)\(", row)}
    classes = DLFirmware, ControllerFirmware, SwitchFirmware, SwitchStationFirmware, PodController
    members = [name for each in classes for name, _ in inspect.getmembers(each, inspect.iscoroutinefunction)]
    assert listed == {name for name in members if name[0] != "_"}
