"""``ualink bench`` and ``ualink compliance``."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from .ending import Refusal
from .gather import gathered
from .parts import simulation_product

__all__ = ["bench", "compliance"]


@dataclass(frozen=True)
class _Silicon:
    """What the rows of silicon are mapped to."""

    liberties: tuple[Path, ...]
    period_ps: int


@click.command()
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
    does not find leaves it without a value. "silicon" and blocks of it (dl1 dl4 tl_tx tl_rx originator completer
    station1 station1_bare station4 station_chosen core4 core8 core16_requests core16_read_responses
    core16_write_responses; without any, the fast ones) are timed with Yosys and OpenSTA in the library of --liberty.
    """
    simulation_product()
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
        raise Refusal(str(error)) from None
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


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def compliance(as_json: bool):
    """Count the requirements of the standard that the tests show, and write docs/compliance.md.

    Exit status 1 when a test that carries a requirement failed.
    """
    simulation_product()
    from ualink_sim.compliance.count import ComplianceError, run

    try:
        sys.exit(run(Path.cwd(), as_json=as_json))
    except ComplianceError as error:
        raise Refusal(str(error)) from None
