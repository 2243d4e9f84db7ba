"""``ualink sim`` and ``ualink decode``."""

import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from ualink.description.error import ScenarioError

from .ending import Refusal, ended_by_signals
from .gather import gathered
from .parts import overrides, simulation_product

__all__ = ["decode", "sim"]


@dataclass(frozen=True)
class _SimOptions:
    """Where the results go, and what differs from the scenario."""

    out: Path | None
    seed: int | None
    as_json: bool
    wave: bool
    threads: int | None
    overrides: tuple[str, ...]


@click.command()
@click.argument("scenario", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for the results [out/SCENARIO].")
@click.option("--seed", type=click.IntRange(0), help="Derive every random choice from this number.")
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of a table.")
@click.option("--wave", is_flag=True, help="Also write wave.fst (builds a slower model).")
@click.option("--threads", type=click.IntRange(1), help="Processors that simulate stations and banks [all].")
@overrides
@gathered(_SimOptions)
def sim(scenario: Path, options: _SimOptions):
    """Simulate the pod of SCENARIO (a TOML file, see docs/scenarios.md) on RTL.

    Exit status 0 only if every transaction completed and every byte matched. Ctrl-C ends the simulation with the
    results so far, and exit status 130.
    """
    simulation_product()
    from ualink_sim.output import OutputError
    from ualink_sim.pod.run import simulate
    from ualink_sim.pod.scenario import load_scenario
    from ualink_sim.report.summary import show_summary
    from ualink_sim.simulator import SimulatorError

    folder = options.out or Path("out") / scenario.stem
    try:
        with ended_by_signals():
            chosen = load_scenario(scenario, options.overrides)
            if options.seed is not None:
                chosen = chosen.reseed(options.seed)
            results = simulate(chosen, folder, wave=options.wave, threads=options.threads, progress=not options.as_json)
    except (ScenarioError, OutputError) as error:
        raise Refusal(str(error)) from None
    except SimulatorError as error:
        raise click.ClickException(str(error)) from None
    if options.as_json:
        click.echo(json.dumps(results.summary()))
    else:
        show_summary(results, folder)
    if results.ended == "interrupted":
        sys.exit(128 + signal.SIGINT)
    sys.exit(0 if results.passed else 1)


@click.command()
@click.argument("capture", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--lua", is_flag=True, help="Print the Wireshark dissector instead.")
def decode(capture: Path | None, as_json: bool, lua: bool):
    """Print DL flits, TL half-flits and transactions of CAPTURE (pcapng)."""
    simulation_product()
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
        raise Refusal(str(error)) from None
