"""Byte-enable half-flits (UALink_200 §5.1.1).

Bit i is the enable of byte i of the 256-byte block that the transfer lies in. ReqAddr of a UPLI Write Message or of a
vendor command need not be an address, so for these there is a second reading, by the number of the beat (ruling D04).
"""

from collections.abc import Sequence

from .fields import HALF_FLIT_BYTES, UPLI_WRITE_MESSAGE, WRITE

__all__ = ["BYTE_ENABLE_SLOTS", "byte_enable_slots", "decode_byte_enables", "encode_byte_enables"]

BYTE_ENABLE_SLOTS = ("address", "beat")
"""Where the enables of UPLI Write Messages and vendor commands stand: as those of a Write, or by the beat alone."""


def _has_no_address(cmd: int) -> bool:
    """A UPLI Write Message, or a vendor command with originator data: classes 2Ch to 2Fh and 3Ch to 3Fh."""
    return cmd == UPLI_WRITE_MESSAGE or cmd & 0b101100 == 0b101100


def byte_enable_slots(byte_address: int, beats: int, cmd: int = WRITE, reading: str = "address") -> list[int]:
    """The quarter of the half-flit that each beat of a Request has: (ReqAddr[7:6] + beat) mod 4, or the beat."""
    first = 0 if reading == "beat" and _has_no_address(cmd) else byte_address >> 6
    return [(first + beat) % 4 for beat in range(beats)]


def encode_byte_enables(byte_address: int, enables: Sequence[int], cmd: int = WRITE, reading: str = "address") -> bytes:
    """Place the 64-bit enables of each beat; everything else is zero."""
    half_flit = bytearray(HALF_FLIT_BYTES)
    for slot, enable in zip(byte_enable_slots(byte_address, len(enables), cmd, reading), enables):
        half_flit[8 * slot : 8 * slot + 8] = enable.to_bytes(8, "little")
    return bytes(half_flit)


def decode_byte_enables(
    byte_address: int, beats: int, half_flit: bytes, cmd: int = WRITE, reading: str = "address"
) -> list[int]:
    """The 64-bit enables of each of ``beats`` beats."""
    slots = byte_enable_slots(byte_address, beats, cmd, reading)
    return [int.from_bytes(half_flit[8 * slot : 8 * slot + 8], "little") for slot in slots]
