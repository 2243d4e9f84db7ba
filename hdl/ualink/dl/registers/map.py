"""The registers of one data link, as firmware sees them."""

from ualink.config import DLConfig
from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.dl.flit.error_injection import InjectionPoint
from ualink.dl.interface import DeviceType, LinkState
from ualink.dl.registers.firmware import COUNTERS, FULL_RATE

__all__ = ["EVENTS", "LOWEST_RATE", "MAP_VERSION", "dl_registers"]

MAP_VERSION = 1

LOWEST_RATE = 3_125
"""156.25 MHz, the reference clock, in units of 50 kHz (UALink_200 §6.4.2.2)."""

LEAST_REPLAY_LIMIT = 17
"""A round trip of one flit time and the 16 flit times above it that ruling A-21 (DL) asks for."""

COUNTERS_AT = 0x80

EVENTS = {
    "config_error": "A write had a value that is not allowed; its register is as it was before.",
    "channel_timed_out": "A channel negotiation was given up after channel_time_out.",
    "containment_ingress": "A TL flit was found corrupt above the replay function; the link went down.",
    "containment_egress": "The TL or the packer gave a corrupt TL flit; the link went down.",
    "forward_progress_time_out": "No Ack came within tx_ack_time_out; the link went down.",
    "uart_overflow": "The partner sent UART data without credit.",
    "uart_discarded": "UART data was discarded.",
    "uart_reset_timed_out": "No Reset Response came within channel_time_out; the UART reset is being repeated.",
    "uart_reset_received": "The partner reset the UART stream; the buffers were emptied.",
    "uart_protocol_error": "A UART message made no sense.",
}
"""Sticky events, from bit 0 of ``events`` on; the first is the register block's own."""

_COUNTER_DOCS = {
    "crc_errors": "Data flits with bad CRC.",
    "lost_flits": "Flits lost by the reconciliation sublayer.",
    "replays_requested": "Sets of Replay Requests sent.",
    "replays_accepted": "Replay Requests acted upon.",
    "dropped_flits": "Good flits dropped.",
    "commands_ignored": "Acks and Replay Requests out of range.",
    "protocol_errors": "Number 0, reserved codes, messages out of place, impossible segment headers.",
    "flits_sent": "DL flits sent.",
    "payload_flits_sent": "DL flits sent that have payload.",
    "flits_replayed": "DL flits sent out of TxReplay.",
    "flits_received": "DL flits accepted.",
    "payload_flits_received": "DL flits accepted that have payload.",
    "link_downs": "Times that the link left Up.",
    "forward_progress_time_outs": "Times that the link left Up because no Ack came.",
    "ingress_containments": "Times that the link left Up because of a bad TL flit received.",
    "egress_containments": "Times that the link left Up because of a bad TL flit to be sent.",
    "unknown_messages": "DL messages received that do not exist.",
}


def dl_registers(config: DLConfig) -> RegisterMap:
    """Registers of a data link built with ``config``; reset values are those of the standard or of ``config``."""
    return RegisterMap(
        "dl_port",
        (*_link(config), *_identities(), *_rates(), *_uart(config), *_injection(), *_counters()),
        "Data link of one port (UALink_200 §6). Rates are in units of 50 kHz, times in flit times of the port.",
    )


