"""Scenario files: TOML text to a frozen, validated ``Scenario``; a complaint is one line with file and line number."""

import re
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path

from ualink.config import DLConfig, StationConfig, SwitchConfig, TLConfig

from .model.memory import ADDRESS_BITS
from .request import BLOCK_BYTES, MAX_OUTSTANDING, OPERATIONS
from .toml_lines import KeyLines
from .toml_table import ScenarioError, Table

__all__ = ["Link", "Mix", "Pod", "Scenario", "ScenarioError", "Workload", "load_scenario", "parse_scenario"]

KINDS = ("uniform", "neighbour", "alltoall", "trace")
BIFURCATIONS = {"x4": 1, "2x2": 2, "4x1": 4}
STATIONS = 4


@dataclass(frozen=True, kw_only=True)
class Pod:
    """Accelerators around one switch; ``bifurcation`` is that of every station, ``clock_mhz`` the rate of one beat."""

    accelerators: int
    bifurcation: str = "x4"
    clock_mhz: float = 1562.5

    @property
    def ports(self) -> int:
        """Ports of a station."""
        return BIFURCATIONS[self.bifurcation]


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
class Mix:
    """Fractions of the operations of a generated workload; together 1."""

    read: float = 0.0
    write: float = 0.0
    write_full: float = 0.0
    atomic: float = 0.0
    atomic_nr: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Requests to generate, or a ``trace`` of requests to read; ``line`` is where the scenario asks for it."""

    kind: str
    line: int
    transactions: int = 1000
    sizes: tuple[int, ...] = (64, 128, 192, 256)
    mix: Mix = Mix(read=0.5, write=0.25, write_full=0.25)
    outstanding: int = 64
    base: int = 0
    footprint: int = 0x10000
    seed: int = 1
    trace: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Everything a simulation of a pod depends on.

    ``compression`` and ``authentication`` are decided on all links alike while the pod runs (UALink_200 §5.10, §5.1.1);
    ``vpods`` are the virtual pods' members.
    """

    path: Path
    pod: Pod
    link: Link
    switch: SwitchConfig
    compression: bool = True
    authentication: bool = False
    vpods: tuple[tuple[int, ...], ...]
    workloads: tuple[Workload, ...]

    @property
    def station(self) -> StationConfig:
        """The stations of accelerators and switch, which are configured alike."""
        return self.switch.station

    def reseed(self, seed: int) -> "Scenario":
        """The same scenario with every random choice derived from ``seed``."""
        workloads = tuple(replace(w, seed=seed + index) for index, w in enumerate(self.workloads))
        return replace(self, link=replace(self.link, seed=seed), workloads=workloads)

    def vpod_of(self, accelerator: int) -> tuple[int, ...]:
        """Members of the virtual pod of ``accelerator``; empty when it is in none."""
        return next((members for members in self.vpods if accelerator in members), ())


def load_scenario(path: str | Path) -> Scenario:
    """Read and check the scenario at ``path``; raise ``ScenarioError``."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8 text") from None
    return parse_scenario(text, path)


def parse_scenario(text: str, path: str | Path) -> Scenario:
    """Check the scenario ``text``; ``path`` is named in complaints, and traces are looked for beside it."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column \d+\)$", str(error))
        line = int(place[1]) if place else max(1, len(text.splitlines()))
        reason = re.sub(r"\s*\(at .*\)$", "", str(error))
        raise ScenarioError(f"{path}:{line}: not TOML: {reason}") from None
    root = Table(values, (), path, KeyLines(text))
    root.known("pod", "link", "tl", "dl", "switch", "vpod", "workload")
    pod = _pod(root.table("pod", required=True))
    link = _link(root.table("link"))
    tl, dl, switch = (root.table(name) for name in ("tl", "dl", "switch"))
    station = StationConfig(ports=pod.ports, tl=_tl(tl), dl=dl.config(DLConfig, {}))
    return Scenario(
        path=Path(path),
        pod=pod,
        link=link,
        switch=_switch(switch, station),
        compression=tl.boolean("compression", True),
        authentication=tl.boolean("authentication", False),
        vpods=_vpods(root, pod.accelerators),
        workloads=tuple(_workload(table) for table in root.tables("workload", required=True)),
    )


