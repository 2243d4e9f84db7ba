"""From board and design to a bitstream: ``ualink build``."""

import json
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ualink.checks import ConfigError, check_integer
from ualink.emit.memories import free_collisions, prefer_block_rams
from ualink.emit.wire_names import without_brackets

from .board import Board, Ecp5Board, GtyBoard
from .boards import find_board
from .constraints import constraints
from .designs import make_design
from .frame import Ecp5Top
from .report import Report, cells_of, clocks_of, utilisation_of
from .tools import BuildError, find_tool, run
from .vivado import make_project

__all__ = ["BuildError", "BuildOptions", "ConfigError", "build"]

_STEPS = {"yosys": "synthesis", "nextpnr-ecp5": "place and route", "ecppack": "bitstream"}
_BLOCK_BITS = 4097
"""Bits from which on a memory is made of block RAMs: LUT RAMs of 16 rows and 256 bits would need 384 LUTs."""
_BLOCK_ROWS = 17
"""Rows from which on: a LUT RAM has 16."""
_ROUTER = {"router2/bbMargin/x": "12", "router2/bbMargin/y": "12"}
"""Settings of nextpnr that its command line lacks: how many tiles beside the box around a net ``router2`` may go from
the first round on. With its 3 a dense design comes to stand at some hundred wires that two nets want."""
Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """How far a build goes: ``seed`` of place and route; ``place``, else only what synthesis makes; ``program`` the
    board with what was built. ConfigError: ``seed`` out of range, or nothing to program."""

    seed: int = 1
    place: bool = True
    program: bool = False

    def __post_init__(self):
        check_integer("seed", self.seed, 0, (1 << 31) - 1)
        if self.program and not self.place:
            raise ConfigError("there is nothing to program without place and route")


def build(
    board_name: str,
    design_name: str = "bert",
    options: BuildOptions = BuildOptions(),
    *,
    out: Path | None = None,
    progress: Progress = lambda step: None,
) -> tuple[Report, Path]:
    """Build a design for a board; gives the report and the folder of the results.

    ``out`` is that folder, ``build/<board>-<design>`` without. In it are afterwards the bitstream, ``report.json``,
    ``registers.json`` for the console, and the tools' logs. Files come there when all of them are whole. ``progress``
    is called with the name of each step.

    ConfigError: no such board or design. BuildError: a program is missing or failed.
    """
    board = find_board(board_name).of_design(design_name)
    design = make_design(design_name, board)
    name = f"{board.name}-{design_name}"
    out = Path("build", name) if out is None else out
    _check_folder(out)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=_existing(out)) as scratch:
        work = Path(scratch)
        if isinstance(board, Ecp5Board):
            report = _trellis(board, design, name, work, options, progress)
        else:
            assert isinstance(board, GtyBoard)
            report = make_project(board, design, work, place=options.place, progress=progress)
        report = replace(report, design=design_name)
        (work / "registers.json").write_text(design.registers.to_json())
        (work / "report.json").write_text(json.dumps(report.as_dict(), indent=1) + "\n")
        out.mkdir(parents=True, exist_ok=True)
        for file in sorted(work.iterdir()):
            file.replace(out / file.name)
    if options.program:
        progress("programming")
        load(board, out / str(report.bitstream))
    return report, out


def load(board: Board, bitstream: Path) -> None:
    """Put ``bitstream`` into the FPGA; it is gone when the power is. BuildError without openFPGALoader or ecpprog."""
    loader, other = shutil.which("openFPGALoader"), shutil.which("ecpprog")
    if loader:
        run([loader, "--board", board.programmer, str(bitstream)], Path.cwd())
    elif other and isinstance(board, Ecp5Board):
        run([other, "-S", str(bitstream)], Path.cwd())
    else:
        raise BuildError(
            "neither openFPGALoader nor ecpprog is on the PATH; on Debian or Ubuntu: apt-get install openfpgaloader; "
            f"the bitstream is {bitstream}"
        )


def _trellis(board: Ecp5Board, design, name: str, work: Path, wanted: BuildOptions, progress: Progress) -> Report:
    """With Yosys, nextpnr and Project Trellis."""
    progress("elaboration")
    platform = board.platform()
    top = Ecp5Top(board, design)
    options = f"--seed {wanted.seed} --timing-allow-fail --report nextpnr.json {design.place_options}"
    plan = platform.prepare(
        top,
        "top",
        synth_opts=design.synthesis_options,
        nextpnr_opts=options,
        add_preferences=constraints("ecp5.lpf"),
        debug_verilog=False,
    )
    seconds = {}
    with tempfile.TemporaryDirectory(dir=work) as folder:
        build = Path(folder)
        plan.extract(build)
        netlist = build / "top.il"
        text = without_brackets(free_collisions(netlist.read_text()))
        netlist.write_text(prefer_block_rams(text, bits=_BLOCK_BITS, rows=_BLOCK_ROWS))
        for tool, arguments in _commands((build / "build_top.sh").read_text()):
            if tool != "yosys" and not wanted.place:
                break
            step = _STEPS[tool]
            progress(step)
            start = time.monotonic()
            run([find_tool(tool), *arguments], build)
            if tool == "yosys":
                _set(build / "top.json", _ROUTER)
            seconds[step] = round(time.monotonic() - start, 1)
        required = {domain: hertz / 1e6 for domain, hertz in top.clock_hz.items()}
        report = Report(
            board=board.name,
            design="",
            device=f"{platform.device}-{platform.speed}{platform.package}",
            seed=wanted.seed,
            lanes=board.lanes,
            line_rate=board.line_rate,
            utilisation=cells_of(build / "top.json"),
            seconds=seconds,
        )
        kept = {"top.rpt": "synthesis.log", "top.lpf": f"{name}.lpf"}
        if wanted.place:
            kept |= {"top.tim": "place.log", "top.bit": f"{name}.bit", "top.svf": f"{name}.svf"}
            report = replace(
                report,
                utilisation=utilisation_of(build / "nextpnr.json"),
                clocks=clocks_of(build / "nextpnr.json", build / "top.json", required),
                bitstream=f"{name}.bit",
                bitstream_bytes=(build / "top.bit").stat().st_size,
            )
        for source, target in kept.items():
            (build / source).replace(work / target)
    return report


def _set(netlist: Path, settings: Mapping[str, str]) -> None:
    """Settings in a netlist are read by nextpnr like those that it writes there itself."""
    content = json.loads(netlist.read_text())
    content["modules"]["top"]["settings"] = settings
    netlist.write_text(json.dumps(content))


def _commands(script: str) -> list[tuple[str, list[str]]]:
    """Tools and arguments of a build script of Amaranth, in which a tool stands as ``"$NEXTPNR_ECP5"``."""
    commands = []
    for line in script.splitlines():
        words = shlex.split(line)
        tool = words[0].removeprefix("$").lower().replace("_", "-") if words else ""
        if tool in _STEPS:
            commands.append((tool, words[1:]))
    return commands


def _check_folder(out: Path) -> None:
    for path in (out, *out.parents):
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is not a folder")


def _existing(path: Path) -> Path:
    """The folder itself or the nearest one above that exists: results are moved within one file system."""
    return next(folder for folder in (path, *path.parents) if folder.is_dir())
