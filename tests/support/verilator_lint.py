"""Verilator's lint of generated Verilog."""

import subprocess
from pathlib import Path

from ualink_sim.simulator import tools

__all__ = ["lint"]


def lint(verilog: Path, *more: str) -> str:
    """What ``verilator -Wall`` says of ``verilog`` with ``more`` files of its folder, waivers among them."""
    command = ["verilator", "--lint-only", "-Wall", "-Wno-fatal", "--quiet-stats", *more, verilog.name]
    with tools() as environment:
        run = subprocess.run(command, cwd=verilog.parent, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stderr