def _pod(table: Table) -> Pod:
    table.known("accelerators", "bifurcation", "clock_mhz")
    return Pod(
        accelerators=table.integer("accelerators", None, 2, STATIONS),
        bifurcation=table.choice("bifurcation", "x4", tuple(BIFURCATIONS)),
        clock_mhz=table.number("clock_mhz", 1562.5, 1, 10_000),
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


def _tl(table: Table) -> TLConfig:
    """What is built: Address Caches, with a row for each accelerator if nothing else is said, and the path of tags."""
    keys = [field.name for field in fields(TLConfig) if field.name not in ("device", "authentication")]
    table.known("compression", "authentication", *keys)
    given = {key: value for key, value in table.values.items() if key in keys}
    for key in ("tx_cache", "rx_cache"):
        value = given.get(key, {})
        given[key] = {"rows": STATIONS, **value} if isinstance(value, dict) else value
    built = {"device": "either", "authentication": True}
    config: TLConfig = Table(given, table.where, table.path, table.lines).config(TLConfig, built)
    tx, rx = config.tx_cache, config.rx_cache
    if tx.rows > rx.rows or tx.ways > rx.ways:
        reason = (
            f"tx_cache of {tx.rows} rows, {tx.ways} ways does not fit into rx_cache of {rx.rows} rows, {rx.ways} ways"
        )
        raise table.fail("tx_cache" if "tx_cache" in table.values else "rx_cache", reason)
    return config


def _switch(table: Table, station: StationConfig) -> SwitchConfig:
    table.known("route_entries")
    entries = table.integer("route_entries", 1024, STATIONS * 4, 1024)
    return SwitchConfig(stations=STATIONS, route_entries=entries, station=station)


def _vpods(root: Table, accelerators: int) -> tuple[tuple[int, ...], ...]:
    tables = root.tables("vpod")
    if not tables:
        return (tuple(range(accelerators)),)
    vpods, seen = [], set()
    for table in tables:
        table.known("members")
        members = table.values.get("members")
        if not isinstance(members, list) or not members:
            raise table.fail("members", f"is {members!r}; it must list accelerators")
        for member in members:
            if isinstance(member, bool) or not isinstance(member, int):
                raise table.fail("members", f"{member!r} is not an accelerator number")
            if not 0 <= member < accelerators:
                raise table.fail("members", f"{member} is outside the pod of accelerators 0 to {accelerators - 1}")
            if member in seen:
                raise table.fail("members", f"{member} is a member already; virtual pods are disjoint")
            seen.add(member)
        vpods.append(tuple(members))
    return tuple(vpods)


def _workload(table: Table) -> Workload:
    kind = table.choice("kind", None, KINDS)
    if kind == "trace":
        return _trace(table)
    table.known("kind", "transactions", "sizes", "mix", "outstanding", "base", "footprint", "seed")
    sizes = _sizes(table)
    mix = _mix(table.table("mix")) if "mix" in table.values else Workload.mix
    if mix.write_full and not any(size % 64 == 0 for size in sizes):
        raise table.fail("sizes", "write_full needs a size that is a multiple of 64")
    base = _base(table)
    footprint = table.integer("footprint", Workload.footprint, BLOCK_BYTES, 1 << ADDRESS_BITS)
    if base + footprint > 1 << ADDRESS_BITS:
        raise table.fail("footprint", f"{footprint} bytes at {base:#x} do not fit in {ADDRESS_BITS} bits")
    return Workload(
        kind=kind,
        line=table.line("kind"),
        transactions=table.integer("transactions", 1000, 1, 10_000_000),
        sizes=sizes,
        mix=mix,
        outstanding=table.integer("outstanding", 64, 1, MAX_OUTSTANDING),
        base=base,
        footprint=footprint,
        seed=table.integer("seed", 1, 0, (1 << 63) - 1),
    )


def _trace(table: Table) -> Workload:
    table.known("kind", "trace", "outstanding")
    if "trace" not in table.values:
        raise table.fail("trace", "is missing")
    name = table.values["trace"]
    if not isinstance(name, str) or not name:
        raise table.fail("trace", f"is {name!r}; it must name a file")
    path = Path(table.path).parent / name
    if not path.is_file():
        raise table.fail("trace", f"there is no file {path}")
    outstanding = table.integer("outstanding", 256, 1, MAX_OUTSTANDING)
    return Workload(kind="trace", line=table.line("kind"), outstanding=outstanding, trace=path)


def _sizes(table: Table) -> tuple[int, ...]:
    sizes = table.values.get("sizes", list(Workload.sizes))
    if not isinstance(sizes, list) or not sizes:
        raise table.fail("sizes", f"is {sizes!r}; it must list sizes in bytes")
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int) or size % 4 or not 4 <= size <= BLOCK_BYTES:
            raise table.fail("sizes", f"{size!r} is not a multiple of 4 from 4 to {BLOCK_BYTES}")
    return tuple(sizes)


def _mix(table: Table) -> Mix:
    table.known(*OPERATIONS)
    fractions = {key: table.number(key, 0.0, 0, 1) for key in table.values}
    if abs(sum(fractions.values()) - 1) > 1e-6:
        raise table.fail("", f"the fractions add up to {sum(fractions.values()):g}, not to 1")
    return Mix(**fractions)


def _base(table: Table) -> int:
    value = table.values.get("base", 0)
    try:
        base = int(value, 0) if isinstance(value, str) else value
    except ValueError:
        base = None
    if isinstance(base, bool) or not isinstance(base, int) or base < 0 or base >> ADDRESS_BITS or base % BLOCK_BYTES:
        raise table.fail("base", f"is {value!r}; it must be a {ADDRESS_BITS}-bit address, a multiple of {BLOCK_BYTES}")
    return base
