"""The registers of a switch as a whole, as firmware sees them: what it is, and its route tables."""

from ualink.config import SwitchConfig
from ualink.csr.table import Access, Field, Register, RegisterMap

__all__ = ["MAP_VERSION", "switch_registers"]

MAP_VERSION = 1

_DENY = "Bit p denies what enters by port p of that station."
_PORT = "Port by which the others leave."
_STATION = "Its station."


def switch_registers(config: SwitchConfig) -> RegisterMap:
    """Registers of a switch built with ``config``."""
    ports, stations = range(config.station.ports), range(config.stations)
    return RegisterMap(
        "switch",
        (
            *_capabilities(config),
            Register(
                "route_status",
                0x08,
                (Field("ready", "0", Access.RO, 0, "All tables deny everything; they may be written."),),
                "The tables after reset.",
            ),
            Register(
                "route_select",
                0x0C,
                (
                    Field("accelerator", "9:0", Access.RW, 0, "Destination ID.", range(config.route_entries)),
                    Field(
                        "station", "23:16", Access.RW, 0, "Station whose table it is, by which items enter.", stations
                    ),
                ),
                "The entry that route_entry shows and route_write replaces; leave it alone while route_write starts.",
            ),
            Register(
                "route_write",
                0x10,
                (
                    Field("start", "0", Access.GO, 0, "Replace the whole entry by this word; waits for ready."),
                    Field("deny", "7:4", Access.RW, 0b1111, _DENY),
                    Field("egress_port", "9:8", Access.RW, 0, _PORT, ports),
                    Field("egress_station", "23:16", Access.RW, 0, _STATION, stations),
                ),
                "A write of an entry: items go by the old one or by the new one (§10.7, ruling C-08).",
            ),
            Register(
                "route_entry",
                0x14,
                (
                    Field("deny", "7:4", Access.RO, 0b1111, _DENY),
                    Field("egress_port", "9:8", Access.RO, 0, _PORT),
                    Field("egress_station", "23:16", Access.RO, 0, _STATION),
                    Field("upset", "31", Access.RO, 0, "The parity of the entry does not fit: write it again."),
                ),
                "The entry, as it is in the table; Deny for all ports until ready.",
            ),
        ),
        "What the switch is, and its route tables (UALink_200 §10.7, §10.8).",
    )


def _capabilities(config: SwitchConfig) -> tuple[Register, ...]:
    return (
        Register(
            "capabilities",
            0x00,
            (
                Field("map_version", "7:0", Access.CONSTANT, MAP_VERSION, "Version of this register map."),
                Field("stations", "16:8", Access.CONSTANT, config.stations, "Stations of the switch."),
                Field("ports", "20:18", Access.CONSTANT, config.station.ports, "Ports of each station (§10.2)."),
            ),
            "What was built.",
        ),
        Register(
            "route_capabilities",
            0x04,
            (
                Field(
                    "entries",
                    "10:0",
                    Access.CONSTANT,
                    config.route_entries,
                    "Entries of each table; IDs beyond are denied.",
                ),
            ),
            "The route tables, one per station.",
        ),
    )
