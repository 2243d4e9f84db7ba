"""DL messages in words (UALink_200 §6.4, Tables 6-4 to 6-13)."""

__all__ = ["describe_message"]

NEGOTIATION = {4: "request", 6: "ack", 7: "nack", 8: "decision pending"}


def describe_message(dword: int) -> str:
    """Name and fields of the message whose first dword is ``dword``; payload dwords of a UART transport look alike."""
    kind = dword >> 2 & 0xF, dword >> 6 & 7
    answer = "response" if dword >> 12 & 1 else "request"
    if kind == (0, 0):
        return "No-Op"
    if kind == (0, 4):
        return f"TL Rate Notification {answer}" + ("" if dword >> 12 & 1 else f", {(dword >> 16) * 50} kHz")
    if kind == (0, 5):
        role = ("switch", "accelerator", "reserved", "reserved")[dword >> 29 & 3]
        return f"Device ID {answer}, {role} {dword >> 16 & 0x3FF if dword >> 31 else 'unknown'}"
    if kind == (0, 6):
        return f"Port Number {answer}, {dword >> 16 & 0xFFF if dword >> 31 else 'unknown'}"
    if kind == (8, 4):
        return (
            f"Channel negotiation {NEGOTIATION.get(dword >> 20 & 0xF, 'reserved')}, "
            f"target {_channel(dword >> 16)}, response {_channel(dword >> 24)}"
        )
    if kind == (1, 0):
        return f"UART Stream Transport, stream {dword >> 9 & 7}, {(dword >> 27) + 1} dwords follow"
    if kind == (1, 1):
        return f"UART Stream Credit Update, stream {dword >> 9 & 7}, DataFCSeq {dword >> 20}"
    if kind == (1, 6):
        return f"UART Stream Reset Request, stream {dword >> 9 & 7}"
    if kind == (1, 7):
        return f"UART Stream Reset Response, stream {dword >> 9 & 7}, status {dword >> 13 & 7}"
    return f"undefined class {kind[0]} type {kind[1]}"


def _channel(nibble: int) -> str:
    return f"channel {nibble & 7} {'online' if nibble >> 3 & 1 else 'offline'}"
