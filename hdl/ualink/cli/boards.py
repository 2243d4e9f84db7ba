"""``ualink build`` and ``ualink board``."""

import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from ualink.config import ConfigError

from .ending import Failure, Refusal, ended_by_signals, not_installed
from .gather import gathered

__all__ = ["board", "build"]


@dataclass(frozen=True)
class _BuildOptions:
    """How far a design is built, and what is told of it."""

    no_pnr: bool
    seed: int
    program: bool
    as_json: bool
    only_list: bool
    out: Path | None


@click.command()
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
        raise not_installed(error, "boards") from None

    if options.only_list:
        list_boards()
        return
    if board is None:
        raise click.UsageError("Missing argument 'BOARD'; --list shows them.")
    try:
        wanted = BuildOptions(seed=options.seed, place=not options.no_pnr, program=options.program)
        with ended_by_signals(), progress_of(silent=options.as_json) as progress:
            report, folder = build(board, design, wanted, out=options.out, progress=progress)
    except ConfigError as error:
        raise Refusal(str(error)) from None
    except BuildError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise Refusal(f"{error.filename}: {error.strerror}") from None
    if options.as_json:
        click.echo(json.dumps(report.as_dict()))
    else:
        show_report(report, folder)
    sys.exit(0 if report.timing_met else 1)


@click.command(
    add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def board(arguments: tuple[str, ...]):
    """Watch and work a board over its serial port: status, traffic, errors, registers (docs/console.md)."""
    try:
        from ualink_boards.console.cli import board as command
        from ualink_boards.console.errors import BadInput, BoardError
    except ImportError as error:
        raise not_installed(error, "boards") from None
    try:
        with ended_by_signals():
            command.main(list(arguments), prog_name="ualink board", standalone_mode=False)
    except BadInput as error:
        raise Refusal(str(error)) from None
    except BoardError as error:
        raise Failure(str(error)) from None
    except click.Abort:
        sys.exit(128 + signal.SIGINT)
