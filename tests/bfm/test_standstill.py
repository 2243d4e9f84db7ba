"""cocotb's own runner finds its simulator; in it models that stand still end in a time-out, not in a hang."""

import shutil

import pytest
from cocotb_tools.runner import get_results

from ualink_sim.simulator import SimulatorError, runner

NOTHING = "module nothing(input clk, output reg q);\n  always @(posedge clk) q <= 1'b1;\nendmodule\n"


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_models_that_stand_still(simulator, tmp_path):
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("iverilog is not installed")
    (tmp_path / "nothing.v").write_text(NOTHING)
    with runner(simulator) as run:
        run.build(
            sources=[tmp_path / "nothing.v"], hdl_toplevel="nothing", build_dir=tmp_path, timescale=("1ns", "1ps")
        )
        results = run.test(
            hdl_toplevel="nothing",
            test_module="support.bfm.standstill_bench",
            build_dir=tmp_path,
            test_dir=tmp_path,
            timescale=("1ns", "1ps"),
        )
    assert get_results(results) == (3, 0)


def test_a_simulator_that_is_not_there_is_named():
    with pytest.raises(SimulatorError, match=r"^abacus cannot be used: "), runner("abacus"):
        pass


def test_the_environment_is_given_back(monkeypatch):
    monkeypatch.delenv("VERILATOR_ROOT", raising=False)
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    before = shutil.which("verilator")
    with runner("verilator"):
        assert shutil.which("verilator")
    assert shutil.which("verilator") == before
