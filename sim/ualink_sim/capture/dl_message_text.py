"""DL messages in words (UALink_200 §6.4, Tables 6-4 to 6-13)."""

from ..model.dl.messages import (
    ChannelCommand,
    ChannelNegotiation,
    DeviceId,
    DLMessage,
    NoOp,
    PortNumber,
    TLRateNotification,
    UARTCreditUpdate,
    UARTResetRequest,
    UARTResetResponse,
    UARTTransport,
)

__all__ = ["describe_message"]

ROLES = ("switch", "accelerator", "reserved", "reserved")


def describe_message(message: DLMessage) -> str:
    """Name and members of ``message``."""
    match message:
        case NoOp():
            return "No-Op"
        case TLRateNotification(ack=0, rate=rate):
            return f"TL Rate Notification request, {rate * 50} kHz"
        case TLRateNotification():
            return "TL Rate Notification response"
        case DeviceId():
            known = message.id if message.valid else "unknown"
            return f"Device ID {_direction(message.ack)}, {ROLES[message.type]} {known}"
        case PortNumber():
            known = message.port_number if message.valid else "unknown"
            return f"Port Number {_direction(message.ack)}, {known}"
        case ChannelNegotiation():
            return (
                f"Channel negotiation {_command(message.command)}, "
                f"target {_channel(message.target_state)}, response {_channel(message.response)}"
            )
        case UARTTransport():
            return f"UART Stream Transport, stream {message.stream_id}, {message.length + 1} dwords follow"
        case UARTCreditUpdate():
            return f"UART Stream Credit Update, stream {message.stream_id}, DataFCSeq {message.data_fc_seq}"
        case UARTResetRequest():
            return f"UART Stream Reset Request, {_streams(message)}"
        case UARTResetResponse():
            return f"UART Stream Reset Response, {_streams(message)}, status {message.status}"
    raise TypeError(f"{type(message).__name__} is no DL message of Rev 1.0")


def _direction(ack: int) -> str:
    return "response" if ack else "request"


def _command(code: int) -> str:
    return ChannelCommand(code).name.lower().replace("_", " ") if code in set(ChannelCommand) else "reserved"


def _channel(nibble: int) -> str:
    return f"channel {nibble & 7} {'online' if nibble >> 3 & 1 else 'offline'}"


def _streams(message: UARTResetRequest | UARTResetResponse) -> str:
    return "all streams" if message.all_streams else f"stream {message.stream_id}"
