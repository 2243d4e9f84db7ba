"""The doors of a station are those of ``doors.toml``, no more and no fewer."""

import pytest

from ualink.emit import door_table
from ualink.emit.door_table import PAGE, TABLE, count_lines, differences, read_table, table_text
from ualink.emit.doors import Door

FOUND = {
    "tl": [Door("req", (), 0), Door("rsp", ("fc.0", "online"), 12), Door("status", (), 3)],
    "tl.packer": [Door("take", tuple(f"responses.{n}" for n in range(16)), 40)],
    "links": [Door("up", (), 0)],
}


def test_a_station_has_the_doors_that_are_declared():
    found = door_table.station_doors()
    assert differences(read_table(TABLE.read_text()), found) == [], "see docs/architecture.md, Doors"
    assert TABLE.read_text() == table_text(read_back := {room: sorted_doors(found, room) for room in found}), read_back
    lines = PAGE.read_text().split("\n")
    start = lines.index(count_lines(found)[0])
    assert lines[start : start + 2 + len(door_table.HUBS)] == count_lines(found)


def sorted_doors(found, room):
    """Gates as they are declared, which may be more."""
    declared = read_table(TABLE.read_text()).get(room, {})
    return [declared.get(door.name, door) if door.kind != "register" else door for door in found[room]]


def test_what_is_written_is_read_back():
    declared = read_table(table_text(FOUND))
    assert list(declared) == ["tl", "tl.packer"]
    assert [*declared["tl"].values(), *declared["tl.packer"].values()] == [*FOUND["tl"][1:], *FOUND["tl.packer"]]
    assert differences(declared, FOUND) == []
    assert max(map(len, table_text(FOUND).splitlines())) <= 120


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"tl": [Door("req", ("x",), 2)]}, "tl: req is not declared and is no register: 2 gates, from x"),
        ({"tl": [Door("req", (), 1)]}, "tl: req is not declared and is no register: 1 gates"),
        ({"tl": [Door("rsp", ("fc.0", "online"), 13)]}, "tl: rsp takes 13 gates, of which 12 are declared"),
        (
            {"tl": [Door("rsp", ("fc.0", "late", "online"), 12)]},
            "tl: rsp depends on late in the same cycle, which is not declared",
        ),
        ({"tl": [Door("rsp", ("fc.0",), 12)]}, "tl: rsp is declared to depend on online, and does not"),
        ({"tl": [Door("status", (), 0)]}, "tl: status is declared, and it is a register or does not exist"),
        ({"links": [Door("up", ("x",), 0)]}, "links: up is not declared and is no register: 0 gates, from x"),
        ({"new": [Door("o", (), 1)]}, "new: o is not declared and is no register: 1 gates"),
    ],
)
def test_each_difference_is_a_line(change, line):
    found = {
        room: [next((new for new in change.get(room, ()) if new.name == door.name), door) for door in here]
        for room, here in FOUND.items()
    }
    found |= {room: here for room, here in change.items() if room not in found}
    assert differences(read_table(table_text(FOUND)), found) == [line]


def test_fewer_gates_are_no_difference():
    found = {**FOUND, "tl": [Door("req", (), 0), Door("rsp", ("fc.0", "online"), 9), Door("status", (), 3)]}
    assert differences(read_table(table_text(FOUND)), found) == []


def test_a_room_that_is_gone_is_a_difference():
    found = {room: here for room, here in FOUND.items() if room != "tl.packer"}
    declared = read_table(table_text(FOUND))
    assert differences(declared, found) == ["tl.packer is declared, and there is no such room"]


def test_the_command_writes_table_and_counts(monkeypatch, tmp_path, capsys):
    """Once it says what is new and writes it, the second time there is nothing to say."""
    page, table = tmp_path / "architecture.md", tmp_path / "doors.toml"
    header = count_lines(FOUND)[0]
    page.write_text(f"# Doors\n\n{header}\n|---|---:|---|\n| old |\n\nThe rest.\n")
    found = {
        room: FOUND["links"] for room in ("tl", "tl.transmit", "tl.transmit.a", "tl.receive.a", "links.link", "links")
    } | {"links.link.a": FOUND["tl"]}
    monkeypatch.setattr(door_table, "station_doors", lambda: found)
    monkeypatch.setattr(door_table, "TABLE", table)
    monkeypatch.setattr(door_table, "PAGE", page)
    assert door_table.main([]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "links.link.a: rsp is not declared and is no register: 12 gates, from fc.0, online",
        "links.link.a: status is not declared and is no register: 3 gates",
    ]
    assert not table.exists()
    assert door_table.main(["--write"]) == 0
    assert page.read_text().splitlines()[2:6] == [
        header,
        "|---|---:|---|",
        "| `station` | 2 of 2 | tl 1/1, links 1/1 |",
        "| `tl` | 1 of 1 | transmit 1/1 |",
    ]
    assert page.read_text().endswith("| `links.link` | 1 of 3 | a 1/3 |\n\nThe rest.\n")
    capsys.readouterr()
    assert door_table.main([]) == 0
    assert capsys.readouterr().out == ""
