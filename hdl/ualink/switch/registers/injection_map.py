"""The registers of the injection at one station of a switch, as firmware sees them."""

from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.switch.injection.interface import ItemKind, StrikePoint, Towards

__all__ = ["ITEM_FIELDS", "MAP_VERSION", "injection_registers"]

MAP_VERSION = 1

ITEM_FIELDS = {
    "ids": {
        "source": ("9:0", "src_phys_acc_id", "Source Accelerator ID."),
        "destination": ("25:16", "dst_phys_acc_id", "Destination Accelerator ID."),
    },
    "header": {
        "tag": ("10:0", "tag", "Tag."),
        "vc": ("13:12", "vc", "Virtual channel."),
        "status": ("19:16", "status", "Status, of a Response."),
        "num_beats": ("21:20", "num_beats", "Beats minus one, of a Request without data; all others have one beat."),
        "cmd": ("29:24", "cmd", "Command, of a Request."),
    },
    "request": {
        "len": ("5:0", "len", "Doublewords minus one."),
        "attr": ("15:8", "attr", "Attributes."),
        "meta_data": ("23:16", "meta_data", "Metadata."),
        "asi": ("25:24", "asi", "Address space."),
    },
    "addr_low": {"addr": ("31:0", "addr", "Bits 31:0.")},
    "addr_high": {"addr": ("24:0", "addr", "Bits 56:32.")},
    "auth_tag_low": {"tag": ("31:0", "auth_tag", "Bits 31:0.")},
    "auth_tag_high": {"tag": ("31:0", "auth_tag", "Bits 63:32.")},
    "data": {"word": ("31:0", "data", "Fills the 64 bytes, again and again; all are enabled.")},
}
"""Register, field: its bits, the member of ``ITEM_LAYOUT`` that it is or that it is 32 bits of, its meaning."""

_DOCS = {
    "ids": "Whom the item is of and for; leave it and the following alone while inject starts.",
    "header": "What all items have, and more.",
    "request": "What only Requests have.",
    "addr_low": "Address of a Request, in bytes.",
    "addr_high": "Address of a Request.",
    "auth_tag_low": "AuthTag.",
    "auth_tag_high": "AuthTag.",
    "data": "Data of the beat, if there is one.",
}
_ITEM_AT = 0x14


def injection_registers(ports: int) -> RegisterMap:
    """Registers of the injection at a station of ``ports`` ports."""
    return RegisterMap(
        "switch_injection",
        (*_control(ports), *_item()),
        "Injection at one station of a switch, if built (UALink_200 §10.9.1).",
    )


def _control(ports: int) -> tuple[Register, ...]:
    seen = "since reset, the lowest 16 bits"
    return (
        Register(
            "capabilities",
            0x00,
            (
                Field("map_version", "7:0", Access.CONSTANT, MAP_VERSION, "Version of this register map."),
                Field("ports", "10:8", Access.CONSTANT, ports, "Ports of the station."),
            ),
            "What was built.",
        ),
        Register(
            "control",
            0x04,
            (
                Field("enable", "0", Access.RW, 0, "Without it, or without allowed, nothing is injected."),
                Field("allowed", "1", Access.RO, 0, "The secure firmware allows injection; no register can."),
            ),
            "Whether anything is injected at this station, by its data links too.",
        ),
        Register(
            "inject",
            0x08,
            (
                Field("start", "0", Access.GO, 0, "Inject the item once; done when it has gone."),
                Field("kind", "5:4", Access.RW, 0, "What it is.", range(len(ItemKind)), _codes(ItemKind)),
                Field("towards", "8", Access.RW, 0, "Where it goes.", None, _codes(Towards)),
                Field("port", "13:12", Access.RW, 0, "By which port it comes or leaves.", range(ports)),
                Field("error", "16", Access.RW, 0, "Its data are poisoned."),
            ),
            "An item towards the core, as if a link had brought it, or towards a link.",
        ),
        Register(
            "strike",
            0x0C,
            (
                Field("start", "0", Access.GO, 0, "Spoil the parity of the next beat there; done when it has gone."),
                Field("point", "6:4", Access.RW, 0, "Which.", range(len(StrikePoint)), _codes(StrikePoint)),
            ),
            "A Control Error, or a Data Error where it is data, between the station and the core (§3.1.2).",
        ),
        Register(
            "counts",
            0x10,
            (
                Field("injected", "15:0", Access.RO, 0, f"Items that have gone {seen}."),
                Field("struck", "31:16", Access.RO, 0, f"Beats that were spoilt {seen}."),
            ),
            "What was injected.",
        ),
    )


def _item() -> tuple[Register, ...]:
    return tuple(
        Register(
            name,
            _ITEM_AT + 4 * number,
            tuple(Field(field, bits, Access.RW, 0, doc) for field, (bits, _, doc) in fields.items()),
            _DOCS[name],
        )
        for number, (name, fields) in enumerate(ITEM_FIELDS.items())
    )


def _codes(kind) -> tuple[tuple[str, int], ...]:
    """Names and values of an enumeration, in lower case."""
    return tuple((member.name.lower(), member.value) for member in kind)
