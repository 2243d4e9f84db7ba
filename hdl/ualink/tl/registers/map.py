"""The registers of the transaction layer of one port, as firmware sees them."""

from ualink.config import TLConfig
from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.tl.control import NATURAL_LIMITS
from ualink.tl.receive.error import ReceiveError
from ualink.tl.session.drop_mode import DROP_CAUSE_LAYOUT

__all__ = ["EVENTS", "MAP_VERSION", "tl_registers"]

MAP_VERSION = 1

EVENTS = {
    "config_error": "A write had a value that is not allowed; its register is as it was before.",
    "drop_mode": "Drop Mode began (§3.1.3).",
    "receive_error": "The receiver found a fatal error; the link goes down.",
    "transmit_error": "The partner returned more credits than it had given.",
    "cache_error": "A word of the Tx Address Cache had wrong parity.",
}
"""Sticky events, from bit 0 of ``events`` on; the first is the register block's own."""

_CAUSES = {
    "link_down": "the link went down, at an accelerator also that of another port",
    "control_error": "a Control Error at a UPLI agent",
    "protocol_error": "a Protocol Error at a UPLI agent",
    "command": "enter_drop",
}

_ERRORS = tuple((error.name.lower(), error.value) for error in ReceiveError)


def tl_registers(config: TLConfig) -> RegisterMap:
    """Registers of a transaction layer built with ``config``."""
    return RegisterMap(
        "tl_port",
        (*_capabilities(config), *_control(), *_commands(), *_status()),
        "Transaction layer of one port (UALink_200 §5, §3.1).",
    )


def _capabilities(config: TLConfig) -> tuple[Register, ...]:
    with_tags, shared = int(config.authentication), int(config.shared_data_buffer)
    return (
        Register(
            "capabilities",
            0x00,
            (
                Field("map_version", "7:0", Access.CONSTANT, MAP_VERSION, "Version of this register map."),
                Field("tx_rows", "18:8", Access.CONSTANT, config.tx_cache.rows, "Rows of the Tx Address Cache."),
                Field("rx_rows", "29:19", Access.CONSTANT, config.rx_cache.rows, "Rows of the Rx Address Cache."),
                Field("authentication", "30", Access.CONSTANT, with_tags, "AuthTags can be carried."),
                Field("shared_data", "31", Access.CONSTANT, shared, "Shared Data Buffer mode."),
            ),
            "What was built.",
        ),
    )


def _control() -> tuple[Register, ...]:
    down = "change it while the link is down"
    widths = {name: most.bit_length() for name, most in NATURAL_LIMITS.items()}
    limits, low = [], 0
    for name, most in NATURAL_LIMITS.items():
        bits = f"{low + widths[name] - 1}:{low}"
        doc = f"Most {name.replace('_', ' ')} in a Control half-flit; 0: as many as fit."
        limits.append(Field(name, bits, Access.RW, 0, doc, range(most + 1)))
        low += 4
    return (
        Register(
            "control",
            0x04,
            (
                Field("authentication", "0", Access.RW, 0, f"AuthTags are sent and expected (§5.1.1); {down}."),
                Field("encryption", "1", Access.RW, 0, "The link may carry encrypted traffic (§9.5)."),
                Field("disable_tx_cache", "2", Access.RW, 0, f"Send no Compressed Request (§5.10); {down}."),
                Field("disable_rx_cache", "3", Access.RW, 0, f"Take a Compressed Request for an error; {down}."),
                Field("disable_response_compression", "4", Access.RW, 0, "Send no Compressed Responses."),
                Field("clear_tx_cache", "5", Access.RW, 0, "While 1 nothing is compressed, and entries are forgotten."),
                Field("is_switch", "6", Access.RW, 0, f"This end is a switch, if built for either; {down}."),
            ),
            "How the transaction layer works.",
        ),
        Register("limits", 0x08, tuple(limits), "Backoff modes (§5.10)."),
    )


def _commands() -> tuple[Register, ...]:
    return (
        Register(
            "enter_drop", 0x0C, (Field("start", "0", Access.GO, 0, "Enter Drop Mode (§3.1.4.2)."),), "Into Drop Mode."
        ),
        Register(
            "clear_drop",
            0x10,
            (Field("start", "0", Access.GO, 0, "Leave Drop Mode; it ends when the link is up."),),
            "Out of Drop Mode.",
        ),
        Register(
            "invalidate",
            0x14,
            (
                Field("start", "0", Access.GO, 0, "Forget one entry of the Tx Address Cache."),
                Field("way", "5:4", Access.RW, 0, "Its way."),
                Field("row", "17:8", Access.RW, 0, "Its row."),
            ),
            "One entry of the Tx Address Cache.",
        ),
    )


def _status() -> tuple[Register, ...]:
    causes = tuple(
        Field(f"drop_{name}", str(8 + bit), Access.RO, 0, f"Drop Mode was entered by this since clear_drop: {doc}.")
        for bit, (name, doc) in enumerate(_CAUSES.items())
    )
    assert tuple(_CAUSES) == tuple(DROP_CAUSE_LAYOUT.members)
    return (
        Register(
            "status",
            0x20,
            (
                Field("credits_ready", "0", Access.RO, 0, "Both initial credit releases are complete (§5.8)."),
                Field("dropping", "1", Access.RO, 0, "Drop Mode (§3.1.3)."),
                Field("transmit_error", "2", Access.RO, 0, "Too many credits came back; until the link is down."),
                Field("cache_error", "3", Access.RO, 0, "The Tx Address Cache is corrupt; until the link is down."),
                Field("receive_error_valid", "4", Access.RO, 0, "receive_error holds an error."),
                *causes,
                Field("receive_error", "20:16", Access.RO, 0, "First fatal error since the link is up.", None, _ERRORS),
            ),
            "The transaction layer now.",
        ),
        Register(
            "events",
            0x24,
            tuple(Field(name, str(bit), Access.W1C, 0, doc) for bit, (name, doc) in enumerate(EVENTS.items())),
            "What has happened since it was last cleared.",
        ),
        Register(
            "errors",
            0x28,
            (
                Field("last_error", "4:0", Access.RO, 0, "Last fatal error since reset.", None, _ERRORS),
                Field("error_count", "15:8", Access.RO, 0, "How many there were, at most 255."),
            ),
            "Fatal errors of the receiver.",
        ),
        Register(
            "counts",
            0x2C,
            (
                Field("unknown_messages", "7:0", Access.RO, 0, "Messages of an unknown kind."),
                Field("half_poisoned_beats", "15:8", Access.RO, 0, "Beats of which one half was poisoned."),
                Field("block_crossings", "23:16", Access.RO, 0, "Compressed Requests that seemed to cross 256 bytes."),
                Field("isolates", "31:24", Access.RO, 0, "Write Responses with ISOLATE that came over the link."),
            ),
            "Events that are no error; since reset, at most 255 each.",
        ),
    )
