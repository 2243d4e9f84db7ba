"""The command line: bad input is one line on standard error, exit status 2, and nothing written."""

import json
import shutil
import subprocess

import pytest
from click.testing import CliRunner

import ualink.emit.generate
import ualink_sim.pod.run
from ualink.cli import main
from ualink_sim.capture.pcapng import CaptureWriter

POD = '[pod]\naccelerators = 2\nbifurcation = "x4"\n'
UNIFORM = '[[workload]]\nkind = "uniform"\n'
TRACE = '[[workload]]\nkind = "trace"\ntrace = "trace.jsonl"\n'
REQUEST = {"src": 0, "dst": 1, "op": "read", "addr": "0x1000", "len": 64}


@pytest.fixture
def work(tmp_path, monkeypatch):
    """An empty working folder in which nothing may be simulated or turned into Verilog."""

    def never(*_, **__):
        raise AssertionError("the input was not refused")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ualink_sim.pod.run, "build_pod", never)
    monkeypatch.setattr(ualink.emit.generate, "verilog_and_memories", never)
    return tmp_path


def _contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}, sorted(folder.rglob("*"))


def _refuse(work, *arguments):
    """The one line with which ``ualink`` refuses ``arguments``, without ``ualink: ``."""
    before = _contents(work)
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == 2, result.exception or result.output
    assert result.stdout == ""
    assert result.stderr.startswith("ualink: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    assert _contents(work) == before
    return result.stderr.removeprefix("ualink: ").rstrip()


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (POD + "[link]\nlatncy = 3\n" + UNIFORM, 5, "latncy: unknown key"),
        (POD + "[lnk]\n" + UNIFORM, 4, "lnk: unknown"),
        ('[pod]\naccelerators = "two"\n' + UNIFORM, 2, "accelerators: is 'two'"),
        ("[pod]\naccelerators = 2.0\n" + UNIFORM, 2, "accelerators: is 2.0"),
        ('[pod]\naccelerators = 2\nbifurcation = "x3"\n' + UNIFORM, 3, "bifurcation: is 'x3'"),
        (POD + '[[workload]]\nkind = "uniform"\nbase = "0x1001"\n', 6, "base: "),
        (POD + '[[workload]]\nkind = "uniform"\nbase = "0x2000000000000000"\n', 6, "base: "),
        (POD + "[[vpod]]\nmembers = [0, 2]\n" + UNIFORM, 5, "members: "),
        (POD + "[tl]\nreq_cmd = { pool = 0 }\n" + UNIFORM, 5, "tl.req_cmd needs 1 or more credits"),
        (POD + "[link\n", 4, "Expected ']'"),
    ],
)
def test_sim_refuses_a_scenario_by_its_line(work, text, line, reason):
    (work / "pod.toml").write_text(text)
    refusal = _refuse(work, "sim", "pod.toml", "--out", "results")
    assert refusal.startswith(f"pod.toml:{line}: ")
    assert reason in refusal


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"addr": "0x1002"}, "addr: "),
        ({"addr": "nowhere"}, "addr: "),
        ({"addr": f"{1 << 57:#x}"}, "addr: "),
        ({"len": 65}, "len: "),
        ({"addr": "0x10c4"}, "len: "),
        ({"dst": 2}, "dst: "),
        ({"src": -1}, "src: "),
        ({"src": True}, "src: "),
        ({"op": "swap"}, "op: "),
        ({"after": [3]}, "after: "),
        ({"colour": "red"}, "colour: "),
        ({"op": "write"}, "data: "),
        ({"op": "write_full", "data": "00"}, "data: "),
    ],
)
def test_sim_refuses_a_trace_by_its_line(work, change, reason):
    (work / "pod.toml").write_text(POD + TRACE)
    (work / "trace.jsonl").write_text(f"{json.dumps(REQUEST)}\n\n{json.dumps({**REQUEST, **change})}\n")
    assert _refuse(work, "sim", "pod.toml").startswith(f"trace.jsonl:3: {reason}")


