"""What `ualink decode` prints: the flits of a capture as aligned text or as JSON lines, and the Wireshark dissector."""

import json
from collections.abc import Iterator
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from .capture import read_capture
from .interface_decoder import DecodedFlit, InterfaceDecoder, TLFlit
from .model.dl_header import ExplicitHeader
from .model.tl_fields import ControlField, Credit, Request, UncompressedRequest
from .model.tl_sequence import ControlFields, DataHalfFlit, Event, Message, Tags
from .request import OPERATIONS
from .transactions import CapturedTransaction, TransactionTracker

__all__ = ["decode_lines", "decoded_rows", "lua_dissector"]

COMMANDS = {code: name for name, code in OPERATIONS.items()} | {0x2A: "message"}
STATUSES = {0: "OKAY", 2: "TARGET_ABORT", 3: "DECODE_ERROR", 6: "PROTECTION_VIOLATION", 8: "CMPTO", 15: "ISOLATE"}
MESSAGES = {0: "NOP", 1: "Initial Credit Release Complete"}


def decode_lines(path: str | Path, *, as_json: bool = False) -> Iterator[str]:
    """The capture at ``path`` as lines of text or of JSON; raises ``CaptureError``.

    JSON lines have ``"type": "flit"`` or ``"transaction"``; transactions follow the flit that completes them, those
    without a response come last.
    """
    for row in decoded_rows(path):
        if as_json:
            yield json.dumps(row)
        elif row["type"] == "flit":
            yield from _flit_text(row)
        else:
            yield _transaction_text(row)


def lua_dissector() -> str:
    """The Wireshark dissector for link type 147, in Lua."""
    return (files("ualink_sim") / "templates" / "ualink.lua").read_text(encoding="utf-8")


def decoded_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """The capture at ``path`` as plain values, one dictionary per flit and per transaction."""
    decoders: dict[str, InterfaceDecoder] = {}
    tracker = TransactionTracker()
    for packet in read_capture(path):
        decoded = decoders.setdefault(packet.interface, InterfaceDecoder()).decode(packet)
        yield _flit_row(decoded)
        for transaction in tracker.see(decoded):
            yield _transaction_row(transaction)
    for transaction in tracker.outstanding.values():
        yield _transaction_row(transaction)


def _flit_row(decoded: DecodedFlit) -> dict[str, Any]:
    header = decoded.header
    row: dict[str, Any] = {
        "type": "flit",
        "packet": decoded.packet.number,
        "interface": decoded.packet.interface,
        "time_ps": decoded.packet.time_ps,
        "crc_ok": decoded.crc_ok,
        "seq": decoded.seq,
        "new": decoded.new,
        "header": None,
        "segment_headers": [f"{value:02x}" for value in decoded.segment_headers],
        "messages": [{"dword": f"{dword:08x}", "name": name} for dword, name in decoded.messages],
        "tl_flits": [_tl_flit_row(flit) for flit in decoded.tl_flits],
        "problems": decoded.problems,
    }
    if header is not None:
        kind = "explicit" if isinstance(header, ExplicitHeader) else "command"
        row["header"] = {"kind": kind, **{f.name: getattr(header, f.name) for f in fields(header)}}
    return row


def _tl_flit_row(flit: TLFlit) -> dict[str, Any]:
    return {"message_bits": flit.message_bits, "half_flits": [_event_row(event) for event in flit.events]}


def _event_row(event: Event) -> dict[str, Any]:
    if isinstance(event, ControlFields):
        return {"kind": "control", "fields": [_field_row(sector, control) for sector, control in event.fields]}
    if isinstance(event, DataHalfFlit):
        kind = "byte_enables" if event.owed.is_be else "data"
        tag = getattr(event.owed.field, "tag", 0)
        part = {"kind": kind, "tag": tag, "index": event.owed.index, "poisoned": event.poisoned}
        return {**part, "bytes": event.data.hex()}
    if isinstance(event, Message):
        return {"kind": "message", "message": MESSAGES.get(event.type, "unknown"), "bytes": event.payload.hex()}
    if isinstance(event, Tags):
        return {"kind": "tags", "tags": [f"{tag:016x}" for _, tag in event.tags]}
    return {"kind": "error", "reason": event.reason, "fatal": event.fatal}


