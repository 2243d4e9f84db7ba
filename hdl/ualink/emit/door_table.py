"""The doors of a station that are no registers, as they are declared in ``doors.toml`` and as they are.

python -m ualink.emit.door_table            say how the two differ; exit status 1 if they do
python -m ualink.emit.door_table --write    write the table, and the counts of docs/architecture.md, as they are
"""

import sys
import textwrap
import tomllib
from collections.abc import Mapping
from pathlib import Path

from ualink.config import AddressCacheConfig, Credits, StationConfig, TLConfig, UPLIConfig
from ualink.station import Station

from .doors import Door, doors

__all__ = ["HUBS", "PAGE", "SMALL", "TABLE", "count_lines", "differences", "read_table", "station_doors", "table_text"]

HUBS = ("", "tl", "tl.transmit", "tl.receive", "links", "links.link")
"""Paths of what wires rooms together in a station."""

TABLE = Path(__file__).parents[1] / "doors.toml"
PAGE = Path(__file__).parents[3] / "docs" / "architecture.md"

_FEW = Credits(pool=4)
_CACHE = AddressCacheConfig(rows=16)
SMALL = StationConfig(
    upli=UPLIConfig(req=_FEW, orig_data=_FEW, rd_rsp=_FEW, wr_rsp=_FEW),
    tl=TLConfig(req_cmd=_FEW, rsp_cmd=_FEW, req_data=_FEW, rsp_data=_FEW, tx_cache=_CACHE, rx_cache=_CACHE),
)
"""All that a station can have, with small queues: their size does not say where there are registers."""

_HEAD = """\
# Doors of the rooms of a station (docs/architecture.md) that are no registers, with the most two-input gates on a
# way to them inside the room. `from` are the members of the room that act on a door in the same cycle: it is late.
# A door without `from` is early: logic behind registers of the room. `python -m ualink.emit.door_table --write` writes
# this file; tests/emit/test_door_table.py holds the design to it.
"""
_WIDTH = 120
_COUNTS = "| Hub | Registers | Its rooms: registers of all doors |"


def station_doors() -> dict[str, list[Door]]:
    """The doors of the rooms of a station with one port, by the path of the room."""
    found = doors(Station(SMALL), HUBS)
    del found[""]
    return found


def read_table(text: str) -> dict[str, dict[str, Door]]:
    """The declared doors by room and name."""
    return {
        room: {name: Door(name, tuple(door.get("from", ())), door["gates"]) for name, door in declared.items()}
        for room, declared in tomllib.loads(text).items()
    }


def table_text(found: Mapping[str, list[Door]]) -> str:
    """The table of ``found``."""
    text = [_HEAD]
    for room, here in found.items():
        lines = [_line(door) for door in here if door.kind != "register"]
        if lines:
            text.append("\n".join([f'["{room}"]', *lines, ""]))
    return "\n".join(text)


def differences(declared: Mapping[str, Mapping[str, Door]], found: Mapping[str, list[Door]]) -> list[str]:
    """One line for each door that is not as declared: a path or gates too many, or a declaration that nothing needs."""
    lines = [f"{room} is declared, and there is no such room" for room in declared if room not in found]
    for room, here in found.items():
        wanted = declared.get(room, {})
        lines += [
            f"{room}: {name} is declared, and it is a register or does not exist"
            for name in wanted
            if name not in {door.name for door in here if door.kind != "register"}
        ]
        for door in here:
            if door.kind != "register":
                lines += [f"{room}: {door.name} {what}" for what in _faults(wanted.get(door.name), door)]
    return lines


def count_lines(found: Mapping[str, list[Door]]) -> list[str]:
    """A Markdown table of how many doors are registers."""
    lines = [_COUNTS, "|---|---:|---|"]
    for hub in HUBS:
        rooms = {
            room.removeprefix(hub).removeprefix("."): here
            for room, here in found.items()
            if room.rpartition(".")[0] == hub
        }
        counts = {room: (sum(door.kind == "register" for door in here), len(here)) for room, here in rooms.items()}
        registers, all_doors = (sum(pair[which] for pair in counts.values()) for which in (0, 1))
        told = ", ".join(f"{room} {some}/{every}" for room, (some, every) in counts.items())
        lines.append(f"| `{hub or 'station'}` | {registers} of {all_doors} | {told} |")
    return lines


def _faults(declared: Door | None, door: Door) -> list[str]:
    if declared is None:
        source = f", from {', '.join(door.inputs)}" if door.inputs else ""
        return [f"is not declared and is no register: {door.gates} gates{source}"]
    faults = [
        f"depends on {name} in the same cycle, which is not declared"
        for name in door.inputs
        if name not in declared.inputs
    ]
    faults += [f"is declared to depend on {name}, and does not" for name in declared.inputs if name not in door.inputs]
    if door.gates > declared.gates:
        faults.append(f"takes {door.gates} gates, of which {declared.gates} are declared")
    return faults


def _line(door: Door) -> str:
    start = f'"{door.name}" = {{ gates = {door.gates}'
    if not door.inputs:
        return f"{start} }}"
    names = ", ".join(f'"{name}"' for name in door.inputs)
    line = f"{start}, from = [{names}] }}"
    if len(line) <= _WIDTH:
        return line
    wrapped = textwrap.wrap(names, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join([f"{start}, from = [", *wrapped, "] }"])


def _write_counts(page: Path, lines: list[str]) -> None:
    text = page.read_text().split("\n")
    start = text.index(_COUNTS)
    end = start
    while text[end].startswith("|"):
        end += 1
    page.write_text("\n".join([*text[:start], *lines, *text[end:]]))


def main(arguments: list[str]) -> int:
    """The command."""
    found = station_doors()
    lines = differences(read_table(TABLE.read_text()) if TABLE.exists() else {}, found)
    for line in lines:
        print(line)
    if arguments == ["--write"]:
        TABLE.write_text(table_text(found))
        _write_counts(PAGE, count_lines(found))
        return 0
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
