"""docs/bus-models.md: its example runs on the RTL agents, its tables are complete."""

import inspect
import re
import shutil
import subprocess
import sys

import pytest

from ualink_sim.bfm.upli.monitor import UPLIMonitor
from ualink_sim.bfm.upli.options import CompleterOptions, OriginatorOptions
from ualink_sim.bfm.upli.rules import RULES


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "bus-models.md").read_text()


def test_example_is_the_one_of_the_folder(page, root):
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert example == (root / "examples" / "upli_bus_models" / "bench.py").read_text()


def test_example_runs(root, tmp_path):
    """With cocotb's own runner; Icarus compiles it in no time where it is installed."""
    simulator = "icarus" if shutil.which("iverilog") else "verilator"
    command = [sys.executable, root / "examples" / "upli_bus_models", simulator]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout


def test_every_rule_is_listed(page):
    listed = re.findall(r"^\| `(\w+)` \| (.*) \| (§.*) \| (?:all|monitor) \|$", page, re.MULTILINE)
    assert {name: f"{text} ({sections})" for name, text, sections in listed} == RULES


def test_every_option_is_listed(page):
    table = page[page.index("## Options") : page.index("## What is checked")]
    listed = {
        name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    }
    options = {
        name
        for taker in (OriginatorOptions, CompleterOptions, UPLIMonitor)
        for name, parameter in inspect.signature(taker).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert listed == options