def test_sim_refuses_a_broken_trace_line(work):
    (work / "pod.toml").write_text(POD + TRACE)
    (work / "trace.jsonl").write_text(json.dumps(REQUEST) + "\n{'src': 0}\n")
    assert _refuse(work, "sim", "pod.toml").startswith("trace.jsonl:2: not JSON")


def test_sim_refuses_missing_and_foreign_files(work):
    assert _refuse(work, "sim", "none.toml") == "none.toml: cannot be read: No such file or directory"
    assert _refuse(work, "sim", ".").startswith("Invalid value for 'SCENARIO'")
    (work / "pod.toml").write_text(POD + TRACE)
    assert _refuse(work, "sim", "pod.toml") == "pod.toml:6: workload.trace: there is no file trace.jsonl"
    (work / "binary.toml").write_bytes(b"\xff\xfe\x00")
    assert _refuse(work, "sim", "binary.toml") == "binary.toml: is not UTF-8 text"
    (work / "file").write_text("")
    assert "'file' is a file" in _refuse(work, "sim", "pod.toml", "--out", "file")
    assert _refuse(work, "sim", "pod.toml", "--seed", "-1").startswith("Invalid value for '--seed'")
    assert _refuse(work, "sim") == "Missing argument 'SCENARIO'."


@pytest.fixture
def capture(work):
    path = work / "capture.pcapng"
    with path.open("wb") as stream:
        writer = CaptureWriter(stream, ["acc0.0>sw0.0/tx"], 1562.5)
        for cycle in (0, 10):
            writer.write(0, cycle, bytes(640))
    return path


@pytest.mark.parametrize("cut", [1, 4, 600, 672, 676])
def test_decode_refuses_a_truncated_capture(work, capture, cut):
    capture.write_bytes(capture.read_bytes()[:-cut])
    if cut == 672:
        # What is left is one packet less, and whole.
        assert CliRunner().invoke(main, ["decode", "capture.pcapng"]).exit_code == 0
    else:
        assert _refuse(work, "decode", "capture.pcapng").startswith("capture.pcapng: is cut off after packet ")


def test_decode_refuses_missing_and_foreign_files(work):
    assert _refuse(work, "decode", "none.pcapng") == "none.pcapng: cannot be read: No such file or directory"
    for name, contents in (("empty", b""), ("text", b"no capture at all\n"), ("zeros", bytes(1000))):
        (work / name).write_bytes(contents)
        assert _refuse(work, "decode", name) == f"{name}: is not a pcapng capture"
    assert _refuse(work, "decode") == "Missing argument 'CAPTURE'."


def test_decode_prints_flits_as_text_and_as_json(capture):
    text = CliRunner().invoke(main, ["decode", str(capture)])
    assert text.exit_code == 0
    assert "acc0.0>sw0.0/tx" in text.stdout
    rows = CliRunner().invoke(main, ["decode", "--json", str(capture)])
    assert rows.exit_code == 0
    assert [json.loads(line)["type"] for line in rows.stdout.splitlines()] == ["flit", "flit"]


