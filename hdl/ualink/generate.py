"""Files of a generated controller, station or switch."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from ualink.config import StationConfig, SwitchConfig, from_dict
from ualink.station import Station
from ualink.switch.switch import Switch
from ualink.verilog import port_table, to_verilog

__all__ = ["generate"]


def generate(
    what: str, values: dict, where: str, ports: int | None, stations: int | None, folder: Path
) -> Iterator[Path]:
    """Write ``ualink_<what>.v`` and ``ualink_<what>.json`` into ``folder`` and yield their paths.

    ``values`` are keys of the station's (``controller``, ``station``) or the switch's configuration, ``where`` names
    them in complaints; ``ports`` and ``stations`` override them. Nothing is written when a value is refused.
    """
    config: StationConfig | SwitchConfig
    if what == "switch":
        config = from_dict(SwitchConfig, values, where)
        if stations is not None:
            config = config.replace(stations=stations)
        if ports is not None:
            config = config.replace(station=config.station.replace(ports=ports))
        component: Station | Switch = Switch(config)
    else:
        config = from_dict(StationConfig, values, where)
        if ports is not None:
            config = config.replace(ports=ports)
        component = Station(config)
    name = f"ualink_{what}"
    verilog = to_verilog(component, name)
    description = {
        "module": name,
        "generator": f"amaranth-ualink {version('amaranth-ualink')}",
        "clock": "clk",
        "reset": "rst, active high, synchronous (the inverse of UPLIReset_N)",
        "parameters": asdict(config),
        "ports": port_table(component),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in (
        (folder / f"{name}.v", verilog),
        (folder / f"{name}.json", json.dumps(description, indent=1) + "\n"),
    ):
        path.write_text(text)
        yield path
