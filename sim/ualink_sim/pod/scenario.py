"""Scenario files: TOML text to a frozen, validated ``Scenario``; a complaint is one line with file and line number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ualink.config import PhyConfig, StationConfig, SwitchConfig
from ualink.description.error import ScenarioError
from ualink.description.file import load_description, parse_description
from ualink.description.hardware import (
    BIFURCATIONS,
    BUILT_CHOOSABLE,
    FIDELITIES,
    TABLES,
    check_simulated,
    read_hardware,
)
from ualink.description.table import Table
from ualink.wording import shown

from .rate_matching import most_ppm
from .topology import Topology
from .upli.limits import check_upli
from .vpod_table import Memberships, VPodChange, memberships, read_changes, read_vpods
from .workload_table import Workload, read_workload

__all__ = [
    "Cut",
    "Link",
    "Pod",
    "Run",
    "Scenario",
    "ScenarioError",
    "load_scenario",
    "parse_scenario",
]


MOST_CYCLES = 10**13
"""At the slowest clock, 1 MHz, the picoseconds of more would not fit into a capture's time stamps."""

MOST_PPM = 10_000
"""Far more than clocks of a link differ by, so that a short run shows what is done about it."""


@dataclass(frozen=True, kw_only=True)
class Pod:
    """Accelerators around one switch; ``bifurcation`` is that of every station, ``clock_mhz`` the rate of one beat.

    With ``choosable_ports`` stations are built for four ports, and ``bifurcation`` is what firmware chooses.
    ``fidelity`` is what is simulated: "links", or "upli" for UPLI-level accelerators around the core of the switch.
    """

    accelerators: int
    bifurcation: str = "x4"
    choosable_ports: bool = False
    clock_mhz: float = 1562.5
    fidelity: str = FIDELITIES[0]

    @property
    def ports(self) -> int:
        """Ports of a station that are used."""
        return BIFURCATIONS[self.bifurcation]

    @property
    def topology(self) -> Topology:
        """Who is wired to whom."""
        built = BIFURCATIONS[BUILT_CHOOSABLE] if self.choosable_ports else self.ports
        return Topology(self.accelerators, self.ports, built)


@dataclass(frozen=True, kw_only=True)
class Link:
    """One direction of every link.

    ``bit_error_rate`` is per bit that reaches the data link (after FEC); ``drop_rate`` the probability, per flit slot,
    that a loss begins there, and ``burst`` the slots that it lasts.
    """

    latency_cycles: int = 40
    bit_error_rate: float = 0.0
    burst: int = 1
    drop_rate: float = 0.0
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A cable that carries nothing in ``directions``, named as in captures, for ``cycles`` cycles from ``at`` on."""

    directions: tuple[str, ...]
    at: int
    cycles: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """How far to go: the simulation ends at cycle ``max_cycles``, whatever is left to do.

    ``bus_models`` has those in Python issue and answer requests even where an engine inside of the model could.
    """

    max_cycles: int = 1_000_000_000
    bus_models: bool = False


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Everything a simulation of a pod depends on.

    ``compression`` and ``authentication`` are decided on all links alike while the pod runs (UALink_200 §5.10, §5.1.1);
    ``vpods`` are the members of the virtual pods that there are at first, ``vpod_names`` their names, and
    ``vpod_changes`` what becomes of them. With ``station.phy`` the links are those of reconciliation sublayers, and
    ``ppm`` is by how much the clocks of the accelerators are faster than that of the switch, in parts per million.
    """

    path: Path
    pod: Pod
    link: Link
    run: Run = Run()
    switch: SwitchConfig
    compression: bool = True
    authentication: bool = False
    ppm: float = 0.0
    cuts: tuple[Cut, ...] = ()
    vpods: tuple[tuple[int, ...], ...]
    vpod_names: tuple[str, ...]
    vpod_changes: tuple[VPodChange, ...] = ()
    workloads: tuple[Workload, ...]

    @property
    def station(self) -> StationConfig:
        """The stations of accelerators and switch, which are configured alike."""
        return self.switch.station

    @property
    def port_phy(self) -> PhyConfig | None:
        """The reconciliation sublayer of each port that is used, if there is one."""
        return _port_phy(self.pod, self.station)

    def reseed(self, seed: int) -> "Scenario":
        """The same scenario with every random choice derived from ``seed``."""
        workloads = tuple(replace(w, seed=seed + index) for index, w in enumerate(self.workloads))
        return replace(self, link=replace(self.link, seed=seed), workloads=workloads)

    @property
    def memberships(self) -> Memberships:
        """Who are members of each virtual pod one after the other."""
        return memberships(dict(zip(self.vpod_names, self.vpods)), self.vpod_changes)


