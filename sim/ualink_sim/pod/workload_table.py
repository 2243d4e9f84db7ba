"""Tables ``[[workload]]`` of a scenario: what is to be done in a pod."""

from dataclasses import dataclass
from pathlib import Path

from ualink.description.table import Table
from ualink.wording import shown

from ..model.upli.memory import ADDRESS_BITS
from ..request import BLOCK_BYTES, MAX_OUTSTANDING, OPERATIONS
from .vpod_table import Memberships, VPods

__all__ = ["COLLECTIVES", "Mix", "Workload", "groups_of", "read_workload"]

KINDS = ("uniform", "neighbour", "alltoall", "hotspot", "allreduce", "trace")
COLLECTIVES = ("alltoall", "allreduce")
"""Kinds in which all members of a virtual pod do one thing together."""

MOST_BYTES = 1 << 28
"""Of a buffer: six million requests among four members."""


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
    """Requests to generate, or a ``trace`` of requests to read; ``line`` is where the scenario asks for it.

    Its requests are among members of the virtual pod ``vpod``, or of each without.
    ``target`` gets ``share`` of the requests of a hot spot. ``bytes`` is the size of the buffer that each member has in
    a collective operation of fixed size; 0 for all other kinds.
    """

    kind: str
    line: int
    transactions: int = 1000
    sizes: tuple[int, ...] = (64, 128, 192, 256)
    mix: Mix = Mix(read=0.5, write=0.25, write_full=0.25)
    outstanding: int = 64
    base: int = 0
    footprint: int = 0x10000
    seed: int = 1
    share: float = 0.5
    target: int | None = None
    bytes: int = 0
    vpod: str | None = None
    trace: Path | None = None


def groups_of(memberships: Memberships, kind: str, vpod: str | None) -> VPods:
    """Those who talk to one another in a workload of ``kind``: the members of the virtual pod ``vpod``, of all without,
    as they are one after the other; in an allreduce those that are the first."""
    chosen = memberships.values() if vpod is None else [memberships[vpod]]
    return [members for states in chosen for members in (states[:1] if kind == "allreduce" else states)]


def read_workload(table: Table, memberships: Memberships) -> Workload:
    """The workload that ``table`` asks of virtual pods with these ``memberships``; raise ``ScenarioError``."""
    kind = table.choice("kind", None, KINDS)
    if kind == "trace":
        return _trace(table)
    vpod = table.choice("vpod", None, tuple(memberships)) if "vpod" in table.values else None
    vpods = groups_of(memberships, kind, vpod)
    if kind == "allreduce":
        return _allreduce(table, vpods, vpod)
    hotspot = kind == "hotspot"
    table.known(
        *("kind", "transactions", "sizes", "mix", "outstanding", "base", "footprint", "seed", "vpod"),
        *("share", "target") * hotspot,
    )
    sizes = _sizes(table)
    mix = _mix(table.table("mix")) if "mix" in table.values else Workload.mix
    if mix.write_full and not any(size % 64 == 0 for size in sizes):
        raise table.fail("sizes", "write_full needs a size that is a multiple of 64")
    base = _base(table)
    footprint = table.integer("footprint", Workload.footprint, BLOCK_BYTES, 1 << ADDRESS_BITS)
    _check_end(table, "footprint", base, footprint)
    return Workload(
        kind=kind,
        line=table.line("kind"),
        transactions=table.integer("transactions", 1000, 1, 10_000_000),
        sizes=sizes,
        mix=mix,
        outstanding=table.integer("outstanding", 64, 1, MAX_OUTSTANDING),
        base=base,
        footprint=footprint,
        seed=_seed(table),
        share=table.number("share", Workload.share, 0, 1),
        target=_target(table, vpods) if hotspot else None,
        vpod=vpod,
    )


def _target(table: Table, vpods: VPods) -> int | None:
    """The accelerator that the hot spot is; None if there are none that could send to one."""
    peopled = [members for members in vpods if len(members) > 1]
    if "target" not in table.values:
        return peopled[0][0] if peopled else None
    last = max((member for members in vpods for member in members), default=0)
    target = table.integer("target", None, 0, last)
    if not any(target in members for members in peopled):
        raise table.fail("target", f"{target} shares a virtual pod with nobody")
    return target


def _allreduce(table: Table, vpods: VPods, vpod: str | None) -> Workload:
    table.known("kind", "bytes", "outstanding", "base", "seed", "vpod")
    base, size = _base(table), table.integer("bytes", 1 << 16, BLOCK_BYTES, MOST_BYTES)
    for members in vpods:
        if len(members) > 1 and size % (BLOCK_BYTES * len(members)):
            least = BLOCK_BYTES * len(members)
            reason = f"is {size}; it must be a multiple of {least}, {BLOCK_BYTES} for each of {len(members)} members"
            raise table.fail("bytes" if "bytes" in table.values else "", reason)
    _check_end(table, "bytes", base, 2 * size)
    return Workload(
        kind="allreduce",
        line=table.line("kind"),
        outstanding=table.integer("outstanding", 64, 1, MAX_OUTSTANDING),
        base=base,
        seed=_seed(table),
        bytes=size,
        vpod=vpod,
    )


def _trace(table: Table) -> Workload:
    table.known("kind", "trace", "outstanding")
    if "trace" not in table.values:
        raise table.fail("trace", "is missing")
    name = table.values["trace"]
    if not isinstance(name, str) or not name:
        raise table.fail("trace", f"is {shown(name)}; it must name a file")
    path = table.places.path.parent / name
    try:
        is_file = path.is_file()
    except OSError as error:
        raise table.fail("trace", f"{shown(name)} cannot be read: {error.strerror}") from None
    if not is_file:
        raise table.fail("trace", f"there is no file {path if str(path).isprintable() else shown(str(path))}")
    outstanding = table.integer("outstanding", 256, 1, MAX_OUTSTANDING)
    return Workload(kind="trace", line=table.line("kind"), outstanding=outstanding, trace=path)


def _sizes(table: Table) -> tuple[int, ...]:
    sizes = table.values.get("sizes", list(Workload.sizes))
    if not isinstance(sizes, list) or not sizes:
        raise table.fail("sizes", f"is {shown(sizes)}; it must list sizes in bytes")
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int) or size % 4 or not 4 <= size <= BLOCK_BYTES:
            raise table.fail("sizes", f"{shown(size)} is not a multiple of 4 from 4 to {BLOCK_BYTES}")
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
        raise table.fail(
            "base", f"is {shown(value)}; it must be a {ADDRESS_BITS}-bit address, a multiple of {BLOCK_BYTES}"
        )
    return base


def _seed(table: Table) -> int:
    return table.integer("seed", 1, 0, (1 << 63) - 1)


def _check_end(table: Table, key: str, base: int, used: int) -> None:
    if base + used > 1 << ADDRESS_BITS:
        raise table.fail(key, f"{used} bytes at {base:#x} do not fit in {ADDRESS_BITS} bits")