def test_decode_prints_the_dissector(tmp_path):
    result = CliRunner().invoke(main, ["decode", "--lua"])
    assert result.exit_code == 0
    assert result.stdout.startswith("-- ")
    assert "DissectorTable.get(" in result.stdout
    compiler = next(filter(None, map(shutil.which, ("luac", "luac5.4", "luac5.3"))), None)
    if compiler:
        (tmp_path / "ualink.lua").write_text(result.stdout)
        subprocess.run([compiler, "-p", tmp_path / "ualink.lua"], check=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "prots = 1",
            "values.toml:1: prots: unknown key; known are pod, link, upli, upli_checker, tl, dl, phy, switch",
        ),
        (
            "[switch]\nstation = 2",
            "values.toml:2: switch.station: unknown key; known are stations, route_entries, ports_per_row, injection,",
        ),
        ("[dl]\nreplay_deep = 4", "values.toml:2: dl.replay_deep: unknown key 'replay_deep'; known are replay_depth, "),
        ("[dl]\nreplay_depth = 1", "values.toml:2: dl.replay_depth: dl.replay_depth is 1; it must be a whole number"),
        ("[dl]\nreplay_depth = '4'", "values.toml:2: dl.replay_depth: dl.replay_depth is '4'"),
        ("[dl]\nreplay_depth = true", "values.toml:2: dl.replay_depth: dl.replay_depth is True"),
        ("[dl]\ncrc_covers_zero_field = 1", "values.toml:2: dl.crc_covers_zero_field: is 1; it must be true or false"),
        ("dl = 4", "values.toml:1: dl: must be one table, [dl]"),
        ("[upli]\nreq = 4", "values.toml:2: upli.req: is 4; it must be a table"),
        ("[tl.req_cmd]\nvc = [1, 2]", "values.toml:1: tl.req_cmd: credits.vc is (1, 2); it must hold four counts"),
        ("[tl]\ncmd_counter_bits = 4", "values.toml:2: tl.cmd_counter_bits: tl.req_cmd does not fit in counters of 4"),
        ("[pod]\nbifurcation = 'x3'", "values.toml:2: pod.bifurcation: is 'x3'; it must be one of x4, 2x2, 4x1"),
        (
            "[pod]\nchoosable_ports = true\nseparate_upli_clock = true",
            "values.toml:2: pod.choosable_ports: is true, and separate_upli_clock too; one of them can be",
        ),
        (
            "[pod]\nchoosable_ports = true\n[dl]\nreplay_depth = 10",
            "values.toml:4: dl.replay_depth: is 10; with choosable_ports it must be a multiple of 4, and 12 or more",
        ),
        ("[pod]\naccelerators = 1", "values.toml:2: pod.accelerators: is 1"),
        ("[pod]\nbifurcation = '4x1'\n[dl]\nreplay_depth = 7", "values.toml:4: dl.replay_depth: is 7; 4 ports need"),
        ("[pod] 1", "values.toml:1: not TOML: Expected newline or end of document after a statement"),
        (f"[dl]\nreplay_depth = {10**4000}{0:0500d}", "values.toml:2: holds a number of more than 4300 digits"),
        (
            f"[dl]\nreplay_depth = 0x{1 << 20_000:x}",
            "values.toml:2: dl.replay_depth: dl.replay_depth is a number",
        ),
        (f"[dl]\n\nreplay_depth = {'[' * 100_000}", "values.toml:3: is nested deeper than 100 levels"),
        ("\ufeff[dl]\nreplay_depth = 4", "values.toml:1: begins with a byte order mark"),
    ],
)
def test_generate_refuses_values(work, text, reason):
    (work / "values.toml").write_text(text)
    assert _refuse(work, "generate", "station", "--config", "values.toml", "-o", "verilog").startswith(reason)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["switch", "--stations", "1"], "switch.stations is 1; it must be a whole number from 2 to 256"),
        (["switch", "--stations", "257"], "switch.stations is 257"),
        (["switch", "--stations", "many"], "Invalid value for '--stations': 'many' is not a valid integer."),
        (["controller", "--stations", "4"], "--stations has no meaning for a controller"),
        (["station", "--bus", "apb"], "--bus has no meaning for a station"),
        (
            ["controller", "--bus", "pci"],
            "Invalid value for '--bus': 'pci' is not one of 'axi4-lite', ",
        ),
        (
            ["controller", "--set", "controller.bus='ahb'"],
            "--set controller.bus='ahb': controller.bus: is 'ahb'",
        ),
        (["switch", "--bus", "pci"], "Invalid value for '--bus': 'pci' is not one of 'axi4-lite', "),
        (["switch", "--set", "switch.bus='ahb'"], "--set switch.bus='ahb': switch.bus: is 'ahb'"),
        (["station", "--ports", "3"], "Invalid value for '--ports': '3' is not one of '1', '2', '4'."),
        (["station", "--config", "none.toml"], "none.toml: cannot be read: No such file or directory"),
        (["station", "--set", "dl.replay_depth=1"], "--set dl.replay_depth=1: dl.replay_depth: dl.replay_depth is 1"),
        (["station", "-o", "file"], "Invalid value for '-o' / '--out': Directory 'file' is a file."),
        (["router"], "Invalid value for '{controller|station|switch|upli_checker}': 'router' is not one of "),
        (["station", "--color", "red"], "No such option"),
        ([], "Missing argument '{controller|station|switch|upli_checker}'. Choose from: controller, station, switch, "),
    ],
)
def test_generate_refuses_command_lines(work, arguments, reason):
    (work / "file").write_text("")
    assert _refuse(work, "generate", *arguments).startswith(reason)