def _field_row(sector: int, control: ControlField) -> dict[str, Any]:
    row: dict[str, Any] = {"sector": sector, "field": type(control).__name__}
    for member in fields(control):
        value = getattr(control, member.name)
        if isinstance(value, Credit):
            value = {"count": value.count, "vc": value.vc}
        row[member.name] = value
    if isinstance(control, Request):
        row["command"] = COMMANDS.get(control.req_cmd, f"{control.req_cmd:#04x}")
    if isinstance(control, UncompressedRequest):
        row["byte_address"] = f"{control.byte_address:#x}"
    return row


def _transaction_row(t: CapturedTransaction) -> dict[str, Any]:
    return {
        "type": "transaction",
        "interface": t.interface,
        "src": t.src,
        "dst": t.dst,
        "tag": t.tag,
        "command": COMMANDS.get(t.cmd, f"{t.cmd:#04x}"),
        "addr": None if t.addr is None else f"{t.addr:#x}",
        "len": t.length,
        "status": None if t.status is None else STATUSES.get(t.status, f"{t.status:#x}"),
        "requested_ps": t.requested_ps,
        "responded_ps": t.responded_ps,
        "poisoned": t.poisoned,
        "sent": t.sent.hex(),
        "received": t.received.hex(),
    }


def _flit_text(row: dict[str, Any]) -> Iterator[str]:
    crc = "crc ok " if row["crc_ok"] else "CRC BAD"
    head = f"{row['packet']:>6}  {row['interface']:<18} {row['time_ps'] / 1000:>12.3f} ns  {crc}  {_header_text(row)}"
    yield f"{head:<112}  SH {' '.join(row['segment_headers'])}"
    indent = " " * 10
    yield from (f"{indent}problem   {problem}" for problem in row["problems"] if row["crc_ok"])
    yield from (f"{indent}DL message {message['dword']}  {message['name']}" for message in row["messages"])
    for flit in row["tl_flits"]:
        for half in flit["half_flits"]:
            yield from (indent + line for line in _half_text(half))


def _header_text(row: dict[str, Any]) -> str:
    header = row["header"]
    if header is None:
        return "-"
    kind = "payload" if header["payload"] else "NOP    "
    if header["kind"] == "explicit":
        text = "replay  " if header["replay"] else "explicit"
    else:
        text = f"{'replay request' if header['replay_request'] else 'ack'} {header['ack_req_seq']}"
    again = "" if row["new"] or not header["payload"] else "  (not next)"
    return f"{kind} #{row['seq']:<3} {text}{again}"


def _half_text(half: dict[str, Any]) -> list[str]:
    if half["kind"] == "control":
        return [_field_text(control) for control in half["fields"]]
    if half["kind"] in ("data", "byte_enables"):
        name = "byte en" if half["kind"] == "byte_enables" else f"data {half['index']:>2}"
        return [f"{name:<10}tag {half['tag']:<5}{'POISONED' if half['poisoned'] else half['bytes']}"]
    if half["kind"] == "message":
        return [f"message   {half['message']}"]
    if half["kind"] == "tags":
        return [f"tags      {' '.join(half['tags'])}"]
    return [f"error     {half['reason']}"]


def _field_text(control: dict[str, Any]) -> str:
    if control["field"] == "FlowControl":
        parts = []
        for name in ("req_cmd", "rsp_cmd", "req_data", "rsp_data"):
            credit = control[name]
            if credit["count"]:
                parts.append(f"{name} {credit['count']} {'pool' if credit['vc'] is None else 'vc' + str(credit['vc'])}")
        return f"credits   {', '.join(parts) or 'none'}"
    shown = {key: value for key, value in control.items() if key not in ("sector", "field", "addr", "cmd")}
    words = " ".join(f"{key}={value:#x}" if key == "attr" else f"{key}={value}" for key, value in shown.items())
    return f"[{control['sector']}] {control['field']:<22} {words}"


def _transaction_text(row: dict[str, Any]) -> str:
    address = "?" if row["addr"] is None else row["addr"]
    text = (
        f"{'':8}= {row['command']:<10} acc {row['src']} -> acc {row['dst']}  tag {row['tag']:<5} {row['len']:>3} bytes"
    )
    text += f" at {address:<12}"
    if row["status"] is None:
        return f"{text} no response"
    time = (row["responded_ps"] - row["requested_ps"]) / 1000
    return f"{text} {row['status']} after {time:.3f} ns{'  POISONED' if row['poisoned'] else ''}"
