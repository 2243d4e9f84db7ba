"""Compiled models: waves, and what a user is told when something is missing."""

import subprocess

import pytest

from ualink_sim import simulator
from ualink_sim.simulator import RunOptions, SimulatorError, build, build_root, check_wave_support
from ualink_sim.verilation import FEW_QUESTIONS, known

CHAIN = """
module chain(input clk, input rst, input [3:0] a, output reg [3:0] b);
  always @(posedge clk) b <= rst ? 4'd0 : b + a;
endmodule
"""


def _has_headers() -> bool:
    try:
        check_wave_support()
    except SimulatorError:
        return False
    return True


ADDER = """
module adder(input clk, input [3:0] a, input [3:0] b, output reg [3:0] sum);
  always @(posedge clk) sum <= a + b;
endmodule
"""
PAIR = """
module pair(input clk, input rst, input [3:0] a, output [3:0] b);
  adder held (.clk(clk), .a(rst ? 4'd0 : b), .b(rst ? 4'd0 : a), .sum(b));
endmodule
"""
AROUND = """
module chain(input clk, input rst, input [3:0] a, output [3:0] b, output [3:0] c);
  pair one (.clk(clk), .rst(rst), .a(a), .b(b));
  adder two (.clk(clk), .a(b), .b(4'd1), .sum(c));
endmodule
"""


def test_blocks_are_compiled_once_for_all_models_that_have_them(tmp_path, monkeypatch):
    """One that another has an instance of, too; and what they do is what they do as parts of the model."""
    (tmp_path / "models").mkdir()
    for runtime in (build_root() / "models").glob("runtime-*"):
        (tmp_path / "models" / runtime.name).symlink_to(runtime)
    monkeypatch.setenv("UALINK_BUILD", str(tmp_path))
    sources, blocks = {"chain.v": AROUND, "pair.v": PAIR, "adder.v": ADDER}, {"pair": None, "adder": None}

    def complete(block):
        return len(list(tmp_path.glob(f"models/{block}-*/complete")))

    # What was not compiled to its end is compiled again.
    with pytest.raises(SimulatorError, match=r"(?s)chain could not be compiled.*%Error.*endmodul"):
        build({**sources, "chain.v": AROUND.replace("endmodule", "endmodul")}, "chain", blocks=blocks)
    assert not complete("*")
    (left,) = tmp_path.glob("models/adder-*/")
    (left / "adder.v").write_text("half of it")
    verilated = []
    for text in (AROUND, AROUND.replace("4'd1", "4'd2")):
        model = build({**sources, "chain.v": text}, "chain", blocks=blocks)
        model.run("support.lib.chain_bench", environment={"EXPECTED": "0 1 3 6"})
        log = (model.folder / "build.log").read_text().splitlines()
        made = [module for module in ("chain", *blocks) if any(f"--top-module {module} " in line for line in log)]
        verilated.append(made)
    assert verilated == [["chain", "pair", "adder"], ["chain"]]
    assert [*map(complete, blocks)] == [1, 1]
    # What has an instance of another adder is another pair.
    build({**sources, "adder.v": ADDER.replace("a + b", "a - b")}, "chain", blocks=blocks)
    assert complete("pair") == 2


@pytest.mark.skipif(not _has_headers(), reason="liblz4-dev is not installed")
def test_a_traced_model_writes_waves(tmp_path, monkeypatch):
    monkeypatch.setenv("UALINK_BUILD", str(tmp_path))
    model = build({"chain.v": CHAIN}, "chain", trace=True)
    model.run(
        "support.lib.chain_bench", environment={"EXPECTED": "0 1 3 6"}, options=RunOptions(wave=tmp_path / "wave.fst")
    )
    assert (tmp_path / "wave.fst").stat().st_size > 100
    # Verilator's own objects are made with the first model, and are those of the second.
    other = build({"chain.v": CHAIN.replace("b + a", "b - a")}, "chain", trace=True)
    assert [_compiles_the_runtime(built) for built in (model, other)] == [True, False]
    assert (model.folder / "verilated.o").read_bytes() == (other.folder / "verilated.o").read_bytes()
    assert " ".join(("-Os", *known(FEW_QUESTIONS))) in (model.folder / "build.log").read_text()


def test_what_a_run_is_given_goes_before_what_is_in_the_environment(monkeypatch):
    for name in ("EXPECTED", "UALINK_THREADS"):
        monkeypatch.setenv(name, "of the environment")
    model = build({"chain.v": CHAIN}, "chain")
    model.run("support.sim.environment_bench", environment={"EXPECTED": "given"}, options=RunOptions(threads=2))


def _compiles_the_runtime(model) -> bool:
    return any(line.endswith("verilated.cpp") for line in (model.folder / "build.log").read_text().splitlines())


@pytest.mark.parametrize("find", [build, lambda sources, top: simulator.build_once(lambda: sources, top, "")])
def test_a_model_belongs_to_the_environment_that_compiled_it(tmp_path, monkeypatch, find):
    """It finds cocotb's libraries in there: another environment, or one that was moved, compiles its own."""
    monkeypatch.setenv("UALINK_BUILD", str(tmp_path))
    compiled = []
    monkeypatch.setattr(simulator, "_compile", lambda *given: (compiled.append(given[-1]), given[-1].mkdir()))
    folders = []
    for prefix in ("/first", "/second", "/first"):
        monkeypatch.setattr(simulator.sys, "prefix", prefix)
        folders.append(find({"chain.v": CHAIN}, "chain").folder)
    assert folders[0] == folders[2] != folders[1]
    assert compiled == folders[:2]


def test_options_that_a_compiler_lacks_are_left_out():
    """An older one takes longer for a model, but makes it."""
    assert known(("-O2", "--param=no-such-parameter=1")) == ("-O2",)


def test_missing_headers_are_named_with_their_package(monkeypatch):
    monkeypatch.setattr(simulator.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 1))
    with pytest.raises(SimulatorError, match=r"lz4\.h.*apt install liblz4-dev"):
        check_wave_support()


def test_missing_compiler_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("UALINK_BUILD", str(tmp_path))
    monkeypatch.setattr(simulator.shutil, "which", lambda tool: None)
    with pytest.raises(SimulatorError, match=r"g\+\+ is not installed"):
        build({"chain.v": CHAIN}, "chain")


def test_broken_verilog_names_the_model_and_shows_the_end_of_the_log(tmp_path, monkeypatch):
    monkeypatch.setenv("UALINK_BUILD", str(tmp_path))
    with pytest.raises(SimulatorError, match=r"(?s)chain could not be compiled.*%Error"):
        build({"chain.v": "module chain(input clk; endmodule"}, "chain")
