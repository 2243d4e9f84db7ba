"""Verilog of a switch that is too large for a lint of all instances: each module is looked at once.

CI looks at a small design that has faults; ``make soak`` (UALINK_SOAK=1) at a switch of 64 stations.
"""

import os
import re
import subprocess

import pytest

from support.module_by_module import module_by_module
from ualink.config import SwitchDeviceConfig, from_dict
from ualink.emit.generate import write_design
from ualink.emit.lint import waivers
from ualink_sim.simulator import tools

FAULTY = """module \\inner.part (a, b, c);
  input [3:0] a;
  wire [3:0] a;
  output [2:0] b;
  wire [2:0] b;
  output c;
  wire c;
  assign b = a + 4'd1;
endmodule

module ualink_faulty (clk, d, e);
  input clk;
  wire clk;
  input [4:0] d;
  wire [4:0] d;
  output [2:0] e;
  wire [2:0] e;
  wire unheard;
  \\inner.part  \\the.part  (
    .a(d),
    .b(e),
    .c(unheard)
  );
endmodule
"""
"""A sum that is cut, an output that nothing drives, and a port that is too narrow for what comes."""


def warnings(folder, verilog: str, name: str) -> list[str]:
    """The lines in which Verilator's lint warns of ``verilog``, module by module."""
    modules, boxes = module_by_module(verilog)
    (folder / f"{name}.v").write_text(modules)
    (folder / "boxes.v").write_text(boxes)
    (folder / "lint.vlt").write_text(waivers(name))
    command = ["verilator", "--lint-only", "-Wall", "-Wno-fatal", "-Wno-MULTITOP", "--quiet-stats"]
    with tools() as environment:
        files = ["lint.vlt", f"{name}.v", "boxes.v"]
        run = subprocess.run([*command, *files], cwd=folder, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    # A box has nothing in it; that it has the wrong ports is told where it stands.
    return [line for line in run.stderr.splitlines() if line.startswith("%") and " boxes.v:" not in line]


def test_faults_are_found_in_a_module_and_at_the_boxes_in_it(tmp_path):
    found = warnings(tmp_path, FAULTY, "ualink_faulty")
    assert {re.match(r"%Warning-(\w+)", line)[1] for line in found} == {"WIDTHTRUNC", "UNDRIVEN"}
    assert sum("WIDTHTRUNC" in line for line in found) == 2


@pytest.mark.skipif(not os.environ.get("UALINK_SOAK"), reason="minutes and gigabytes; make soak runs it")
@pytest.mark.soak
def test_a_switch_of_64_stations(tmp_path):
    """It is written whole, each of its modules once, and there is nothing to warn of."""
    config = from_dict(SwitchDeviceConfig, {"switch": {"stations": 64, "ports_per_row": 16}}, "test")
    verilog = write_design("switch", config, tmp_path)[0].read_text()
    names = re.findall(r"^module (\S+)", verilog, re.MULTILINE)
    assert len(names) == len(set(names))
    stations = re.findall(r"^  \S+ station_\d+ \($", verilog, re.MULTILINE)
    folder = tmp_path / "apart"
    folder.mkdir()
    assert warnings(folder, verilog, "ualink_switch") == []
    assert len(stations) == 64
