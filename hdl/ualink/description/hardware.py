"""The hardware of a description: the same tables shape what ``ualink sim`` simulates and ``ualink generate`` writes."""

from dataclasses import dataclass, fields
from typing import Any

from ualink.config import (
    BUSES,
    MARKERS,
    CheckerConfig,
    ControllerConfig,
    DLConfig,
    PhyConfig,
    StationConfig,
    SwitchConfig,
    SwitchDeviceConfig,
    TLConfig,
    UPLIConfig,
)
from ualink.config.station import SHAREABLE, is_shareable
from ualink.wording import shown

from .presets import PRESET_NAMES, beats_in_every_cycle, over_preset
from .table import Table

__all__ = [
    "BIFURCATIONS",
    "BUILT_CHOOSABLE",
    "FIDELITIES",
    "TABLES",
    "Hardware",
    "check_simulated",
    "read_hardware",
    "switch_stations",
]

BIFURCATIONS = {"x4": 1, "2x2": 2, "4x1": 4}
"""Ports of a station by the name of its bifurcation."""
BUILT_CHOOSABLE = "4x1"
"""What stations are built as whose ports are chosen, and what they are after reset."""
FIDELITIES = ("links", "upli")
"""How much of a pod is simulated: whole links, or UPLI-level accelerators around a switch core."""
MAX_ACCELERATORS = MAX_PORTS = 64
"""Of a pod, and ports of the largest switch that is simulated: its core takes minutes to compile."""
RATES = {1: (800, 400), 2: (400, 200), 4: (200, 100)}
"""Gb/s of a port of a station with that many: lanes of 212.5 Gb/s, or of 106.25 (UALink_200 Tables 7-1 and 7-2)."""
TABLES = (
    "pod",
    "link",
    "upli",
    "upli_checker",
    "tl",
    "dl",
    "phy",
    "switch",
    "run",
    "vpod",
    "vpod_change",
    "cut",
    "workload",
    "controller",
)
"""Tables of a description; those that are not read here say what happens in a simulated pod."""

POD = ("accelerators", "bifurcation", "choosable_ports", "clock_mhz", "fidelity", "preset", "separate_upli_clock")
"""Keys of [pod]."""
RUN_TIME = ("compression", "authentication")
"""Keys of [tl] that firmware decides; ``build_authentication`` is TLConfig.authentication."""
PHY_RUN_TIME = ("ppm",)
"""Keys of [phy] of which only a simulated pod knows."""
PHY_UNSET = ("rates", "blocks_per_word")
"""Fields of PhyConfig without a key: ports of a bifurcation run at one rate, and blocks go eight a cycle."""
BUILT = tuple(field.name for field in fields(TLConfig) if field.name != "authentication")


