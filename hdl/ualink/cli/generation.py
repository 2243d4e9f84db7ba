"""``ualink generate``."""

from dataclasses import dataclass, replace
from pathlib import Path

import click

from ualink.config import BUSES, ConfigError
from ualink.description.error import ScenarioError
from ualink.description.file import load_description, parse_description
from ualink.description.hardware import Hardware, read_hardware
from ualink.description.presets import PRESET_NAMES

from .ending import Refusal
from .gather import gathered
from .parts import overrides

__all__ = ["generate"]


@dataclass(frozen=True)
class _Parameters:
    """What is generated: a file of parameters, and what goes before it."""

    file: Path | None
    overrides: tuple[str, ...]
    ports: str | None
    stations: int | None
    preset: str | None
    bus: str | None

    def read(self) -> Hardware:
        """The hardware that they describe. ScenarioError, ConfigError: there is none."""
        if self.file is None:
            root = parse_description("", "", self.overrides)
        else:
            root = load_description(self.file, self.overrides)
        ports = int(self.ports) if self.ports else None
        hardware = read_hardware(root, ports=ports, stations=self.stations, preset=self.preset)
        if self.bus is None:
            return hardware
        return replace(
            hardware,
            controller=hardware.controller.replace(bus=self.bus),
            switch_device=hardware.switch_device.replace(bus=self.bus),
        )


@click.command()
@click.argument("what", type=click.Choice(["controller", "station", "switch", "upli_checker"]))
@click.option(
    "--config",
    "--scenario",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML file of parameters, or a scenario: its [pod], [upli], [tl], [dl], [phy], [controller], [switch] and "
    "[upli_checker].",
)
@overrides
@click.option("--ports", type=click.Choice(["1", "2", "4"]), help="Ports per station: 1 x4, 2 x2 or 4 x1 links.")
@click.option("--stations", type=int, help="Stations of the switch.")
@click.option("--preset", type=click.Choice(PRESET_NAMES), help="Sizes of all that the file does not say.")
@click.option("--bus", type=click.Choice(BUSES), help="Bus to the registers [default: axi4-lite].")
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
    """Write a controller, station, switch or UPLI checker as Verilog.

    Beside it stand parameters and ports as JSON, and waivers for Verilator.

    A controller is a station with its registers on a bus, a switch has all of its own on one; the map of these is
    written as JSON, SystemRDL and C header.
    """
    from ualink.emit.generate import write_design

    if parameters.stations is not None and what != "switch":
        raise Refusal(f"--stations has no meaning for a {what}")
    if parameters.bus is not None and what not in ("controller", "switch"):
        raise Refusal(f"--bus has no meaning for a {what}")
    try:
        hardware = parameters.read()
        paths = write_design(what, _config(hardware, what), out)
    except (ScenarioError, ConfigError) as error:
        raise Refusal(str(error)) from None
    except OSError as error:
        raise Refusal(f"{error.filename}: {error.strerror}") from None
    for path in paths:
        click.echo(path)


def _config(hardware: Hardware, what: str):
    return hardware.switch_device if what == "switch" else getattr(hardware, what)
