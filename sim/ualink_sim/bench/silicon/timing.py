"""Times the gates of a block with OpenSTA, and reads what it reports."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..rows import Unavailable

__all__ = ["Endpoint", "Step", "read_endpoints", "read_path", "run_sta", "sta_script", "sta_version"]

# All endpoints one by one, and the worst path in full.
_SCRIPT = """{libraries}
read_verilog top.v
link_design top
set_cmd_units -time ps -capacitance fF
foreach name {{clk upli_clk}} {{
  if {{[llength [get_ports -quiet $name]]}} {{ create_clock -name $name -period {period} [get_ports $name] }}
}}
set_clock_transition 20 [all_clocks]
report_checks -path_delay max -group_count 1000000 -endpoint_count 1 -format end -digits 1 > endpoints.txt
report_checks -path_delay max -format full -digits 1 > path.txt
"""

_ENDPOINT = re.compile(r"^(\S+)/\w+(?:\[\d+\])? \(\S+\)\s+-?[\d.]+\s+-?[\d.]+\s+(-?[\d.]+)", re.MULTILINE)
_SLACK = re.compile(r"(-?[\d.]+)\s+slack")
_STEP = re.compile(r"[v^]\s+(\S+)/(\w+(?:\[\d+\])?) \((\w+)\)$", re.MULTILINE)


@dataclass(frozen=True)
class Endpoint:
    """A register or memory at which paths end, and the slack of the worst of them."""

    instance: str
    slack_ps: float


@dataclass(frozen=True)
class Step:
    """A pin on a path."""

    instance: str
    pin: str


def sta_version() -> str:
    """What OpenSTA calls itself; Unavailable if it is not on PATH."""
    if shutil.which("sta") is None:
        raise Unavailable("OpenSTA (the command sta) is not on PATH; Debian has it as the package opensta")
    run = subprocess.run(["sta", "-version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return run.stdout.strip()


def sta_script(liberties: Sequence[str], period_ps: int) -> str:
    """What OpenSTA does with ``top.v``: an ideal clock, no wires."""
    return _SCRIPT.format(libraries="\n".join(f"read_liberty {file}" for file in liberties), period=period_ps)


def run_sta(folder: Path) -> tuple[list[Endpoint], list[Step]]:
    """Run ``sta.tcl`` in ``folder``: all endpoints, and the steps of the worst path."""
    sta_version()
    run = subprocess.run(
        ["sta", "-no_splash", "-exit", "sta.tcl"], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    reports = [Path(folder, name) for name in ("endpoints.txt", "path.txt")]
    if run.returncode or not all(report.exists() for report in reports):
        raise Unavailable(f"sta failed: {' '.join((run.stderr + run.stdout).split())[:300]}")
    endpoints = read_endpoints(reports[0].read_text())
    if not endpoints:
        raise Unavailable(f"sta finds no paths: {' '.join((run.stderr + run.stdout).split())[:300]}")
    return endpoints, read_path(reports[1].read_text())


def read_endpoints(report: str) -> list[Endpoint]:
    """The lines of ``report_checks -format end``, the worst first."""
    found = [Endpoint(name.replace("\\", ""), float(slack)) for name, slack in _ENDPOINT.findall(report)]
    return sorted(found, key=lambda endpoint: endpoint.slack_ps)


def read_path(report: str) -> list[Step]:
    """The pins of the worst path of ``report_checks -format full``, from the register's output to where it ends."""
    paths = [text for text in report.split("Startpoint: ")[1:] if _SLACK.search(text)]
    if not paths:
        return []
    worst = min(paths, key=lambda text: float(_SLACK.search(text)[1]))  # type: ignore[index]
    steps = [Step(name.replace("\\", ""), pin) for name, pin, _ in _STEP.findall(worst.split("data arrival time")[0])]
    return steps[1:]
