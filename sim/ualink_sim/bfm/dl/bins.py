"""The bins of functional coverage, by the sections and tables of UALink_200 that they come from."""

__all__ = ["BINS", "HEADERS"]

HEADERS = ("explicit org", "explicit rpy", "explicit NOP", "Ack payload", "Ack NOP", "Request payload", "Request NOP")
"""Kinds of flit headers (Tables 6-14 and 6-15)."""

_IN_REPLAY = ("explicit rpy", "Ack payload", "Request payload")
_CHANNEL_FLOWS = (
    "online by the device",
    "online by the partner",
    "offline by the device",
    "offline by the partner",
    "identical requests",
    "decision pending by the device",
    "decision pending by the partner",
    "NAck by the partner",
    "request for the current state",
)

BINS: dict[str, tuple[str, ...]] = {
    "§6.6.2 headers sent": (
        *(f"NOP: {kind}" for kind in ("explicit NOP", "Ack NOP")),
        *(f"Up: {kind}" for kind in HEADERS if kind != "explicit rpy"),
        *(f"Rx_replay: {kind}" for kind in HEADERS if kind != "explicit rpy"),
        *(f"Tx_replay: {kind}" for kind in _IN_REPLAY),
    ),
    "§6.6.2 headers received": HEADERS,
    "§6.3.4 packing": tuple(
        f"carry-over {carry}, {'alternative sector' if alternative else 'none'}"
        for carry in range(16)
        for alternative in (0, 1)
    ),
    "§6.6.6.2 Rx ingress": (
        "good CRC",
        "bad CRC",
        "flit lost",
        "seventh bad flit in a row",
        "bad flit after the seventh",
        "bad flit in replay state",
        "Rx_replay_ignore_count counts down",
    ),
    "§6.6.4.1 Rx_seq_calc": (
        "explicit",
        *(f"command, {step} further" for step in range(9)),
        "across 511 to 1",
    ),
    "§6.6.6.3 Rx Ack and Replay Request": (
        "ackReqSeq 0",
        "Replay Request accepted",
        "Replay Request out of range",
        "Replay Request within the window",
        "Ack repeated",
        "Ack frees flits",
        "Ack out of range",
    ),
    "§6.6.6.4 Rx enqueue": (
        "explicit 0",
        "explicit in order",
        "explicit in order, ambiguous",
        "explicit in order, in replay state",
        "command in order",
        "explicit out of order",
        "command out of order",
        "explicit out of order in replay state",
        "command in replay state",
        "Rx_replay_limit reached",
        "command while ambiguous",
    ),
    "§6.6.6.5 Tx enqueue": ("flit accepted", "not while replaying", "not with TxReplay full", "255 unacknowledged"),
    "§6.6.6.6 Tx source": (
        "new payload flit",
        "NOP flit",
        "replayed flit",
        "last replayed flit",
        "replay restarted",
        "replay cut short by an Ack",
    ),
    "§6.6.6.7 Tx scheduling": (
        "first of a replay",
        "explicit org or NOP",
        "explicit rpy within a replay",
        "Replay Request, first copy",
        "Replay Request, second copy",
        "Replay Request, third copy",
        "Ack",
        "number across 511 to 1",
    ),
    "§6.6.6.8 forward progress": ("time-out",),
    "§6.4 messages sent": (
        *("DeviceId request", "DeviceId response", "PortNumber request", "PortNumber response"),
        *("TLRateNotification request", "TLRateNotification response", "NoOp"),
        *("ChannelNegotiation REQUEST", "ChannelNegotiation ACK", "ChannelNegotiation DECISION_PENDING"),
        *("UARTTransport", "UARTCreditUpdate", "UARTResetRequest", "UARTResetResponse"),
    ),
    "§6.4 messages received": (
        *("DeviceId request", "DeviceId response", "PortNumber request", "PortNumber response"),
        *("TLRateNotification request", "TLRateNotification response", "NoOp"),
        *("ChannelNegotiation REQUEST", "ChannelNegotiation ACK", "ChannelNegotiation NACK"),
        *("ChannelNegotiation DECISION_PENDING", "UARTTransport", "UARTCreditUpdate", "UARTResetRequest"),
        *("UARTResetResponse", "unknown"),
    ),
    "§6.4.3 channel 0": _CHANNEL_FLOWS,
    "§6.4.3 channel 4": _CHANNEL_FLOWS,
    "§6.4.4 UART": (
        "message of 1 dword",
        "message of 2 to 31 dwords",
        "message of 32 dwords",
        "message across flits",
        "credits used up",
        "reset by the device",
        "reset by the partner",
        "reset by both",
        "reset repeated",
    ),
    "§6.7.1 link states": (
        "reset: Fault",
        "Fault to Idle",
        "Idle to NOP",
        "NOP to Up",
        "Up to Idle, control flits",
        "Up to Idle, error containment",
        "Up to Idle, no forward progress",
        "Idle to Fault",
        "NOP to Fault",
        "Up to Fault, local",
        "Up to Fault, remote",
    ),
}
"""Group to bins; a group is a section, a bin a row of its table or a case of its text."""