def _link(config: DLConfig) -> tuple[Register, ...]:
    online = "negotiated with the partner while the link is up"
    return (
        Register(
            "capabilities",
            0x00,
            (
                Field("map_version", "7:0", Access.CONSTANT, MAP_VERSION, "Version of this register map."),
                Field("replay_depth", "15:8", Access.CONSTANT, config.replay_depth, "DL flits that TxReplay holds."),
            ),
            "What was built.",
        ),
        Register(
            "link_control",
            0x04,
            (
                Field("enable", "0", Access.RW, 0, "Let the link leave DL Idle (§6.7.1.2)."),
                Field("channel_0_online", "1", Access.RW, 1, f"TL flits are wanted: {online} (§6.4.3.2)."),
                Field("channel_4_online", "2", Access.RW, 0, f"The UART is wanted: {online} (§6.4.3.2)."),
                Field("may_request_channels", "3", Access.RW, 1, "May start negotiations (ruling A-11 (DL))."),
            ),
            "What is wanted of the link.",
        ),
        Register(
            "link_status",
            0x08,
            (
                Field("link_state", "1:0", Access.RO, 0, "DL link state (§6.7.1).", values=_codes(LinkState)),
                Field("online", "2", Access.RO, 0, "Channel 0 is online."),
                Field("online_4", "3", Access.RO, 0, "Channel 4 is online."),
                Field("rx_replay", "4", Access.RO, 0, "The receiver waits for a replay."),
                Field("tx_replay", "5", Access.RO, 0, "The transmitter is replaying."),
                Field("held", "15:8", Access.RO, 0, "Flits in TxReplay that the partner has not acknowledged."),
            ),
            "The link now.",
        ),
        Register(
            "events",
            0x0C,
            tuple(Field(name, str(bit), Access.W1C, 0, doc) for bit, (name, doc) in enumerate(EVENTS.items())),
            "What has happened since it was last cleared.",
        ),
        Register(
            "replay_control",
            0x10,
            (
                Field(
                    "rx_replay_limit",
                    "7:0",
                    Access.RW,
                    config.rx_replay_limit,
                    "Rx_replay_limit: program twice the round trip, and never less than the round trip + 16 "
                    "(§6.6.4.6, ruling A-21 (DL)).",
                    allowed=range(min(LEAST_REPLAY_LIMIT, config.rx_replay_limit), 256),
                ),
                Field(
                    "codeword_group",
                    "10:8",
                    Access.RW,
                    4,
                    "Flits that one FEC failure can take, and so the distance of Replay Requests (ruling A-19 (DL)).",
                    allowed=(1, 2, 4),
                ),
            ),
            "Link level replay.",
        ),
        Register(
            "tx_ack_time_out",
            0x14,
            (
                Field(
                    "flit_times",
                    "23:0",
                    Access.RW,
                    config.tx_ack_time_out,
                    "Tx_ack_time_out; 1 ms is 39,063 (200 Gb/s), 78,125 (400 Gb/s), 156,250 (800 Gb/s); 0: off.",
                ),
            ),
            "Forward progress (§6.6.5.8).",
        ),
        Register(
            "channel_time_out",
            0x18,
            (
                Field(
                    "flit_times",
                    "23:0",
                    Access.RW,
                    390_625,
                    "10 ms is 390,625 (200 Gb/s), 781,250 (400 Gb/s), 1,562,500 (800 Gb/s); 0: off.",
                ),
            ),
            "Channel negotiations and UART resets (ruling A-10 (DL)).",
        ),
    )


def _identities() -> tuple[Register, ...]:
    types = _codes(DeviceType)
    return (
        Register(
            "local_device",
            0x20,
            (
                Field("id", "25:16", Access.RW, 0, "Switch or accelerator ID."),
                Field("type", "30:29", Access.RW, 0, "Type of this device.", allowed=(0, 1), values=types),
                Field("valid", "31", Access.RW, 0, "The number is known; without it the partner is told 0."),
            ),
            "What this side tells in Device ID messages, in the places of Table 6-5.",
        ),
        Register(
            "local_port",
            0x24,
            (
                Field("number", "25:16", Access.RW, 0, "Port number (ruling A-08 (DL))."),
                Field("valid", "31", Access.RW, 0, "The number is known; without it the partner is told 0."),
            ),
            "What this side tells in Port Number messages, in the places of Table 6-6.",
        ),
        Register(
            "partner_device",
            0x28,
            (
                Field("id", "25:16", Access.RO, 0, "Switch or accelerator ID."),
                Field("type", "30:29", Access.RO, 0, "Type of the partner; others are reserved.", values=types),
                Field("valid", "31", Access.RO, 0, "The partner knows its number; otherwise 0 is shown."),
            ),
            "What the partner last told in a Device ID message.",
        ),
        Register(
            "partner_port",
            0x2C,
            (
                Field("number", "27:16", Access.RO, 0, "Port number, with the two bits above the ten of §6.4.2.4."),
                Field("valid", "31", Access.RO, 0, "The partner knows its number; otherwise 0 is shown."),
            ),
            "What the partner last told in a Port Number message.",
        ),
        Register(
            "ask_device",
            0x30,
            (
                Field("start", "0", Access.GO, 0, "Send a Device ID Request; done with the partner's response."),
                Field("answered", "1", Access.RO, 0, "The last Request has its response."),
            ),
            "Device ID query (§6.4.2.3); nothing asks again by itself.",
        ),
        Register(
            "ask_port",
            0x34,
            (
                Field("start", "0", Access.GO, 0, "Send a Port Number Request; done with the partner's response."),
                Field("answered", "1", Access.RO, 0, "The last Request has its response."),
            ),
            "Port Number query (§6.4.2.4); nothing asks again by itself.",
        ),
    )


