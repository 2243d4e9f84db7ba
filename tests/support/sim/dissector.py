"""tshark with the Lua dissector, and its fields against the rows of ``ualink decode --json``."""

import shutil
import subprocess

import pytest

from ualink_sim.capture.decode_cli import decoded_rows, lua_dissector

__all__ = ["assert_dissector_agrees", "joined", "tshark"]

TRUE = ("1", "True")


def tshark(path, tmp_path, fields, preferences=()):
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    script = tmp_path / "ualink.lua"
    script.write_text(lua_dissector())
    arguments = [part for field in fields for part in ("-e", field)]
    command = [
        "tshark",
        "-X",
        f"lua_script:{script}",
        "-r",
        str(path),
        "-T",
        "fields",
        "-E",
        "aggregator=;",
        *arguments,
        *(part for preference in preferences for part in ("-o", preference)),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "Lua" not in run.stderr, run.stderr
    return [dict(zip(fields, line.split("\t"))) for line in run.stdout.splitlines()]


def joined(values):
    return ";".join(str(value) for value in values)


def assert_dissector_agrees(path, tmp_path, alike=None, preferences=()):
    """Compare every field of every packet of a capture without broken rules with what the decoder says of it, or of
    one that is ``alike``. No packet is malformed. Returns the fields by name, packet by packet."""
    rows = [row for row in decoded_rows(alike or path) if row["type"] == "flit"]
    names = [
        "crc_ok",
        "seq",
        "new",
        "flit_seq_no",
        "ack_req_seq",
        "payload",
        "message",
        "segment_header",
        "problem",
        "state",
        "note",
    ]
    names += [
        "tl.half_flit",
        "tl.tag",
        "tl.addr",
        "tl.len",
        "tl.dst_acc_id",
        "tl.credits",
        "tl.data",
        "tl.byte_enables",
    ]
    names += ["tl.command", "tl.status", "tl.poisoned", "tl.message", "tl.auth_tag"]
    fields = [f"ualink.{name}" for name in names]
    seen = tshark(path, tmp_path, [*fields, "_ws.malformed"], preferences)
    assert len(seen) == len(rows)
    assert not [line for line in seen if line["_ws.malformed"]]
    for row, line in zip(rows, seen):
        get = {name: line[f"ualink.{name}"] for name in names}
        assert (get["crc_ok"] in TRUE) == row["crc_ok"]
        assert get["state"] == row["state"] and (get["new"] in TRUE) == row["new"]
        assert get["note"] == ";".join(row["notes"])
        assert get["segment_header"] == joined(f"0x{value}" for value in row["segment_headers"])
        if not row["crc_ok"]:
            assert get["seq"] == get["tl.half_flit"] == ""
            continue
        assert get["seq"] == ("" if row["seq"] is None else str(row["seq"]))
        assert get["flit_seq_no"] == str(row["header"].get("flit_seq_no", ""))
        assert get["ack_req_seq"] == str(row["header"].get("ack_req_seq", ""))
        assert get["message"] == joined(f"0x{message['dword']}" for message in row["messages"])
        halves = [half for flit in row["tl_flits"] for half in flit["half_flits"]]
        kinds = [kind for kind in get["tl.half_flit"].split(";") if kind not in ("", "NOP")]
        assert [kind for kind in kinds if kind != "control"] == [
            half["kind"].replace("_", " ") for half in halves if half["kind"] != "control"
        ]
        found = [control for half in halves if half["kind"] == "control" for control in half["fields"]]
        tagged = [control for control in found if "tag" in control]
        assert get["tl.auth_tag"] == joined(tag for half in halves if half["kind"] == "tags" for tag in half["tags"])
        assert get["tl.tag"] == joined(control["tag"] for control in tagged)
        assert get["tl.dst_acc_id"] == joined(control["dst_acc_id"] for control in tagged)
        assert get["tl.len"] == joined(control["len"] for control in tagged if "len" in control)
        assert [int(text, 0) for text in get["tl.addr"].split(";") if text] == [
            int(control.get("byte_address", hex(control["addr"] * 64)), 0) for control in tagged if "addr" in control
        ]
        assert get["tl.status"] == joined(control["status"] for control in tagged if "status" in control)
        good = [half for half in halves if not half.get("poisoned")]
        assert get["tl.data"].replace(":", "") == joined(half["bytes"] for half in good if half["kind"] == "data")
        assert get["tl.byte_enables"] == joined(half["bytes"] for half in good if half["kind"] == "byte_enables")
        assert sum(value in TRUE for value in get["tl.poisoned"].split(";")) == len(halves) - len(good)
        assert bool(get["tl.credits"]) == any(control["field"] == "FlowControl" for control in found)
        assert get["problem"] == "" and not row["problems"]
    return seen
