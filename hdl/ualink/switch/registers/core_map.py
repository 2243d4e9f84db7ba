"""The registers of the switch core at one station, as firmware sees them."""

from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.switch.deny_log import DeniedKind
from ualink.upli.agent_registers import errors_happened, errors_seen

__all__ = ["AGENTS", "MAP_VERSION", "core_registers"]

MAP_VERSION = 1

AGENTS = {
    "ingress": "The core's Completer, which takes what the links of the station bring.",
    "egress": "The core's Originator, which hands over what shall leave by the links of the station.",
}

_KINDS = tuple((kind.name.lower(), kind.value) for kind in DeniedKind)
_PORTS_AT = 0x40
_PORT_BYTES = 0x10


def core_registers(ports: int, counter_bits: int) -> RegisterMap:
    """Registers of the core at a station of ``ports`` ports, with deny counters of ``counter_bits``."""
    denied = tuple(
        Field(f"port_{port}", str(port), Access.W1C, 0, "The first item since deny_clear was denied.")
        for port in range(ports)
    )
    return RegisterMap(
        "switch_core",
        (
            _capabilities(ports),
            *(register for n, (agent, doc) in enumerate(AGENTS.items(), 1) for register in _agent(n, agent, doc)),
            Register("denied_events", 0x30, denied, "Items that entered by a port and were dropped because of Deny."),
            Register("link_events", 0x34, _links(ports), "Changes of the links (§8.5); their states are in dl_0 …."),
            *(register for port in range(ports) for register in _port(port, counter_bits)),
        ),
        "The switch core at one station (UALink_200 §10.7, §10.8, §3.1.4).",
    )


def _capabilities(ports: int) -> Register:
    return Register(
        "capabilities",
        0x00,
        (
            Field("map_version", "7:0", Access.CONSTANT, MAP_VERSION, "Version of this register map."),
            Field("ports", "10:8", Access.CONSTANT, ports, "Ports of the station: 1 x4, 2 x2 or 4 x1 links (§10.2)."),
            Field("strict_ordering", "16", Access.CONSTANT, 1, "All ports have Strict Ordering, always (§10.6)."),
        ),
        "What was built.",
    )


def _links(ports: int) -> tuple[Field, ...]:
    return tuple(
        Field(f"{name}_{port}", str(4 * place + port), Access.W1C, 0, f"The link of port {port} {doc}")
        for place, (name, doc) in enumerate((("up", "came up."), ("down", "was up, and is no more.")))
        for port in range(ports)
    )


def _agent(number: int, agent: str, doc: str) -> tuple[Register, ...]:
    at = 0x10 * number
    return (
        Register(
            f"{agent}_status",
            at,
            (
                Field("connected", "0", Access.RO, 0, "Both directions of the interface are open."),
                *errors_seen(),
                Field("dropping", "4", Access.RO, 0, "Drop Mode, of all ports of the station (§3.1.3)."),
            ),
            doc,
        ),
        Register(
            f"{agent}_events",
            at + 0x4,
            (
                *errors_happened(),
                Field("drop_mode", "4", Access.W1C, 0, "Drop Mode began, or began again as it was cleared."),
                Field("core_control_error", "5", Access.W1C, 0, "Switch Core Control Error (§3.1.2), into Drop Mode."),
                Field("core_data_error", "6", Access.W1C, 0, "Switch Core Data Error (§3.1.2): data left as poison."),
            ),
            "Each error, also one that comes again.",
        ),
        Register(
            f"{agent}_clear",
            at + 0x8,
            (Field("start", "0", Access.GO, 0, "Forget the errors shown."),),
            "Out of an error.",
        ),
        Register(
            f"{agent}_clear_drop",
            at + 0xC,
            (Field("start", "0", Access.GO, 0, "Leave Drop Mode."),),
            "Out of Drop Mode.",
        ),
    )


def _port(port: int, counter_bits: int) -> tuple[Register, ...]:
    at = _PORTS_AT + _PORT_BYTES * port
    return (
        Register(
            f"accelerator_{port}",
            at,
            (
                Field("id", "9:0", Access.RW, 0, "Its ID."),
                Field("valid", "31", Access.RW, 0, "The ID is known."),
            ),
            f"Accelerator at port {port}, for firmware to remember (§10.8); the switch does not look at it.",
        ),
        Register(
            f"denied_{port}",
            at + 0x4,
            (Field("count", f"{counter_bits - 1}:0", Access.RO, 0, "Since deny_clear; stays at its largest value."),),
            f"Items that entered by port {port} and were denied (§10.7, ruling C-01).",
        ),
        Register(
            f"last_denied_{port}",
            at + 0x8,
            (
                Field("source", "9:0", Access.RO, 0, "Source Accelerator ID."),
                Field("destination", "25:16", Access.RO, 0, "Destination Accelerator ID."),
                Field("kind", "29:28", Access.RO, 0, "What it was.", None, _KINDS),
            ),
            "The last of them; means something when the count is not 0.",
        ),
        Register(
            f"deny_clear_{port}",
            at + 0xC,
            (Field("start", "0", Access.GO, 0, "Forget what was denied."),),
            "An item denied in the same cycle is the first of the new count.",
        ),
    )
