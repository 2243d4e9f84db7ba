"""What each port of a generated design is for: the documentation of the signatures, found for every single wire."""

import inspect
import re
from functools import cache

from amaranth.hdl import Const
from amaranth.lib import data, stream, wiring

from ualink.config import DLConfig
from ualink.controller import Controller
from ualink.dl.link.separate_links import CLOCK_GENERATOR_ANSWERS, SeparateLinks
from ualink.dl.links import Links
from ualink.dl.rate.change import RateChange
from ualink.dl.registers.firmware import DLStatusSignature
from ualink.dl.registers.map import EVENTS, dl_registers
from ualink.emit.verilog import CLOCKS_AND_RESETS, port_table
from ualink.phy.reconciliation import Reconciliation
from ualink.station import Station
from ualink.switch.core import SwitchCore
from ualink.upli.channels import (
    CreditReturnSignature,
    OrigDataSignature,
    RdRspSignature,
    ReqSignature,
    UPLISignature,
    WrRspSignature,
)
from ualink.upli.checker.watched import WatchedSignature
from ualink.upli.names import standard_name

__all__ = ["UPLI_FIELDS", "described_ports", "group_texts", "has_own_upli_clock"]

_BLOCKS = {block.__name__: block for block in (Links, RateChange, Reconciliation, SeparateLinks, Station, SwitchCore)}
"""Those that a docstring may refer to by "as of"."""

_CHANNELS = {
    "req": (ReqSignature, "2-2"),
    "orig_data": (OrigDataSignature, "2-14"),
    "rd_rsp": (RdRspSignature, "2-8"),
    "wr_rsp": (WrRspSignature, "2-11"),
}
_STREAM = {
    "valid": "The payload is valid; it moves in a cycle in which ready is 1 as well.",
    "ready": "The payload is taken in this cycle if it is valid.",
}

UPLI_FIELDS = {
    "vld": "a beat is on the channel",
    "port_id": "port of the beat, which is that of the TDM slot",
    "pool": "1: the beat spends a Pool credit, 0: one of its VC",
    "asi": "address space",
    "auth_tag": "authentication tag, 0 without a beat",
    "src_phys_acc_id": "accelerator that the beat comes from",
    "dst_phys_acc_id": "accelerator that the beat is for",
    "tag": "tells the Requests of a source and port apart",
    "num_beats": "beats of data minus one",
    "addr": "address in bytes",
    "cmd": "command",
    "len": "doublewords minus one",
    "attr": "attributes: byte enables of a Read, operation of an Atomic",
    "meta_data": "passed on unchanged",
    "vc": "virtual channel",
    "data": "64 bytes, byte n in bits 8n+7..8n",
    "byte_en": "bit n enables byte n",
    "offset": "place of the beat in its transfer",
    "last": "last beat of the transfer",
    "error": "the data are poisoned",
    "data_error": "the data are poisoned",
    "status": "how the Request ended",
    "vld_parity": "even parity of Vld",
    "addr_parity": "even parity of the address",
    "parity": "even parity of the other fields of the beat",
    "data_parity": "bit n is the even parity of bits 64n+63..64n of the data",
    "byte_en_parity": "even parity of the byte enables",
    "fields_parity": "even parity of the other fields of the beat",
}
"""Fields of the four channels, by the name that they have here."""

_CLOCKS = {
    "clk": "Clock; of RS and DL where UPLI has its own. Rising edge.",
    "rst": "Reset of the clk domain, synchronous, active high: the inverse of UPLIReset_N.",
    "upli_clk": "UPLIClk: clock of UPLI and TL. Rising edge.",
    "upli_rst": "Reset of the upli_clk domain at power-on, together with rst, synchronous to upli_clk, active high.",
}
_POWER_ON = "Reset of the clk domain at power-on, synchronous, active high; upli_reset is the inverse of UPLIReset_N."
_DL_CLOCK = re.compile(r"bus|irq|rs|pcs|rs_\w+|dl_\w+|overflow|upli_clock_\w+")
_ENTRY = re.compile(r"^((?:[\w…]+)(?:, [\w…]+)*) ?: +(\S.*)$")
_AS_OF = re.compile(r"as of ``(\w+)``")


def described_ports(component: wiring.Component) -> list[dict]:
    """Every port of the module made of ``component``, in its order, clocks and resets first.

    ``port_table`` with members more:

    clock : port that the wire belongs to ("asynchronous": synchronised inside).
    idle : of an input, the value to tie it to where nothing stands before it; of an output, its value in reset.
    description : what it means.
    fields : of a port that is a structure, its fields with their bits, lowest first.
    """
    separate = has_own_upli_clock(component)
    rows = [
        {"name": name, "direction": "input", "width": 1, "path": name, "clock": name.replace("rst", "clk"), "idle": 0}
        | {"description": _POWER_ON if separate and name == "rst" else _CLOCKS[name]}
        for name in (CLOCKS_AND_RESETS if separate else CLOCKS_AND_RESETS[:2])
    ]
    for row, (path, member, _) in zip(port_table(component), component.signature.flatten(component)):
        init = Const.cast(member.init) if member.init is not None else Const(0)
        row |= {
            "clock": _clock(str(path[0])) if separate else "clk",
            "idle": init.value & ((1 << row["width"]) - 1),
            "description": _describe(component, tuple(part for part in path if isinstance(part, str)), path),
        }
        if row["direction"] == "output" and row["description"] == _STREAM["ready"]:
            row["idle"] = int(path[-2] not in (1, 2, 3))  # There is room in what is empty; the cycle is that of port 0.
        if isinstance(member.shape, data.StructLayout):
            row["fields"] = [
                {"name": name, "bits": f"{field.offset + field.width - 1}:{field.offset}"}
                for name, field in member.shape
            ]
        rows.append(row)
    return rows