def switch_stations(accelerators: int, ports: int) -> int:
    """Stations of the switch of a pod whose stations have ``ports`` ports each.

    As many as there are accelerators, rounded up so that each of the ``ports`` logical switches has whole stations.
    """
    return -(-accelerators // ports) * ports


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What a description builds.

    Attributes
    ----------
    accelerators : of the pod; None in the description of a device on its own.
    station : a station of an accelerator.
    controller : that station with its registers on a bus.
    switch : the switch; its stations are configured like those of the accelerators, but for their one clock.
    switch_device : that switch with its registers on a bus.
    upli_checker : a checker of the UPLI interfaces of such stations, with the ports of ``pod.bifurcation``.
    """

    accelerators: int | None
    station: StationConfig
    controller: ControllerConfig
    switch: SwitchConfig
    switch_device: SwitchDeviceConfig
    upli_checker: CheckerConfig


def read_hardware(
    root: Table, *, ports: int | None = None, stations: int | None = None, preset: str | None = None
) -> Hardware:
    """The hardware that ``root`` describes; ``ports``, ``stations`` and ``preset`` go before what it says.

    With ``pod.accelerators`` it is that of the simulated pod: stations that can stand at either end of a link, Address
    Caches with a row for each accelerator, a switch with a station for each. Without, what is not said is as in
    ``ualink.config``. In both, sizes that are not said are those of the preset; with ``pod.choosable_ports`` stations
    are the same whatever ``pod.bifurcation`` says, which firmware chooses then. Raises ``ScenarioError``;
    ``ConfigError`` when only ``ports``, ``stations`` and ``preset`` are at fault.
    """
    root.known(*TABLES)
    asked = root.table("pod")
    said_preset = asked.choice("preset", PRESET_NAMES[0], PRESET_NAMES)
    root = over_preset(root, said_preset if preset is None else preset)
    pod, upli, tl, dl, switch = (root.table(name) for name in ("pod", "upli", "tl", "dl", "switch"))
    pod.known(*POD)
    choosable, separate = pod.boolean("choosable_ports", False), pod.boolean("separate_upli_clock", False)
    wanted = pod.choice("bifurcation", BUILT_CHOOSABLE if choosable else "x4", tuple(BIFURCATIONS))
    if choosable and separate:
        raise pod.fail("choosable_ports", "is true, and separate_upli_clock too; one of them can be")
    bifurcation = BUILT_CHOOSABLE if choosable else wanted
    said = BIFURCATIONS[bifurcation]
    accelerators = None
    if "accelerators" in pod.values:
        fidelity = pod.choice("fidelity", FIDELITIES[0], FIDELITIES)
        accelerators = pod.integer("accelerators", None, 2, MAX_ACCELERATORS)
        if fidelity == "links" and accelerators * said > MAX_PORTS:
            why = "choosable_ports" if choosable else f"bifurcation {bifurcation}"
            reason = f"is {accelerators}; with {why} at most {MAX_PORTS // said}"
            raise pod.fail("accelerators", reason)
    phy = _phy(root.table("phy"), said if ports is None else ports, choosable=choosable)
    station = StationConfig(
        ports=said if ports is None else ports,
        choosable_ports=choosable,
        upli=upli.config(UPLIConfig, {}),
        tl=_tl(tl, accelerators),
        dl=_dl(dl, said, beats_in_every_cycle(root), choosable=choosable),
        phy=phy,
    )
    built = _switch(switch, station, accelerators, stations)
    own = station.replace(separate_upli_clock=separate)
    return Hardware(
        accelerators=accelerators,
        station=own,
        controller=_controller(root.table("controller"), own),
        switch=built,
        switch_device=SwitchDeviceConfig(**_bus(switch), switch=built),
        upli_checker=_upli_checker(root.table("upli_checker"), BIFURCATIONS[wanted] if ports is None else ports),
    )


def _upli_checker(table: Table, ports: int) -> CheckerConfig:
    table.known(*(field.name for field in fields(CheckerConfig) if field.name != "ports"))
    config: CheckerConfig = table.config(CheckerConfig, {"ports": ports})
    return config


def _tl(table: Table, accelerators: int | None) -> TLConfig:
    """What is built: Address Caches and the path of tags."""
    table.known(*RUN_TIME, "build_authentication", *BUILT)
    given = {key: value for key, value in table.values.items() if key in BUILT}
    if accelerators is not None:
        given.setdefault("device", "either")
        for key in ("tx_cache", "rx_cache"):
            value = given.get(key, {})
            given[key] = {"rows": accelerators, **value} if isinstance(value, dict) else value
    built = table.boolean("build_authentication", True)
    if table.boolean("authentication", False) and not built:
        raise table.fail("authentication", "is true; tl.build_authentication leaves out what it needs")
    table.boolean("compression", True)
    config: TLConfig = table.part(given).config(TLConfig, {"authentication": built})
    tx, rx = config.tx_cache, config.rx_cache
    if accelerators is not None and (tx.rows > rx.rows or tx.ways > rx.ways):
        reason = (
            f"tx_cache of {tx.rows} rows, {tx.ways} ways does not fit into rx_cache of {rx.rows} rows, {rx.ways} ways"
        )
        raise table.fail("tx_cache" if "tx_cache" in table.values else "rx_cache", reason)
    return config


def _dl(table: Table, ports: int, every_cycle: str, *, choosable: bool) -> DLConfig:
    """The data link; ``every_cycle`` as of ``beats_in_every_cycle``."""
    config: DLConfig = table.config(DLConfig, {})
    if every_cycle and config.cycles_per_beat != 1:
        reason = f"is {config.cycles_per_beat}; {every_cycle} a beat in every cycle: 1"
        raise table.fail("cycles_per_beat", reason)
    if config.replay_depth < 2 * ports:
        raise table.fail("replay_depth", f"is {config.replay_depth}; {ports} ports need two flits each")
    if choosable and not is_shareable(config):
        raise table.fail("replay_depth", f"is {config.replay_depth}; {SHAREABLE}")
    return config


def _phy(table: Table, ports: int, *, choosable: bool) -> PhyConfig | None:
    """The reconciliation sublayer of each port, if there is one. If the number of ports is ``choosable`` it has the
    rate of one alone, and markers as of the rate of each."""
    table.known(
        "reconciliation", *(field.name for field in fields(PhyConfig) if field.name not in PHY_UNSET), *PHY_RUN_TIME
    )
    alone = 1 if choosable else ports
    rates = RATES.get(alone, tuple(MARKERS))
    rate = table.values.get("rate", rates[0])
    if type(rate) is not int or rate not in rates:
        choices = " or ".join(map(str, rates))
        raise table.fail("rate", f"is {shown(rate)}; a port of a station of {alone} carries {choices} Gb/s")
    idle_interval = table.integer("idle_interval", PhyConfig.idle_interval, 4, PhyConfig.idle_interval)
    slots = MARKERS[rate * alone // ports if choosable else rate][1]
    marker_interval = table.integer("marker_interval", slots, 4, slots)
    if marker_interval > idle_interval and marker_interval % idle_interval:
        reason = f"is {marker_interval}; it must be a multiple of phy.idle_interval, which is {idle_interval}, or below"
        raise table.fail("marker_interval" if "marker_interval" in table.values else "idle_interval", reason)
    given = {key: value for key, value in table.values.items() if key == "control_flit_blocks"}
    intervals = {"rate": rate, "idle_interval": idle_interval}
    # The standard's is that of each rate, so it is not said; where ports are chosen ``slots`` is that of each of four.
    if marker_interval != slots or (choosable and "marker_interval" in table.values):
        intervals["marker_interval"] = marker_interval
    config: PhyConfig = table.part(given).config(PhyConfig, intervals)
    return config if table.boolean("reconciliation", False) else None


def _controller(table: Table, station: StationConfig) -> ControllerConfig:
    table.known("bus", "clock_hz")
    return ControllerConfig(**_bus(table), station=station)


def _bus(table: Table) -> dict[str, Any]:
    """How firmware reaches the registers, and what it is told of their clock."""
    return {
        "bus": table.choice("bus", ControllerConfig.bus, BUSES),
        "clock_hz": table.integer("clock_hz", ControllerConfig.clock_hz, 1, (1 << 32) - 1),
    }


def _switch(table: Table, station: StationConfig, accelerators: int | None, stations: int | None) -> SwitchConfig:
    table.known("stations", "route_entries", "ports_per_row", "injection", "bus", "clock_hz")
    needed = None if accelerators is None else switch_stations(accelerators, station.ports)
    count = table.integer("stations", 4 if needed is None else needed, 2, 256)
    if needed is not None and count != needed:
        raise table.fail("stations", f"is {count}; the switch of a pod of {accelerators} has {needed}")
    count = count if stations is None else stations
    entries = table.integer("route_entries", 1024, 4 * count if 2 <= count <= 256 else 4, 1024)
    return SwitchConfig(
        stations=count,
        route_entries=entries,
        ports_per_row=table.integer("ports_per_row", SwitchConfig.ports_per_row, 1, 1024),
        injection=table.boolean("injection", False),
        station=station,
    )


def check_simulated(root: Table, hardware: Hardware) -> None:
    """Complain about hardware that no pod is simulated of."""
    if hardware.station.separate_upli_clock:
        raise root.table("pod").fail("separate_upli_clock", "is true; a simulated pod has one clock")
    if hardware.station.tl.device == "switch":
        raise root.table("tl").fail("device", "is 'switch'; an accelerator cannot be one")
