"""The registers of the physical layer of one port of a board, as firmware sees them."""

from ualink.config import PhyConfig
from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.phy.lane_registers import lane_setting_fields, lane_status_fields
from ualink.phy.link_fault import LinkFault
from ualink.phy.port_rate import PortRate

__all__ = [
    "COUNTERS",
    "EVENTS",
    "LANES_AT",
    "LANE_BYTES",
    "MAP_VERSION",
    "counter_registers",
    "fault_fields",
    "marker_register",
    "phy_registers",
    "rate_registers",
]

MAP_VERSION = 1

LANES_AT = 0x80
LANE_BYTES = 0x20
COUNTERS_AT = 0x40

COUNTERS = {
    "sent_data": "Data flits sent.",
    "sent_control": "Control flits sent.",
    "sent_marker": "Control flits sent that begin with a Start sequence.",
    "starved": "Flit slots in which the data link owed a flit.",
    "received_data": "Data flits received.",
    "received_bad": "Flit slots received of which a block was lost.",
    "received_control": "Control flits received.",
    "received_marker": "AM flits received.",
    "fault_change": "Changes of the link fault.",
}
"""Events that are counted, as ``ReconciliationStatusSignature`` names them."""

EVENTS = {
    "config_error": "A write had a value that is not allowed; its register is as it was before.",
    "aligned_lost": "The lanes were no longer in step.",
    "link_fault": "A link fault began.",
    "hi_ber": "The bit error rate became high.",
    "underflow": "The transmit side was too slow for a lane.",
    "overflow": "A lane came too early against the others.",
}
"""Sticky events, from bit 0 of ``events`` on; the first is the register block's own."""

RATE_AT = 0x18

_FAULTS = tuple((fault.name.lower(), fault.value) for fault in LinkFault)


def phy_registers(config: PhyConfig, lanes: int, line_rate: int, port: int = 0) -> RegisterMap:
    """Registers of port ``port`` with ``lanes`` lanes of ``line_rate`` bit/s; ``rate`` is among them where ``config``
    has several."""
    registers = [*_port(config.of_port(port), lanes, line_rate), *rate_registers(config, port), *counter_registers()]
    for lane in range(lanes):
        registers += _lane(lane)
    return RegisterMap(
        "phy_port", tuple(registers), "Reconciliation sublayer, PCS and lanes of one port (UALink_200 §7)."
    )


def _port(config: PhyConfig, lanes: int, line_rate: int) -> tuple[Register, ...]:
    return (
        Register(
            "capabilities",
            0x00,
            (
                Field("map_version", "7:0", Access.CONSTANT, MAP_VERSION, "Version of this register map."),
                Field("lanes", "10:8", Access.CONSTANT, lanes, "Lanes of the port."),
                Field("line_rate", "31:16", Access.CONSTANT, line_rate // 1_000_000, "Of a lane, in Mb/s."),
            ),
            "What was built.",
        ),
        marker_register(config),
        Register(
            "control",
            0x08,
            (
                Field("ber_monitor", "0", Access.RW, 0, "A high bit error rate is a Local Fault."),
                Field("clear", "1", Access.RW, 0, "While 1 the counters of the lanes are held at 0."),
            ),
            "How the port works.",
        ),
        Register(
            "status",
            0x0C,
            (
                Field("running", "0", Access.RO, 0, "The lanes send what the reconciliation sublayer gives."),
                Field("aligned", "1", Access.RO, 0, "All lanes are locked, in step and in order."),
                Field("hi_ber", "2", Access.RO, 0, "The bit error rate is high."),
                Field("flits_aligned", "3", Access.RO, 0, "An AM flit has come."),
                *fault_fields(),
            ),
            "The port now.",
        ),
        Register(
            "events",
            0x10,
            tuple(Field(name, str(bit), Access.W1C, 0, doc) for bit, (name, doc) in enumerate(EVENTS.items())),
            "What has happened since it was last cleared.",
        ),
    )


def marker_register(config: PhyConfig) -> Register:
    """What alignment markers of a port were built for."""
    return Register(
        "marker",
        0x04,
        (
            Field("interval", "15:0", Access.CONSTANT, config.marker_slots, "Flit slots from one to the next."),
            Field("blocks", "22:16", Access.CONSTANT, config.marker_blocks, "Blocks that one takes."),
        ),
        "Alignment markers (§7.2.7).",
    )


def fault_fields() -> tuple[Field, ...]:
    """Fields of ``status`` that show link faults."""
    return (
        Field("link_fault", "5:4", Access.RO, 0, "As received (§7.2.6).", values=_FAULTS),
        Field("fault", "7:6", Access.RO, 0, "In force in the flit slot that is being sent.", values=_FAULTS),
    )


def rate_registers(config: PhyConfig, port: int) -> tuple[Register, ...]:
    """``rate`` of port ``port``, or nothing where ``config`` has no choice."""
    choices = tuple(PortRate.of(rate) for rate in config.choosable_rates)
    if not choices:
        return ()
    reset, names = (
        PortRate.of(config.of_port(port).rate).value,
        tuple((rate.name.lower(), rate.value) for rate in choices),
    )
    allowed = tuple(rate.value for rate in choices)
    return (
        Register(
            "rate",
            RATE_AT,
            (
                Field("wanted", "1:0", Access.RW, reset, "Taken over while the link is down.", allowed, names),
                Field("in_force", "5:4", Access.RO, reset, "What the port runs at.", values=names),
            ),
            "Data rate of the port (§7.1). One written while the data link is in DL NOP or DL Up waits until it is in "
            "DL Fault or DL Idle. It sets the distance of alignment markers, of which `marker` has that after reset; "
            "lanes and PCS must run at the same rate.",
        ),
    )


def counter_registers() -> tuple[Register, ...]:
    """``snapshot``, and one for each of ``COUNTERS``."""
    take = Register(
        "snapshot",
        0x14,
        (Field("start", "0", Access.GO, 0, "Copy all counters as they are in this cycle; done at once."),),
        "The counters below read as they were at the last snapshot, 0 before.",
    )
    return (
        take,
        *(
            Register(name, COUNTERS_AT + 4 * number, (Field("count", "31:0", Access.RO),), doc, snapshot="snapshot")
            for number, (name, doc) in enumerate(COUNTERS.items())
        ),
    )


def _lane(lane: int) -> tuple[Register, ...]:
    at = LANES_AT + LANE_BYTES * lane
    return (
        Register(
            f"lane{lane}_control",
            at,
            lane_setting_fields(loopback=0, tx_invert=4, rx_invert=5, reset=6),
            "Settings of the lane.",
        ),
        Register(
            f"lane{lane}_status",
            at + 4,
            lane_status_fields(
                Field("block_lock", "4", Access.RO, 0, "The sync headers of blocks are found."),
                Field("marker_lock", "5", Access.RO, 0, "The markers are found where they have to be."),
                Field("number", "7:6", Access.RO, 0, "Of the partner's lane, with marker_lock."),
                Field("underflow", "24", Access.RO, 0, "The transmit side was too slow; until clear."),
                Field("overflow", "25", Access.RO, 0, "Too early against the other lanes; until clear."),
            ),
            "The lane now.",
        ),
        Register(
            f"lane{lane}_headers",
            at + 8,
            (Field("bad", "31:0", Access.RO, 0, "Stays at its largest value."),),
            "Sync headers 00 and 11, with marker_lock.",
        ),
        Register(
            f"lane{lane}_skew",
            at + 12,
            (Field("blocks", "15:0", Access.RO, 0, "Blocks."),),
            "How long this lane waited for the latest.",
        ),
    )