def group_texts(component: wiring.Component) -> dict[str, str]:
    """What each member of ``component`` is for, by its name: the first part of the names of its ports."""
    return {name: _sentence(_text(type(component), name)) for name in component.signature.members}


def has_own_upli_clock(component: wiring.Component) -> bool:
    """Whether UPLI and TL of ``component`` are in domain "upli"."""
    if isinstance(component, Controller):
        return component.config.station.separate_upli_clock
    return isinstance(component, Station) and component.config.separate_upli_clock


def _clock(member: str) -> str:
    if member.removeprefix("upli_clock_") in CLOCK_GENERATOR_ANSWERS:
        return "asynchronous"
    return "clk" if _DL_CLOCK.fullmatch(member) else "upli_clk"


def _describe(component: wiring.Component, names: tuple[str, ...], path: tuple) -> str:
    """The description of the port at ``path``, ``names`` without the numbers in it."""
    owner: type = type(component)
    signature = component.signature
    text = ""
    for place, name in enumerate(names):
        member = signature.members[name]
        if owner in (UPLISignature, WatchedSignature):
            return _describe_upli(".".join(map(str, path[path.index(name) :])), names[place:])
        if owner is stream.Signature:
            return _STREAM.get(name) or _sentence(f"payload: {text}")
        text = _text(owner, name)
        if member.is_signature:
            signature = member.signature
            if isinstance(signature, wiring.FlippedSignature):
                signature = signature.flip()
            owner = type(signature)
    return _sentence(text)


def _describe_upli(path: str, names: tuple[str, ...]) -> str:
    channel, *fields = names
    if not fields:
        return f"{standard_name(path)}: connection handshake, 0 after reset (UALink_200 §4.3)."
    if fields[0] == "credit":
        text = _text(CreditReturnSignature, fields[1]).rstrip(".").replace("``", "")
        return f"{standard_name(path)}: {text} (UALink_200 §2.6)."
    return f"{standard_name(path)}: {UPLI_FIELDS[fields[0]]} (UALink_200 Table {_CHANNELS[channel][1]})."


def _text(owner: type, name: str) -> str:
    """What the docstring of ``owner`` says of its member ``name``; LookupError when it says nothing."""
    if owner is DLStatusSignature and name in _register_texts():
        return _register_texts()[name]
    entries = _entries(owner)
    text = entries.get(name) or next(
        (text for key, text in entries.items() if key.endswith("…") and name.startswith(key[:-1])), None
    )
    if text is None:
        raise LookupError(f"{owner.__name__} does not say what its member {name} is for")
    elsewhere = _AS_OF.search(text)
    if elsewhere:
        block = _BLOCKS[elsewhere[1]]
        for prefix in ("dl_", "rs_", "upli_clock_", ""):
            if prefix and not name.startswith(prefix):
                continue
            try:
                return _text(block, name.removeprefix(prefix))
            except LookupError:
                continue
        raise LookupError(f"{block.__name__} does not say what {name} is for, as {owner.__name__} promises")
    return text


@cache
def _entries(owner: type) -> dict[str, str]:
    """``name, name : text`` of a docstring, by name."""
    entries: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(owner.__doc__ or "").split("\n"):
        found = _ENTRY.match(line)
        if found:
            names = found[1].split(", ")
            entries |= dict.fromkeys(names, found[2])
        elif line.startswith(" ") and names:
            entries |= dict.fromkeys(names, f"{entries[names[0]]} {line.strip()}")
        else:
            names = []
    return {name: _own_part(name, text, entries) for name, text in entries.items()}


def _own_part(name: str, text: str, entries: dict[str, str]) -> str:
    """Of "a, b : what a is; what b is." the part of ``name``; otherwise all of ``text``."""
    sharing = [other for other, shared in entries.items() if shared is text]
    parts = text.removeprefix("(*) ").split("; ")
    return parts[sharing.index(name)] if 1 < len(sharing) == len(parts) else text


@cache
def _register_texts() -> dict[str, str]:
    """What the register map says of counters and events, by name."""
    return EVENTS | {register.name: register.doc for register in dl_registers(DLConfig()) if register.snapshot}


def _sentence(text: str) -> str:
    plain = text.replace("``", "").removeprefix("(*) ")
    return f"{plain[0].upper()}{plain[1:].rstrip('.')}."