def load_scenario(path: str | Path, overrides: Sequence[str] = ()) -> Scenario:
    """Read and check the scenario at ``path`` with ``overrides``, ``key=value`` each; raise ``ScenarioError``."""
    return _scenario(load_description(path, overrides))


def parse_scenario(text: str, path: str | Path, overrides: Sequence[str] = ()) -> Scenario:
    """Check the scenario ``text``; ``path`` is named in complaints, and traces are looked for beside it."""
    return _scenario(parse_description(text, path, overrides))


def _scenario(root: Table) -> Scenario:
    root.known(*TABLES)
    pod = root.table("pod", required=True)
    if "accelerators" not in pod.values:
        raise pod.fail("accelerators", "is missing")
    hardware = read_hardware(root)
    check_simulated(root, hardware)
    accelerators: int = pod.values["accelerators"]
    names, vpods = read_vpods(root, accelerators)
    changes = read_changes(root, accelerators, dict(zip(names, vpods)), MOST_CYCLES)
    members = memberships(dict(zip(names, vpods)), changes)
    tl, run = root.table("tl"), root.table("run")
    run.known("max_cycles", "bus_models")
    described = _pod(pod)
    scenario = Scenario(
        path=root.places.path,
        pod=described,
        link=_link(root.table("link")),
        run=Run(
            max_cycles=run.integer("max_cycles", Run.max_cycles, 1, MOST_CYCLES),
            bus_models=run.boolean("bus_models", False),
        ),
        switch=hardware.switch,
        compression=tl.boolean("compression", True),
        authentication=tl.boolean("authentication", False),
        ppm=_ppm(root.table("phy"), _port_phy(described, hardware.station)),
        cuts=tuple(_cut(table, described.topology) for table in root.tables("cut")),
        vpods=vpods,
        vpod_names=names,
        vpod_changes=changes,
        workloads=tuple(read_workload(table, members) for table in root.tables("workload", required=True)),
    )
    if scenario.pod.fidelity == "upli":
        check_upli(root, scenario.workloads)
    return scenario


def _pod(table: Table) -> Pod:
    choosable = table.boolean("choosable_ports", False)
    return Pod(
        accelerators=table.values["accelerators"],
        bifurcation=table.values.get("bifurcation", BUILT_CHOOSABLE if choosable else Pod.bifurcation),
        choosable_ports=choosable,
        clock_mhz=table.number("clock_mhz", Pod.clock_mhz, 1, 10_000),
        fidelity=table.choice("fidelity", FIDELITIES[0], FIDELITIES),
    )


def _link(table: Table) -> Link:
    table.known("latency_cycles", "bit_error_rate", "burst", "drop_rate", "seed")
    return Link(
        latency_cycles=table.integer("latency_cycles", 40, 1, 100_000),
        bit_error_rate=table.number("bit_error_rate", 0.0, 0, 0.5),
        burst=table.integer("burst", 1, 1, 1000),
        drop_rate=table.number("drop_rate", 0.0, 0, 0.5),
        seed=table.integer("seed", 1, 0, (1 << 63) - 1),
    )


def _port_phy(pod: Pod, station: StationConfig) -> PhyConfig | None:
    """What one of the ports has by itself; where their number is chosen they share the rate of one alone."""
    phy = station.phy
    return phy.replace(rate=phy.rate // pod.ports) if phy is not None and pod.choosable_ports else phy


def _ppm(table: Table, phy: PhyConfig | None) -> float:
    ppm = table.number("ppm", 0.0, -MOST_PPM, MOST_PPM)
    if phy is not None and abs(ppm) > most_ppm(phy):
        reason = f"is {ppm:g}; with control flits every {phy.control_interval} slots at most {most_ppm(phy)} match"
        raise table.fail("ppm" if "ppm" in table.values else "", reason)
    return ppm


def _cut(table: Table, topology: Topology) -> Cut:
    table.known("link", "at", "cycles")
    directions: dict[str, tuple[str, ...]] = {}
    for acc, switch in topology.links():
        up, down = f"{acc}>{switch}", f"{switch}>{acc}"
        directions |= {str(acc): (up, down), str(switch): (up, down), up: (up,), down: (down,)}
    link = table.values.get("link")
    if link is None:
        raise table.fail("link", "is missing")
    if not isinstance(link, str) or link not in directions:
        example = f"'{acc}' for both directions, '{up}' for one"
        raise table.fail("link", f"is {shown(link)}; it must name a link of the pod, such as {example}")
    return Cut(
        directions=directions[link],
        at=table.integer("at", None, 0, MOST_CYCLES),
        cycles=table.integer("cycles", None, 1, MOST_CYCLES),
    )
