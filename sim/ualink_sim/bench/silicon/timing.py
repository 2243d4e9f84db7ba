"""Times the gates of a block with OpenSTA, and reads what it reports."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..rows import Unavailable

__all__ = ["Endpoint", "Step", "Timing", "read_endpoints", "read_path", "run_sta", "sta_script", "sta_version"]

# All endpoints one by one, and the worst path in full; repairs lie between two looks at the endpoints.
_SCRIPT = """{libraries}
read_verilog top.v
link_design top
set_cmd_units -time ps -capacitance fF
foreach name {{clk upli_clk}} {{
  if {{[llength [get_ports -quiet $name]]}} {{ create_clock -name $name -period {period} [get_ports $name] }}
}}
set_clock_transition 20 [all_clocks]
report_checks -path_delay max -group_count 1000000 -endpoint_count 1 -format end -digits 1 > mapped.txt
{repairs}report_checks -path_delay max -group_count 1000000 -endpoint_count 1 -format end -digits 1 > endpoints.txt
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


@dataclass(frozen=True)
class Timing:
    """All endpoints as they came from the mapper, and at the end, with the steps of the worst path."""

    mapped: list[Endpoint]
    endpoints: list[Endpoint]
    path: list[Step]


def sta_version() -> str:
    """What OpenSTA calls itself; Unavailable if it is not on PATH."""
    if shutil.which("sta") is None:
        raise Unavailable("OpenSTA (the command sta) is not on PATH; Debian has it as the package opensta")
    run = subprocess.run(["sta", "-version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return run.stdout.strip()


def sta_script(liberties: Sequence[str], period_ps: int, repairs: str) -> str:
    """What OpenSTA does with ``top.v``, and with the script ``repairs``: an ideal clock, no wires."""
    libraries = "\n".join(f"read_liberty {file}" for file in liberties)
    return _SCRIPT.format(libraries=libraries, period=period_ps, repairs=repairs)


def run_sta(folder: Path) -> Timing:
    """Run ``sta.tcl`` in ``folder``."""
    sta_version()
    run = subprocess.run(
        ["sta", "-no_splash", "-exit", "sta.tcl"], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    reports = [Path(folder, name) for name in ("mapped.txt", "endpoints.txt", "path.txt")]
    if run.returncode or not all(report.exists() for report in reports):
        raise Unavailable(f"sta failed: {' '.join((run.stderr + run.stdout).split())[:300]}")
    mapped, endpoints = (read_endpoints(report.read_text()) for report in reports[:2])
    if not endpoints:
        raise Unavailable(f"sta finds no paths: {' '.join((run.stderr + run.stdout).split())[:300]}")
    return Timing(mapped, endpoints, read_path(reports[2].read_text()))


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
