"""Tables ``[[vpod]]`` and ``[[vpod_change]]`` of a scenario: the virtual pods, and what becomes of them meanwhile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ualink.description.table import Table
from ualink.wording import named, shown

__all__ = ["Memberships", "VPodChange", "VPods", "memberships", "read_changes", "read_vpods"]

VPods = Sequence[Sequence[int]]
"""Members of each virtual pod."""
Memberships = Mapping[str, VPods]
"""Members of each virtual pod by its name, one after the other: those that it begins with, and those after a change."""

ACTIONS = ("create", "resize", "tear_down")


@dataclass(frozen=True, kw_only=True)
class VPodChange:
    """The pod controller does ``action`` to the virtual pod ``vpod`` at cycle ``at``, or when all links are up.

    It has ``members`` then. With ``drain`` nobody issues a Request to whom leaves, nor does he, from then on, and the
    change waits until those that were issued have their Responses; without, they are cut off at once and go on.
    """

    at: int
    action: str
    vpod: str
    members: tuple[int, ...] = ()
    drain: bool = True


def read_vpods(root: Table, accelerators: int) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Names and members of the virtual pods that there are at first: all in one if nothing is said."""
    tables = root.tables("vpod")
    if not tables:
        return ("0",), (tuple(range(accelerators)),)
    names: list[str] = []
    vpods: list[tuple[int, ...]] = []
    for number, table in enumerate(tables):
        table.known("name", "members")
        name = _name(table, "name", str(number))
        if name in names:
            raise table.fail("name" if "name" in table.values else "", f"{named(name)} is the name of another already")
        vpods.append(_members(table, accelerators, dict.fromkeys((m for of in vpods for m in of), "")))
        names.append(name)
    return tuple(names), tuple(vpods)


def read_changes(
    root: Table, accelerators: int, first: Mapping[str, Sequence[int]], end: int
) -> tuple[VPodChange, ...]:
    """The changes in the order in which they are made, to virtual pods of which ``first`` are there at first, in a
    simulation of ``end`` cycles; those of one cycle in the order of the file."""
    tables = root.tables("vpod_change")
    timed = sorted(((table.integer("at", None, 0, end), table) for table in tables), key=lambda both: both[0])
    now = {name: tuple(members) for name, members in first.items()}
    changes = []
    for at, table in timed:
        change = _change(table, at, accelerators, now)
        now[change.vpod] = change.members
        if change.action == "tear_down":
            del now[change.vpod]
        changes.append(change)
    return tuple(changes)


def _change(table: Table, at: int, accelerators: int, now: Mapping[str, Sequence[int]]) -> VPodChange:
    action = table.choice("action", None, ACTIONS)
    creates, tears = action == "create", action == "tear_down"
    table.known("at", "action", "vpod", *("members",) * (not tears), *("drain",) * (not creates))
    vpod = _name(table, "vpod", None)
    if (vpod in now) == creates:
        raise table.fail("vpod", f"at {at} there is {'one' if creates else 'none'} that is called {named(vpod)}")
    taken = {member: name for name, members in now.items() for member in members if name != vpod}
    return VPodChange(
        at=at,
        action=action,
        vpod=vpod,
        members=() if tears else _members(table, accelerators, taken),
        drain=table.boolean("drain", True),
    )


def _name(table: Table, key: str, default: str | None) -> str:
    name = table.values.get(key, default)
    if name is None:
        raise table.fail(key, "is missing")
    if not isinstance(name, str) or not name or not name.isprintable():
        raise table.fail(key, f"is {shown(name)}; it must be a name, of characters that can be printed")
    return name


def _members(table: Table, accelerators: int, taken: Mapping[int, str]) -> tuple[int, ...]:
    """The key ``members``, of which none is ``taken`` by the virtual pod of that name."""
    members = table.values.get("members")
    if not isinstance(members, list) or not members:
        raise table.fail("members", f"is {shown(members)}; it must list accelerators")
    seen: set[int] = set()
    for member in members:
        if isinstance(member, bool) or not isinstance(member, int):
            raise table.fail("members", f"{shown(member)} is not an accelerator number")
        if not 0 <= member < accelerators:
            raise table.fail("members", f"{shown(member)} is outside the pod of accelerators 0 to {accelerators - 1}")
        if member in seen or member in taken:
            other = f" of {named(taken[member])}" if taken.get(member) else ""
            raise table.fail("members", f"{member} is a member{other} already; virtual pods are disjoint")
        seen.add(member)
    return tuple(members)


def memberships(first: Mapping[str, Sequence[int]], changes: Sequence[VPodChange]) -> Memberships:
    """Who are members of each virtual pod one after the other, each set of members once."""
    found = {name: [tuple(members)] for name, members in first.items()}
    for change in changes:
        states = found.setdefault(change.vpod, [])
        if change.members and change.members not in states:
            states.append(change.members)
    return found
