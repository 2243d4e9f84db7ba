"""Runs faults in a compiled pair of controllers, and gives the reports."""

import json
from collections.abc import Iterable
from pathlib import Path

from support.controller_pair_top import build_pair, controller_config
from support.faults.outcome import Report
from ualink.controller import Controller
from ualink.registers import write
from ualink.upli.isolation.registers import ISOLATION_REGISTERS

__all__ = ["BUSES", "run_faults"]

BUSES = {1: "axi4-lite", 4: "apb"}
"""The pairs that the suite compiles anyway."""


def run_faults(folder: Path, ports: int, faults: Iterable[tuple[str, int]], *, switch: bool) -> list[Report]:
    """The reports of ``faults``, names of kinds with a seed each, in a pair of stations with ``ports`` ports."""
    bus = BUSES[ports]
    (folder / "controller.json").write_text(Controller(controller_config(ports, bus)).registers.to_json())
    write(ISOLATION_REGISTERS, folder, "isolation")
    environment = {
        "PORTS": str(ports),
        "BUS": bus,
        "TABLE": str(folder / "controller.json"),
        "ISOLATION": str(folder / "isolation.json"),
        "SWITCH": str(int(switch)),
        "FAULTS": json.dumps(list(faults)),
        "REPORTS": str(folder / "reports"),
    }
    build_pair(ports, bus).run("support.faults.bench", testcase="campaign", environment=environment)
    return [Report(**json.loads(line)) for line in (folder / "reports").read_text().splitlines()]
