"""The ``ualink`` command. Each subcommand imports what it needs, so that generating Verilog needs no simulator."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from ualink import config as configuration
from ualink.description.error import ScenarioError
from ualink.description.file import load_description, parse_description
from ualink.description.hardware import Hardware, read_hardware
from ualink.description.presets import PRESET_NAMES
from ualink.gather import gathered

__all__ = ["main"]


class _Refusal(click.ClickException):
    """Bad input: one line on standard error, exit status 2."""

    exit_code = 2

    def show(self, file=None):
        click.echo(f"ualink: {' '.join(self.format_message().split())}", err=True)


class _Failure(_Refusal):
    """The input is good and something else is not: one line on standard error, exit status 1."""

    exit_code = 1


class _Commands(click.Group):
    """Says what is wrong with a command line in one line too."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise _Refusal(error.format_message()) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="amaranth-ualink")
def main():
    """UALink_200 Rev 1.0 controller and switch: simulate, decode, generate, check."""


def _simulation_product():
    try:
        import cocotb  # noqa: F401
        import jinja2  # noqa: F401
        import pcapng  # noqa: F401

        import ualink_sim
    except ImportError as error:
        raise _Refusal(f"{error.name} is not installed; run: pip install 'amaranth-ualink[sim]'") from None
    return ualink_sim


