"""The commands of ``ualink board``."""

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from ualink.cli.gather import gathered

from . import actions, bit_errors, following, readings, simulated, text
from .board import Board, open_board
from .errors import BadInput
from .serial_bus import BAUD, TIMEOUT, SerialBus, choose_port

__all__ = ["board"]


@dataclass(frozen=True)
class Session:
    """Which board, as the options say."""

    port: str | None
    baud: int
    timeout: float
    design: str | None
    registers: Path | None
    simulated: str | None

    @contextmanager
    def open(self) -> Iterator[Board]:
        """The board, until the end of the ``with`` statement."""
        with ExitStack() as stack:
            if self.simulated is None:
                port, baud = self.port or choose_port(), self.baud
            else:
                port, baud = stack.enter_context(simulated.simulated_board(self.simulated)), simulated.SIMULATED_BAUD
            bus = stack.enter_context(SerialBus(port, baud=baud, timeout=self.timeout))
            yield open_board(bus, registers=self.registers, design=self.design)


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
every = click.option(
    "--every", type=click.FloatRange(0.01), default=1.0, show_default=True, help="Seconds between two."
)
count = click.option("--count", type=click.IntRange(1), help="So many, instead of until Ctrl-C.")
window = click.option("--window", metavar="NAME", help="Only this window of the design.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--port", envvar="UALINK_PORT", metavar="PATH", help="Serial port [the only one of the machine].")
@click.option("--baud", type=click.IntRange(1), default=BAUD, show_default=True, help="Bits per second of the line.")
@click.option(
    "--timeout", type=click.FloatRange(0.01), default=TIMEOUT, show_default=True, help="Seconds to wait for an answer."
)
@click.option("--design", metavar="NAME", help="Refuse any other design.")
@click.option(
    "--registers",
    type=click.Path(dir_okay=False, path_type=Path),
    help="registers.json of the bitstream [the package's own for the design that answers].",
)
@click.option("--simulate", "simulated", metavar="DESIGN", help="Simulate a board for this command.")
@click.pass_context
@gathered(Session, "session")
def board(context: click.Context, session: Session):
    """Watch and work a board over its serial port (docs/console.md).

    Names are WINDOW.REGISTER or WINDOW.REGISTER.FIELD. Exit status 2: something is wrong with what was asked; 1: the
    board does not answer, has gone or refuses; 130: Ctrl-C.
    """
    if session.simulated is not None:
        for name, value in (("--port", session.port), ("--registers", session.registers)):
            if value is not None and context.get_parameter_source(name[2:]) == click.core.ParameterSource.COMMANDLINE:
                raise BadInput(f"{name} has no meaning with --simulate")
    context.obj = session


@board.command()
@as_json
@click.pass_obj
def status(session: Session, as_json: bool):
    """State of links, lanes and traffic, and the events that have happened."""
    with session.open() as opened:
        shown = readings.status(opened)
        title = f"{opened.table.name} on {opened.bus.port}, registers at {opened.table.clock_hz / 1e6:g} MHz"
    _show(shown, as_json, title)


@board.command()
@as_json
@click.pass_obj
def counters(session: Session, as_json: bool):
    """All counters, those of a window at the same moment."""
    with session.open() as opened:
        shown = readings.counters(opened)
    _show(shown, as_json)


@board.command()
@as_json
@click.pass_obj
def dump(session: Session, as_json: bool):
    """Every register."""
    with session.open() as opened:
        shown = readings.dump(opened)
    _show(shown, as_json)


@board.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@as_json
@click.pass_obj
def peek(session: Session, names: tuple[str, ...], as_json: bool):
    """Read registers or fields."""
    with session.open() as opened:
        for name in names:
            readings.check_readable(opened, name)
        shown = [reading for name in names for reading in readings.peek(opened, name)]
    _show(shown, as_json)


@board.command()
@click.argument("assignments", nargs=-1, required=True, metavar="NAME=VALUE...")
@click.pass_obj
def poke(session: Session, assignments: tuple[str, ...]):
    """Write registers or fields; of the other fields, settings stay and the rest is written 0."""
    with session.open() as opened:
        actions.poke(opened, assignments)


@board.command()
@click.argument("settings", nargs=-1, metavar="[REGISTER.FIELD=VALUE]...")
@window
@click.pass_obj
def start(session: Session, settings: tuple[str, ...], window: str | None):
    """Start the traffic engines, after writing settings to them."""
    with session.open() as opened:
        names = actions.start_traffic(opened, settings, window)
    click.echo(f"started {', '.join(names)}")


