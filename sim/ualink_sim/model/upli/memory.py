"""Memory of one accelerator, byte for byte, and the operations that Atomics perform on it.

The standard leaves the meaning of the 32 OpTypes to implementations (UALink_200 §2.7.4.5); ``OPERATIONS`` is the table
of this project and may be replaced. Elements are little-endian.

====== =================== ============================================
OpType operation           new value
====== =================== ============================================
00h    ADD                 old + op1
01h    AND                 old & op1
02h    OR                  old | op1
03h    XOR                 old ^ op1
04h    SWAP                op1
05h    MIN                 the smaller, signed
06h    MAX                 the larger, signed
07h    UMIN                the smaller, unsigned
08h    UMAX                the larger, unsigned
09h    INC_WRAP            0 if old >= op1, else old + 1
0Ah    DEC_WRAP            op1 if old is 0 or above op1, else old - 1
0Bh    SUB                 old - op1
10h    COMPARE_SWAP        op2 if old == op1, else old
11h    FETCH_AND_OP_MASKED (old & ~op2) | (op1 & op2)
====== =================== ============================================
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["ADDRESS_BITS", "LINE_BYTES", "OPERATIONS", "Memory", "Operation"]

ADDRESS_BITS = 57
LINE_BYTES = 64
_ALL_LANES = (1 << LINE_BYTES) - 1


@dataclass(frozen=True)
class Operation:
    """One atomic operation: ``function(old, op1, op2, bits)`` gives the new value; op2 is 0 for one operand."""

    name: str
    operands: int
    function: Callable[[int, int, int, int], int]


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def _single(name: str, function: Callable[[int, int, int], int]) -> Operation:
    return Operation(name, 1, lambda old, op1, _, bits: function(old, op1, bits) & ((1 << bits) - 1))


OPERATIONS: Mapping[int, Operation] = {
    0x00: _single("ADD", lambda old, op, bits: old + op),
    0x01: _single("AND", lambda old, op, bits: old & op),
    0x02: _single("OR", lambda old, op, bits: old | op),
    0x03: _single("XOR", lambda old, op, bits: old ^ op),
    0x04: _single("SWAP", lambda old, op, bits: op),
    0x05: _single("MIN", lambda old, op, bits: min(old, op, key=lambda value: _signed(value, bits))),
    0x06: _single("MAX", lambda old, op, bits: max(old, op, key=lambda value: _signed(value, bits))),
    0x07: _single("UMIN", lambda old, op, bits: min(old, op)),
    0x08: _single("UMAX", lambda old, op, bits: max(old, op)),
    0x09: _single("INC_WRAP", lambda old, op, bits: 0 if old >= op else old + 1),
    0x0A: _single("DEC_WRAP", lambda old, op, bits: op if old == 0 or old > op else old - 1),
    0x0B: _single("SUB", lambda old, op, bits: old - op),
    0x10: Operation("COMPARE_SWAP", 2, lambda old, compare, new, bits: new if old == compare else old),
    0x11: Operation("FETCH_AND_OP_MASKED", 2, lambda old, value, mask, bits: old & ~mask | value & mask),
}
"""OpType to operation; every other code is unsupported."""


class Memory:
    """Sparse, byte-accurate, zeros at start; ``lines`` maps the address of every written line to its 64 bytes."""

    def __init__(self):
        self.lines: dict[int, bytearray] = {}

    def _key(self, address: int) -> int:
        if not 0 <= address < 1 << ADDRESS_BITS:
            raise ValueError(f"address {address:#x} is outside {ADDRESS_BITS} bits")
        return address - address % LINE_BYTES

    def _line(self, address: int) -> bytearray:
        return self.lines.setdefault(self._key(address), bytearray(LINE_BYTES))

    def read_line(self, address: int) -> bytes:
        """The 64 bytes of the line that ``address`` lies in."""
        return bytes(self.lines.get(self._key(address), LINE_BYTES))

    def write_line(self, address: int, data: bytes, byte_en: int) -> None:
        """Write the enabled lanes of one line."""
        line = self._line(address)
        if byte_en == _ALL_LANES:
            line[:] = data[:LINE_BYTES]
            return
        for lane in range(LINE_BYTES):
            if byte_en >> lane & 1:
                line[lane] = data[lane]

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes from ``address`` on."""
        first = address - address % LINE_BYTES
        whole = b"".join(self.read_line(line) for line in range(first, address + size, LINE_BYTES))
        return whole[address - first : address - first + size]

    def write(self, address: int, data: bytes, enables: bytes | None = None) -> None:
        """Write ``data`` from ``address`` on, where ``enables`` (one 0 or 1 a byte; all when None) allows."""
        for n, value in enumerate(data):
            if enables is None or enables[n]:
                self._line(address + n)[(address + n) % LINE_BYTES] = value

    def atomic(self, address: int, size: int, operation: Operation, op1: int, op2: int = 0) -> int:
        """Apply ``operation`` to the element of ``size`` bytes at ``address``; the old value."""
        old = int.from_bytes(self.read(address, size), "little")
        new = operation.function(old, op1, op2, 8 * size)
        self.write(address, new.to_bytes(size, "little"))
        return old