def _rates() -> tuple[Register, ...]:
    rates = range(LOWEST_RATE, FULL_RATE + 1)
    return (
        Register(
            "pacing",
            0x40,
            (
                Field(
                    "pace",
                    "15:0",
                    Access.RW,
                    FULL_RATE,
                    f"Most TL flits that this side sends; {FULL_RATE:,} is all that the line carries.",
                    allowed=rates,
                ),
            ),
            "Tx pacing (§6.5.1).",
        ),
        Register(
            "partner_rate",
            0x44,
            (Field("rate", "15:0", Access.RO, FULL_RATE, "TL clock that the partner last announced."),),
            "From the partner's TL Rate Notification (§6.5.4).",
        ),
        Register(
            "announce_rate",
            0x48,
            (
                Field("start", "0", Access.GO, 0, "Send a TL Rate Notification; done with the partner's Ack."),
                Field("answered", "1", Access.RO, 0, "The last notification has its Ack."),
                Field("rate", "31:16", Access.RW, FULL_RATE, "TL clock of this side.", allowed=rates),
            ),
            "TL Rate Notification (§6.4.2.2).",
        ),
    )


def _uart(config: DLConfig) -> tuple[Register, ...]:
    dword = "A dword of the stream."
    return (
        Register("uart_tx", 0x60, (Field("data", "31:0", Access.PUSH, 0, dword),), "UART Tx buffer (§6.4.4)."),
        Register("uart_rx", 0x64, (Field("data", "31:0", Access.POP, 0, dword),), "UART Rx buffer (§6.4.4)."),
        Register(
            "uart_levels",
            0x68,
            (
                Field("tx", "12:0", Access.RO, 0, "Dwords that wait for their transmission."),
                Field("rx", "28:16", Access.RO, 0, "Dwords that wait to be read."),
            ),
            "Fill of the UART buffers.",
        ),
        Register(
            "uart_depths",
            0x6C,
            (
                Field("tx", "12:0", Access.CONSTANT, config.uart_tx_dwords, "Dwords that the Tx buffer holds."),
                Field("rx", "28:16", Access.CONSTANT, config.uart_rx_dwords, "Dwords that the Rx buffer holds."),
            ),
            "Size of the UART buffers.",
        ),
        Register(
            "uart_reset",
            0x70,
            (
                Field("start", "0", Access.GO, 0, "Reset the stream; done when the partner has confirmed."),
                Field("resetting", "1", Access.RO, 0, "The stream is being reset."),
                Field("all_streams", "2", Access.RW, 0, "Say in the Reset Request that it means all streams."),
            ),
            "UART stream reset (§6.4.4.1.2).",
        ),
    )


def _injection() -> tuple[Register, ...]:
    points = _codes(InjectionPoint)
    return (
        Register(
            "inject",
            0x74,
            (
                Field("start", "0", Access.GO, 0, "Inject one error; done at once."),
                Field("enable", "1", Access.RW, 0, "Without it nothing is injected."),
                Field("select", "7:4", Access.RW, 0, "Which error.", range(len(points)), points),
            ),
            "Error injection.",
        ),
    )


def _counters() -> tuple[Register, ...]:
    take = Field("start", "0", Access.GO, 0, "Copy all counters as they are in this cycle; done at once.")
    return (
        Register("snapshot", 0x78, (take,), "The counters below read as they were at the last snapshot, 0 before."),
        *(
            Register(
                name,
                COUNTERS_AT + 4 * number,
                (Field("count", "31:0", Access.RO),),
                f"{_COUNTER_DOCS.get(name, name.replace('_', ' ').capitalize() + '.')} Wraps around.",
                snapshot="snapshot",
            )
            for number, name in enumerate(COUNTERS)
        ),
    )


def _codes(kind) -> tuple[tuple[str, int], ...]:
    """Names and values of an enumeration, in lower case."""
    return tuple((member.name.lower(), member.value) for member in kind)