def test_generate_says_where_it_cannot_write(work, monkeypatch):
    monkeypatch.setattr(ualink.emit.generate, "verilog_and_memories", lambda *_: ("", []))
    (work / "file").write_text("")
    assert _refuse(work, "generate", "station", "-o", "file/below") == "file/below: Not a directory"


@pytest.mark.parametrize(("what", "module"), [("controller", "ualink_controller"), ("switch", "ualink_switch")])
def test_generate_names_what_it_wrote(work, monkeypatch, what, module):
    monkeypatch.setattr(ualink.emit.generate, "verilog_and_memories", lambda component, name: (f"// {name}\n", []))
    (work / "values.toml").write_text(
        "[dl]\nreplay_depth = 9" if what == "controller" else "[switch]\nroute_entries = 16"
    )
    result = CliRunner().invoke(main, ["generate", what, "--config", "values.toml", "--ports", "2", "-o", "made"])
    assert result.exit_code == 0
    registers = ("_registers.json", "_registers.rdl", "_registers.h")
    assert result.stdout.split() == [f"made/{module}{end}" for end in (".v", ".json", ".vlt", *registers)]
    parameters = json.loads((work / "made" / f"{module}.json").read_text())["parameters"]
    built = parameters.get("switch", parameters)
    assert built["station"]["ports"] == 2
    assert built["station"]["dl"]["replay_depth"] == 9 if what == "controller" else built["route_entries"] == 16


def test_compliance_refuses_a_folder_outside_a_checkout(work):
    assert "not inside a checkout of amaranth-ualink" in _refuse(work, "compliance")


def test_an_unknown_command_is_refused(work):
    assert _refuse(work, "simulate") == "No such command 'simulate'."


HELP = {
    "sim": [
        "SCENARIO",
        "--out",
        "--seed",
        "--json",
        "--wave",
        "--set",
        "Exit status 0 only if every transaction completed",
    ],
    "decode": ["[CAPTURE]", "--json", "--lua", "pcapng"],
    "generate": [
        "{controller|station|switch|upli_checker}",
        "--config",
        "--scenario",
        "--set",
        "--ports [1|2|4]",
        "--stations",
        "--bus [axi4-lite|apb|native]",
        "-o, --out",
    ],
    "bench": ["[NAME]...", "--json", "--list", "--liberty", "--write", "docs/performance.md"],
    "compliance": ["--json", "docs/compliance.md"],
}


@pytest.mark.parametrize("command", HELP)
def test_help_tells_every_argument_and_option(command):
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    for words in HELP[command]:
        assert words in result.stdout
    for parameter in main.commands[command].params:
        assert all(option in result.stdout for option in parameter.opts if option.startswith("-"))
        assert parameter.param_type_name == "argument" or parameter.help


def test_help_lists_every_command():
    listed = CliRunner().invoke(main, ["-h"]).stdout
    assert all(f"\n  {name} " in listed for name in main.commands)
