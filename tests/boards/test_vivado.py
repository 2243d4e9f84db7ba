"""The Vivado project of the kit with GTY transceivers, as far as it can be checked without Vivado."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from ualink.phy.serdes.gty import CORE
from ualink_boards.boards import find_board
from ualink_boards.build import BuildError, BuildOptions, build
from ualink_sim.simulator import tools

pytestmark = pytest.mark.soak

DESIGNS = ("bert", "pair") if os.environ.get("UALINK_SOAK") else ("bert",)
"""Designs of which the project is looked at: the largest one takes minutes to elaborate."""
LANES, WIDTH = 4, 64
SITES = "X1Y48 X1Y49 X1Y50 X1Y51"
# Ports of a wizard's core with four channels, its shared PLL and reset controller inside and clocking outside (PG182).
INPUTS = {
    "gtwiz_reset_clk_freerun_in": 1,
    "gtwiz_reset_all_in": 1,
    "gtwiz_reset_tx_pll_and_datapath_in": 1,
    "gtwiz_reset_tx_datapath_in": 1,
    "gtwiz_reset_rx_pll_and_datapath_in": 1,
    "gtwiz_reset_rx_datapath_in": 1,
    "gtwiz_userclk_tx_active_in": 1,
    "gtwiz_userclk_rx_active_in": 1,
    "gtwiz_userdata_tx_in": WIDTH * LANES,
    "gtrefclk00_in": 1,
    "gtyrxp_in": LANES,
    "gtyrxn_in": LANES,
    "txusrclk_in": LANES,
    "txusrclk2_in": LANES,
    "rxusrclk_in": LANES,
    "rxusrclk2_in": LANES,
    "loopback_in": 3 * LANES,
    "txpolarity_in": LANES,
    "rxpolarity_in": LANES,
}
OUTPUTS = {
    "gtwiz_reset_rx_cdr_stable_out": 1,
    "gtwiz_reset_tx_done_out": 1,
    "gtwiz_reset_rx_done_out": 1,
    "gtwiz_userdata_rx_out": WIDTH * LANES,
    "qpll0lock_out": 1,
    "gtytxp_out": LANES,
    "gtytxn_out": LANES,
    "txoutclk_out": LANES,
    "rxoutclk_out": LANES,
    "txpmaresetdone_out": LANES,
    "rxpmaresetdone_out": LANES,
    "rxcdrlock_out": LANES,
    "gtpowergood_out": LANES,
}
CELLS = """
module IBUFDS_GTE4 (input I, input IB, input CEB, output O); endmodule
module BUFG_GT (input I, input CE, input CEMASK, input CLR, input CLRMASK, input [2:0] DIV, output O); endmodule
module IBUFDS (input I, input IB, output O); endmodule
module IBUF (input I, output O); endmodule
module OBUF (input I, output O); endmodule
module OBUFT (input I, input T, output O); endmodule
module FDPE #(parameter INIT = 0) (input C, input CE, input D, input PRE, output Q); endmodule
"""
# Every command that is not Tcl's own is taken down; what a script sets is looked at afterwards.
TCL = """
proc unknown {args} { puts stderr $args; return {} }
proc quit {} { exit 0 }
set argv {}
source $::env(SCRIPT)
"""


@pytest.fixture(scope="module", params=DESIGNS)
def project(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("vcu118") / "out"
    build("vcu118", request.param, BuildOptions(place=False), out=folder)
    return folder


def commands(script: Path, folder: Path) -> list[str]:
    """Commands that Tcl finds in ``script``, one a line; it must come to its end without an error."""
    (folder / "run.tcl").write_text(TCL)
    run = subprocess.run(
        ["tclsh", "run.tcl"],
        cwd=folder,
        env={"SCRIPT": str(script), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stderr.splitlines()


def ports(verilog: str) -> set[str]:
    """Ports of module ``top``."""
    header = re.search(r"^module top\((.*?)\);", verilog, re.MULTILINE | re.DOTALL)
    return {name.strip().lstrip("\\").strip() for name in header[1].split(",")}


def test_files(project):
    assert {file.name for file in project.iterdir()} == {"top.v", "top.tcl", "top.xdc", "registers.json", "report.json"}
    assert json.loads((project / "report.json").read_text())["lanes"] == LANES


def test_core_is_made_with_the_lanes_of_the_board(project):
    script = (project / "top.tcl").read_text()
    for setting in (
        f"CONFIG.CHANNEL_ENABLE {{{SITES}}}",
        "CONFIG.TX_LINE_RATE {10.3125}",
        "CONFIG.RX_REFCLK_FREQUENCY {156.25}",
        "CONFIG.TX_DATA_ENCODING {RAW}",
        "CONFIG.RX_DATA_DECODING {RAW}",
        f"CONFIG.RX_USER_DATA_WIDTH {{{WIDTH}}}",
        "CONFIG.FREERUN_FREQUENCY {125}",
    ):
        assert setting in script
    assert f"-module_name {CORE}" in script
    optional = re.search(r"ENABLE_OPTIONAL_PORTS \{(.*)\}", script)[1].split()
    assert set(optional) <= INPUTS.keys() | OUTPUTS.keys()


def test_core_is_connected_by_its_ports(project):
    verilog = (project / "top.v").read_text()
    body = re.search(rf"\b{CORE} core \((.*?)\);", verilog, re.DOTALL)[1]
    assert set(re.findall(r"\.(\w+)\(", body)) == INPUTS.keys() | OUTPUTS.keys()


def test_verilog_lints_with_a_core_that_is_a_box(project, tmp_path):
    declared = [f"input [{width - 1}:0] {name}" for name, width in INPUTS.items()]
    declared += [f"output [{width - 1}:0] {name}" for name, width in OUTPUTS.items()]
    (tmp_path / "cells.v").write_text(f"module {CORE} ({', '.join(declared)}); endmodule\n{CELLS}")
    command = ["verilator", "--lint-only", "-Wno-fatal", "--bbox-unsup", "--top-module", "top"]
    with tools() as environment:
        run = subprocess.run(
            [*command, str(project / "top.v"), str(tmp_path / "cells.v")],
            env=environment,
            capture_output=True,
            text=True,
        )
    # Widths inside of expressions are as Amaranth has written them; those of ports are ours.
    bad = re.findall(r"%Error.*|%Warning-(?:PIN|IMPLICIT|MULTI).*|%Warning-WIDTH.* port connection .*", run.stderr)
    assert run.returncode == 0 and not bad, "\n".join(bad) or run.stderr[-2000:]


def test_scripts_are_tcl(project, tmp_path):
    done = commands(project / "top.tcl", tmp_path)
    assert any(line.startswith("create_ip -name gtwizard_ultrascale") for line in done)
    assert any(line.startswith("write_bitstream") for line in done)
    done = commands(project / "top.xdc", tmp_path)
    assert sum("LOC" in line for line in done) == 4 * LANES + 2 + 2 + 1 + 2 + 8 + 3


def test_constraints_name_ports_and_clocks_that_exist(project):
    verilog, script = (project / "top.v").read_text(), (project / "top.xdc").read_text()
    known = ports(verilog)
    named = {name.replace("\\", "") for name in re.findall(r'get_ports "?([\w\\\[\]]+)"?\]', script)}
    assert named and {name.partition("[")[0] for name in named} <= known
    for pattern in re.findall(r"get_ports -regexp \{(.*)\}", script):
        assert any(re.fullmatch(pattern, port) for port in known)
    clocks = set(re.findall(r"create_clock -name (\w+)", script))
    assert set(re.findall(r"-include_generated_clocks (\w+)", script)) | {"qsfp_reference"} == clocks
    for net in re.findall(r'get_nets "lanes/(\w+)"', script):
        assert re.search(rf"\bwire {net};", verilog)


def test_without_vivado_nothing_is_written(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="vivado is not on the PATH"):
        build("vcu118", out=tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_board_is_not_for_ecpprog(monkeypatch, tmp_path):
    from ualink_boards.build import load

    (tmp_path / "ecpprog").write_text("#!/bin/sh\n")
    (tmp_path / "ecpprog").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="neither openFPGALoader"):
        load(find_board("vcu118"), tmp_path / "top.bit")
