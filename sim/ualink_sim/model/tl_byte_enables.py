"""Byte-enable half-flits (UALink_200 §5.1.1).

Bit i is the enable of byte i of the 256-byte block that the transfer lies in, whatever the command (ruling D04).
"""

from collections.abc import Sequence

from .tl_fields import HALF_FLIT_BYTES

__all__ = ["decode_byte_enables", "encode_byte_enables"]


def encode_byte_enables(byte_address: int, enables: Sequence[int]) -> bytes:
    """Place the 64-bit enables of each beat at slot (ReqAddr[7:6] + beat) mod 4; everything else is zero."""
    half_flit = bytearray(HALF_FLIT_BYTES)
    for beat, enable in enumerate(enables):
        slot = ((byte_address >> 6) + beat) % 4
        half_flit[8 * slot : 8 * slot + 8] = enable.to_bytes(8, "little")
    return bytes(half_flit)


def decode_byte_enables(byte_address: int, beats: int, half_flit: bytes) -> list[int]:
    """The 64-bit enables of each of ``beats`` beats."""
    slots = [((byte_address >> 6) + beat) % 4 for beat in range(beats)]
    return [int.from_bytes(half_flit[8 * slot : 8 * slot + 8], "little") for slot in slots]
