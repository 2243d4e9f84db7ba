"""What a build has come to: utilisation, clocks, slack."""

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["Clock", "Report", "cells_of", "clocks_of", "utilisation_of"]

_NAMES = {"TRELLIS_COMB": "lut4", "TRELLIS_FF": "ff", "DP16KD": "ebr", "MULT18X18D": "multipliers", "DCUA": "dcu"}


@dataclass(frozen=True, kw_only=True)
class Clock:
    """A clock: its domain, what was asked for and what came, in MHz; ``slack_ns`` of the longest path."""

    name: str
    required_mhz: float
    achieved_mhz: float

    @property
    def slack_ns(self) -> float:
        """Negative when the clock is too fast for the design."""
        return round(1000 / self.required_mhz - 1000 / self.achieved_mhz, 3)

    @property
    def met(self) -> bool:
        """The design is as fast as the clock."""
        return self.achieved_mhz >= self.required_mhz


@dataclass(frozen=True, kw_only=True)
class Report:
    """A build.

    ``utilisation`` gives used and available cells by name; ``clocks`` is empty without place and route, and with
    Vivado, which tells the slack of the longest of all paths only.
    """

    board: str
    design: str
    device: str
    seed: int
    lanes: int
    line_rate: int
    utilisation: dict[str, tuple[int, int | None]]
    clocks: tuple[Clock, ...] = ()
    worst_slack_ns: float | None = None
    bitstream: str | None = None
    bitstream_bytes: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def timing_met(self) -> bool:
        """Every clock is met; also true without place and route."""
        return all(clock.met for clock in self.clocks) and (self.worst_slack_ns or 0) >= 0

    def as_dict(self) -> dict:
        """For JSON."""
        clocks = [{**asdict(clock), "slack_ns": clock.slack_ns, "met": clock.met} for clock in self.clocks]
        cells = {name: {"used": used, "available": available} for name, (used, available) in self.utilisation.items()}
        return {**asdict(self), "utilisation": cells, "clocks": clocks, "timing_met": self.timing_met}


def clocks_of(report: Path, netlist: Path, required_mhz: dict[str, float]) -> tuple[Clock, ...]:
    """Clocks in a ``report`` of nextpnr, by the domains of ``required_mhz``; one without logic is not in it.

    The clock of a domain is the net ``<domain>_clock`` of the ``netlist``, under one of whose names nextpnr knows it.
    """
    top = json.loads(netlist.read_text())["modules"]["top"]
    nets = {name: tuple(net["bits"]) for name, net in top["netnames"].items()}
    domains = {nets[name]: domain for name in nets for domain in required_mhz if _leaf(name) == f"{domain}_clock"}
    achieved: dict[str, float] = {}
    for name, row in json.loads(report.read_text())["fmax"].items():
        domain = domains.get(nets.get(name.removeprefix("$glbnet$"), ()))
        if domain is not None:
            achieved[domain] = row["achieved"]
    return tuple(
        Clock(name=domain, required_mhz=round(required, 3), achieved_mhz=round(achieved[domain], 2))
        for domain, required in required_mhz.items()
        if domain in achieved
    )


def utilisation_of(report: Path) -> dict[str, tuple[int, int | None]]:
    """Cells in a ``report`` of nextpnr: used and available."""
    cells = json.loads(report.read_text())["utilization"]
    return {
        _NAMES.get(name, name.lower()): (cell["used"], cell["available"])
        for name, cell in sorted(cells.items())
        if cell["used"] or name in _NAMES
    }


def cells_of(netlist: Path) -> dict[str, tuple[int, int | None]]:
    """Cells of a ``netlist`` that is not placed; carry chains and LUT RAMs count as the LUTs that they take."""
    top = json.loads(netlist.read_text())["modules"]["top"]
    count = Counter(cell["type"] for cell in top["cells"].values())
    luts = count["LUT4"] + 2 * count["CCU2C"] + 4 * count["TRELLIS_DPR16X4"]
    return {"lut4": (luts, None), "ff": (count["TRELLIS_FF"], None), "ebr": (count["DP16KD"], None)}


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]
