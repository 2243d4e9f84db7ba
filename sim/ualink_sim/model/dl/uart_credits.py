"""Both ends of the UART's credits, and the packets inside its stream (UALink_200 §6.4.4.1.3-6.4.4.1.4)."""

from collections import deque

from .messages import MAX_TRANSPORT_DWORDS, MessageError, UARTCreditUpdate, UARTTransport, VendorDefinedPacket

__all__ = [
    "COUNTER_MODULUS",
    "UPDATE_INTERVAL_FLITS",
    "Receiver",
    "Transmitter",
    "pack_vendor_defined",
    "unpack_vendor_defined",
]

COUNTER_MODULUS = 1 << 12
UPDATE_INTERVAL_FLITS = 4
"""DL flits between two Credit Updates at the least, counted from the one before (ruling A-12 (DL))."""


class Transmitter:
    """Tx buffer and Transmit Credit Counter (``tcc``); ``data_fc_seq`` is the last one received."""

    def __init__(self, dwords: int):
        self.dwords = dwords
        self.restart()

    def restart(self) -> None:
        """Empty, without credits."""
        self.buffer: deque[int] = deque()
        self.tcc = 0
        self.data_fc_seq = 0
        self.partner_dwords = 0

    @property
    def credits(self) -> int:
        """Dwords that the partner has room for."""
        return (self.data_fc_seq - self.tcc) % COUNTER_MODULUS

    def update(self, data_fc_seq: int) -> bool:
        """A Credit Update; False, and nothing changed, if it speaks of more room than the partner's buffer has."""
        if not self.partner_dwords:
            self.partner_dwords = data_fc_seq
        gain = (data_fc_seq - self.data_fc_seq) % COUNTER_MODULUS
        if self.credits + gain > self.partner_dwords:
            return False
        self.data_fc_seq = data_fc_seq
        return True

    def transport(self) -> list[int] | None:
        """The next Transport Message, with its dwords out of the buffer and paid for."""
        count = min(self.credits, len(self.buffer), MAX_TRANSPORT_DWORDS)
        if not count:
            return None
        self.tcc = (self.tcc + count) % COUNTER_MODULUS
        return UARTTransport.dwords([self.buffer.popleft() for _ in range(count)])


class Receiver:
    """Rx buffer and Receiver Credit Counter (``rcc``); ``flits`` were sent since the last Credit Update."""

    def __init__(self, dwords: int):
        self.dwords = dwords
        self.restart()

    def restart(self) -> None:
        """Empty; all of the buffer to be announced."""
        self.buffer: deque[int] = deque()
        self.rcc = self.dwords
        self.announced: int | None = None
        self.flits = 0

    def read(self) -> int | None:
        """The oldest dword; None if there is none."""
        if not self.buffer:
            return None
        self.rcc = (self.rcc + 1) % COUNTER_MODULUS
        return self.buffer.popleft()

    def put(self, dword: int) -> bool:
        """A received dword; False if there is no room."""
        if len(self.buffer) == self.dwords:
            return False
        self.buffer.append(dword)
        return True

    def credit_update(self) -> list[int] | None:
        """The Credit Update that is due."""
        if self.announced is not None and (self.announced == self.rcc or self.flits < UPDATE_INTERVAL_FLITS):
            return None
        self.announced, self.flits = self.rcc, 0
        return [UARTCreditUpdate(data_fc_seq=self.rcc).encode()]


def pack_vendor_defined(vendor_id: int, kind: int, payload: list[int]) -> list[int]:
    """A Vendor Defined Packet of 1 to 256 payload dwords as it stands in the UART stream (Table 6-9)."""
    if not 1 <= len(payload) <= 256:
        raise MessageError(f"{len(payload)} payload dwords; a Vendor Defined Packet has 1 to 256")
    return [VendorDefinedPacket(length=len(payload) - 1, type=kind, vendor_id=vendor_id).encode(), *payload]


def unpack_vendor_defined(dwords: list[int]) -> list[tuple[VendorDefinedPacket, list[int]]]:
    """The whole packets at the beginning of a stream, however Transport Messages have cut it."""
    packets, place = [], 0
    while place < len(dwords):
        head = VendorDefinedPacket.decode(dwords[place])
        end = place + 2 + head.length
        if end > len(dwords):
            break
        packets.append((head, dwords[place + 1 : end]))
        place = end
    return packets
