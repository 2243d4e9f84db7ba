"""What `ualink decode` prints: the flits of a capture as aligned text or as JSON lines, and the Wireshark dissector."""

import json
from collections.abc import Iterator
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..model.decode import DecodedFlit, DecodedMessage, DecodedTLFlit, Decoder, FlitState
from ..model.dl.header import ExplicitHeader
from ..model.tl.fields import ControlField, Credit, Request, UncompressedRequest
from ..model.tl.sequence import ControlFields, DataHalfFlit, Event, Message, Tags
from ..model.upli.transactions import Status
from ..request import OPERATIONS
from .dl_message_text import describe_message
from .pcapng import CapturedFlit, read_capture
from .transactions import CapturedTransaction, TransactionTracker

__all__ = ["decode_lines", "decoded_rows", "interface_decoder", "lua_dissector"]

COMMANDS = {code: name for name, code in OPERATIONS.items()} | {0x2A: "message"}
STATUSES = {int(status): status.name for status in Status}
ASIDES = {"duplicate": "  (again)", "gap": "  (after a gap)", "unnumbered": "  (number not known)"}
"""What is said of payload flits that are not in order."""
LUA_PARTS = ("ualink.lua", "ualink_tl.lua", "ualink_dl.lua", "ualink_tree.lua")
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
    """The Wireshark dissector for link type 147, in Lua: one script, as Wireshark wants it."""
    folder = files("ualink_sim") / "templates"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in LUA_PARTS)


def decoded_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """The capture at ``path`` as plain values, one dictionary per flit and per transaction."""
    decoders: dict[str, Decoder] = {}
    tracker = TransactionTracker()
    for packet in read_capture(path):
        if packet.interface not in decoders:
            decoders[packet.interface] = interface_decoder(packet)
        decoded = decoders[packet.interface].feed(packet.flit, packet.lost)
        yield _flit_row(packet, decoded)
        for transaction in tracker.see(packet, decoded):
            yield _transaction_row(transaction)
    for transaction in tracker.unanswered():
        yield _transaction_row(transaction)


def interface_decoder(packet: CapturedFlit) -> Decoder:
    """A decoder for the interface of ``packet``; a switch keeps its address caches by source (UALink_200 §5.6)."""
    row_member = "src_acc_id" if packet.interface.startswith("sw") else "dst_acc_id"
    return Decoder(authentication=packet.authentication, row_member=row_member)


def _flit_row(packet: CapturedFlit, decoded: DecodedFlit) -> dict[str, Any]:
    header = decoded.header
    row: dict[str, Any] = {
        "type": "flit",
        "packet": packet.number,
        "interface": packet.interface,
        "time_ps": packet.time_ps,
        "crc_ok": decoded.state is not FlitState.BAD_CRC,
        "state": decoded.state.name.lower(),
        "seq": decoded.seq,
        "new": decoded.state is FlitState.PAYLOAD,
        "header": None,
        "segment_headers": [f"{value:02x}" for value in decoded.segment_headers],
        "messages": [_message_row(message) for message in decoded.messages],
        "tl_flits": [_tl_flit_row(flit) for flit in decoded.tl_flits],
        "problems": decoded.problems,
        "notes": decoded.notes,
    }
    if header is not None:
        kind = "explicit" if isinstance(header, ExplicitHeader) else "command"
        row["header"] = {"kind": kind, **vars(header)}
    return row


def _message_row(message: DecodedMessage) -> dict[str, Any]:
    name = message.note if message.message is None else describe_message(message.message)
    return {"dword": f"{message.dword:08x}", "name": name}


def _tl_flit_row(flit: DecodedTLFlit) -> dict[str, Any]:
    if flit.events is None:
        half_flits = [{"kind": "unknown", "bytes": half.hex()} for half in (flit.data[:32], flit.data[32:])]
    else:
        half_flits = [_event_row(event) for event in flit.events]
    return {"message_bits": flit.message_bits, "half_flits": half_flits}


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
    request = t.request
    return {
        "type": "transaction",
        "interface": t.interface,
        "src": request.src_phys_acc_id,
        "dst": request.dst_phys_acc_id,
        "tag": request.tag,
        "command": COMMANDS.get(request.cmd, f"{request.cmd:#04x}"),
        "addr": f"{request.addr:#x}" if t.address_known else None,
        "len": 4 * (request.len + 1),
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
    yield from (f"{indent}note      {note}" for note in row["notes"])
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
    number = "?" if row["seq"] is None else row["seq"]
    return f"{kind} #{number:<3} {text}{ASIDES.get(row['state'], '')}"


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
    if half["kind"] == "unknown":
        return [f"unknown   {half['bytes']}"]
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