class _Ended(BaseException):
    """A signal asks the command to end; on its way out everything that it has begun is cleared away."""


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into ``_Ended``; one that is ignored, as by ``nohup``, stays so."""

    def end(number, _frame):
        raise _Ended(number)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    taken = [number for number, handler in handlers.items() if handler != signal.SIG_IGN]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, handlers[number])


overrides = click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="Put VALUE (as TOML has it) in the place of that in the file, as in link.latency_cycles=100; repeatable.",
)


@dataclass(frozen=True)
class _SimOptions:
    """Where the results go, and what differs from the scenario."""

    out: Path | None
    seed: int | None
    as_json: bool
    wave: bool
    overrides: tuple[str, ...]


@main.command()
@click.argument("scenario", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for the results [out/SCENARIO].")
@click.option("--seed", type=click.IntRange(0), help="Derive every random choice from this number.")
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of a table.")
@click.option("--wave", is_flag=True, help="Also write wave.fst (builds a slower model).")
@overrides
@gathered(_SimOptions)
def sim(scenario: Path, options: _SimOptions):
    """Simulate the pod of SCENARIO (a TOML file, see docs/scenarios.md) on RTL.

    Exit status 0 only if every transaction completed and every byte matched. Ctrl-C ends the simulation with the
    results so far, and exit status 130.
    """
    _simulation_product()
    from ualink_sim.output import OutputError
    from ualink_sim.pod.run import simulate
    from ualink_sim.pod.scenario import load_scenario
    from ualink_sim.report.summary import show_summary
    from ualink_sim.simulator import SimulatorError

    folder = options.out or Path("out") / scenario.stem
    try:
        with _ended_by_signals():
            chosen = load_scenario(scenario, options.overrides)
            if options.seed is not None:
                chosen = chosen.reseed(options.seed)
            results = simulate(chosen, folder, wave=options.wave, progress=not options.as_json)
    except (ScenarioError, OutputError) as error:
        raise _Refusal(str(error)) from None
    except SimulatorError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo("ualink: interrupted; nothing is written", err=True)
        sys.exit(128 + signal.SIGINT)
    except _Ended as end:
        sys.exit(128 + end.args[0])
    if options.as_json:
        click.echo(json.dumps(results.summary()))
    else:
        show_summary(results, folder)
    if results.ended == "interrupted":
        sys.exit(128 + signal.SIGINT)
    sys.exit(0 if results.passed else 1)


@main.command()
@click.argument("capture", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--lua", is_flag=True, help="Print the Wireshark dissector instead.")
def decode(capture: Path | None, as_json: bool, lua: bool):
    """Print DL flits, TL half-flits and transactions of CAPTURE (pcapng)."""
    _simulation_product()
    from ualink_sim.capture import decode_cli
    from ualink_sim.capture.pcapng import CaptureError

    if lua:
        click.echo(decode_cli.lua_dissector(), nl=False)
        return
    if capture is None:
        raise click.UsageError("Missing argument 'CAPTURE'.")
    try:
        for line in decode_cli.decode_lines(capture, as_json=as_json):
            click.echo(line)
    except CaptureError as error:
        raise _Refusal(str(error)) from None


@dataclass(frozen=True)
class _Parameters:
    """What is generated: a file of parameters, and what goes before it."""

    file: Path | None
    overrides: tuple[str, ...]
    ports: str | None
    stations: int | None
    preset: str | None

    def read(self) -> Hardware:
        """The hardware that they describe. ScenarioError, ConfigError: there is none."""
        if self.file is None:
            root = parse_description("", "", self.overrides)
        else:
            root = load_description(self.file, self.overrides)
        ports = int(self.ports) if self.ports else None
        return read_hardware(root, ports=ports, stations=self.stations, preset=self.preset)


@main.command()
@click.argument("what", type=click.Choice(["controller", "station", "switch"]))
@click.option(
    "--config",
    "--scenario",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML file of parameters, such as a scenario: its [pod], [upli], [tl], [dl], [phy] and [switch].",
)
@overrides
@click.option("--ports", type=click.Choice(["1", "2", "4"]), help="Ports per station: 1 x4, 2 x2 or 4 x1 links.")
@click.option("--stations", type=int, help="Stations of the switch.")
@click.option("--preset", type=click.Choice(PRESET_NAMES), help="Sizes of all that the file does not say.")
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("build/verilog"),
    show_default=True,
    help="Folder for the files.",
)
@gathered(_Parameters, "parameters")
def generate(what: str, parameters: _Parameters, out: Path):
    """Write a controller, station or switch as Verilog, parameters and ports as JSON, and waivers for Verilator."""
    from ualink.emit.generate import write_design

    if parameters.stations is not None and what != "switch":
        raise _Refusal(f"--stations has no meaning for a {what}")
    try:
        hardware = parameters.read()
        paths = write_design(what, hardware.switch if what == "switch" else hardware.station, out)
    except (ScenarioError, configuration.ConfigError) as error:
        raise _Refusal(str(error)) from None
    except OSError as error:
        raise _Refusal(f"{error.filename}: {error.strerror}") from None
    for path in paths:
        click.echo(path)


@dataclass(frozen=True)
class _BuildOptions:
    """How far a design is built, and what is told of it."""

    no_pnr: bool
    seed: int
    program: bool
    as_json: bool
    only_list: bool
    out: Path | None


@main.command()
@click.argument("board", required=False)
@click.option("--design", default="bert", show_default=True, help="What is built.")
@click.option("--no-pnr", is_flag=True, help="Stop after synthesis (Xilinx: after writing the Vivado project).")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of place and route.")
@click.option("--program", is_flag=True, help="Load the bitstream into the board, with openFPGALoader or ecpprog.")
@click.option("--json", "as_json", is_flag=True, help="Print report.json instead of a table.")
@click.option("--list", "only_list", is_flag=True, help="Print the boards and designs and build nothing.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Folder for the results [build/BOARD-DESIGN].")
@gathered(_BuildOptions)
def build(board: str | None, design: str, options: _BuildOptions):
    """Build a bitstream for BOARD (see docs/boards.md), and say how large and how fast it is.

    Exit status 0 when every clock is met, 1 when one is not or a tool has failed.
    """
    try:
        from ualink_boards.build import BuildError, BuildOptions, build
        from ualink_boards.show import list_boards, progress_of, show_report
    except ImportError as error:
        raise _Refusal(f"{error.name} is not installed; run: pip install 'amaranth-ualink[boards]'") from None

    if options.only_list:
        list_boards()
        return
    if board is None:
        raise click.UsageError("Missing argument 'BOARD'; --list shows them.")
    try:
        wanted = BuildOptions(seed=options.seed, place=not options.no_pnr, program=options.program)
        with _ended_by_signals(), progress_of(silent=options.as_json) as progress:
            report, folder = build(board, design, wanted, out=options.out, progress=progress)
    except configuration.ConfigError as error:
        raise _Refusal(str(error)) from None
    except BuildError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise _Refusal(f"{error.filename}: {error.strerror}") from None
    except KeyboardInterrupt:
        click.echo("ualink: interrupted; nothing is written", err=True)
        sys.exit(128 + signal.SIGINT)
    except _Ended as end:
        sys.exit(128 + end.args[0])
    if options.as_json:
        click.echo(json.dumps(report.as_dict()))
    else:
        show_report(report, folder)
    sys.exit(0 if report.timing_met else 1)


@dataclass(frozen=True)
class _Silicon:
    """What the rows of silicon are mapped to."""

    liberties: tuple[Path, ...]
    period_ps: int


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.option("--list", "only_list", is_flag=True, help="Print the names of the rows and measure nothing.")
@click.option(
    "--liberty",
    "liberties",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="File of a standard-cell library for rows of area and timing; several times, or several files at the end.",
)
@click.option(
    "--period",
    "period_ps",
    type=click.IntRange(1),
    default=640,
    show_default=True,
    help="Clock period for the rows of silicon, in ps.",
)
@click.option(
    "--write",
    "page",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Also put the values into the tables of this Markdown page.",
)
@gathered(_Silicon, "silicon")
def bench(names: tuple[str, ...], as_json: bool, only_list: bool, silicon: _Silicon, page: Path | None):
    """Measure the numbers of docs/performance.md: all of them, or the rows whose names are NAME or begin with it.

    Simulated rows compile their model first; rows that need place and route take minutes each. What a row needs and
    does not find leaves it without a value. "silicon" and blocks of it (dl1 dl4 tl_tx tl_rx station1 station4; without
    any, the fast ones) are timed with Yosys and OpenSTA in the library of --liberty.
    """
    _simulation_product()
    from ualink_sim.bench.registry import UnknownName, run, select
    from ualink_sim.bench.rows import Options, Unavailable
    from ualink_sim.bench.show import show_rows, update_page

    files = tuple(name for name in names if name.endswith((".lib", ".lib.gz")))
    names = tuple(name for name in names if name not in files)
    try:
        benches = select(names, Options((*silicon.liberties, *map(Path, files)), silicon.period_ps), slow=only_list)
        for chosen in benches if names and not only_list else ():
            chosen.ready()
    except (UnknownName, Unavailable) as error:
        raise _Refusal(str(error)) from None
    if only_list:
        for row in (row for bench in benches for row in bench.rows):
            click.echo(row.name)
        return
    rows = list(run(benches, lambda name: click.echo(f"measuring {name}", err=True)))
    if page is not None:
        update_page(page, rows)
    if as_json:
        click.echo(json.dumps({"rows": [row.as_dict() for row in rows]}))
    else:
        show_rows(rows)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def compliance(as_json: bool):
    """Count the requirements of the standard that the tests show, and write docs/compliance.md.

    Exit status 1 when a test that carries a requirement failed.
    """
    _simulation_product()
    from ualink_sim.compliance.count import ComplianceError, run

    try:
        sys.exit(run(Path.cwd(), as_json=as_json))
    except ComplianceError as error:
        raise _Refusal(str(error)) from None


@main.command(
    add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def board(arguments: tuple[str, ...]):
    """Watch and work a board over its serial port: status, traffic, errors, registers (docs/console.md)."""
    try:
        from ualink_boards.console.cli import board as command
        from ualink_boards.console.errors import BadInput, BoardError
    except ImportError as error:
        raise _Refusal(f"{error.name} is not installed; run: pip install 'amaranth-ualink[boards]'") from None
    try:
        with _ended_by_signals():
            command.main(list(arguments), prog_name="ualink board", standalone_mode=False)
    except BadInput as error:
        raise _Refusal(str(error)) from None
    except BoardError as error:
        raise _Failure(str(error)) from None
    except click.Abort:
        sys.exit(128 + signal.SIGINT)
    except _Ended as end:
        sys.exit(128 + end.args[0])