@board.command()
@window
@click.pass_obj
def stop(session: Session, window: str | None):
    """Stop the traffic engines."""
    with session.open() as opened:
        names = actions.stop_traffic(opened, window)
    click.echo(f"stopped {', '.join(names)}")


@board.command()
@click.argument("error", required=False)
@click.option("--count", type=click.IntRange(1, 1000), default=1, show_default=True, help="How many.")
@window
@click.pass_obj
def inject(session: Session, error: str | None, count: int, window: str | None):
    """Inject errors; without a name where there is one kind only."""
    with session.open() as opened:
        names = actions.inject(opened, error, count, window)
    click.echo(f"injected {count} in {', '.join(names)}")


@dataclass(frozen=True)
class BitErrorTest:
    """A bit-error test, as the options say."""

    seconds: float
    pattern: str | None
    loopback: str | None
    lanes: tuple[str, ...]

    @property
    def settings(self) -> dict[str, str]:
        """What is set before it starts."""
        options = {"pattern": self.pattern, "loopback": self.loopback}
        return {name: value for name, value in options.items() if value is not None}


@board.command()
@click.argument("what", type=click.Choice(["run", "start", "read", "stop"]), default="run")
@click.option("--seconds", type=click.FloatRange(0.01), default=10.0, show_default=True, help="Length of a run.")
@click.option("--pattern", metavar="NAME", help="Sequence, such as prbs31.")
@click.option("--loopback", metavar="NAME", help="Loopback of the lanes, such as near_end.")
@click.option("--lane", "lanes", multiple=True, metavar="NAME", help="Only this lane; repeatable.")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the greatest bit error rate that the errors allow.",
)
@as_json
@click.pass_obj
@gathered(BitErrorTest, "test")
def bert(session: Session, what: str, test: BitErrorTest, confidence: float, as_json: bool):
    """Bit-error test: run it for some seconds, or start it, read it and stop it.

    Exit status 1 when a lane did not follow the sequence all the time.
    """
    settings = test.settings
    if settings and what in ("read", "stop"):
        raise BadInput(f"--{next(iter(settings))} has no meaning for {what}")
    with session.open() as opened:
        chosen = bit_errors.bert_windows(opened, test.lanes)
        if what == "stop":
            bit_errors.stop_test(opened, chosen)
        elif what != "read":
            bit_errors.start_test(opened, chosen, settings)
        if what in ("start", "stop"):
            return
        results = (
            bit_errors.read_lanes(opened, chosen)
            if what == "read"
            else bit_errors.run_test(opened, chosen, test.seconds, _progress)
        )
    click.echo(text.bert_json(results, confidence) if as_json else text.bert_lines(results, confidence))
    if not all(lane.good for lane in results):
        sys.exit(1)


@board.command()
@every
@count
@click.pass_obj
def watch(session: Session, every: float, count: int | None):
    """Status, counters and their rates, on and on."""
    with session.open() as opened:
        following.watch(opened, Console(highlight=False), every=every, count=count)


@board.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--csv", "path", type=click.Path(dir_okay=False, path_type=Path), required=True, help="New file.")
@every
@count
@click.pass_obj
def log(session: Session, names: tuple[str, ...], path: Path, every: float, count: int | None):
    """Write status and counters to a CSV file, a line every so often; NAMEs, or all of them."""
    with session.open() as opened:
        lines, interrupted = following.log(opened, path, names, every=every, count=count)
    click.echo(f"{lines} lines in {path}")
    if interrupted:
        sys.exit(128 + signal.SIGINT)


@board.command()
@click.argument("design")
@click.option(
    "--rest-after",
    type=click.IntRange(1),
    default=simulated.REST_AFTER,
    show_default=True,
    help="Cycles without a byte from outside after which simulated time stands still.",
)
def simulate(design: str, rest_after: int):
    """Simulate a board with DESIGN until Ctrl-C; its port is printed, for --port of other commands."""
    simulated.simulate(design, click.echo, rest_after=rest_after)


def _progress(passed: float, results: list[bit_errors.LaneResult]) -> None:
    if sys.stderr.isatty():
        errors = sum(lane.errors for lane in results)
        click.echo(f"\r{passed:6.1f} s, {errors:,} errors", err=True, nl=False)


def _show(shown: list[readings.Reading], as_json: bool, title: str | None = None) -> None:
    if as_json:
        click.echo(text.as_json(shown))
        return
    lines = text.columns((reading.path, reading.shown) for reading in shown)
    click.echo(lines if title is None else f"{title}\n{lines}")
