"""64B/66B blocks and flit code sequences of the reconciliation sublayer (UALink_200 §7.2.3 to §7.2.5, Figure 7-2).

A block is a number of 66 bits, bit 0 sent first: two bits of sync header, then eight bytes, each lowest bit first.
"""

__all__ = [
    "ALIGNMENT",
    "BLOCKS",
    "ERROR",
    "IDLE",
    "LINK_INTERRUPTION",
    "LOCAL_FAULT",
    "MARKER_BLOCKS",
    "MARKER_SLOTS",
    "REMOTE_FAULT",
    "START",
    "START_BLOCKS",
    "alignment_flit",
    "control",
    "data_flit",
    "flit_bytes",
    "is_control",
    "is_data",
    "octets",
]

BLOCKS = 80
"""Blocks of a flit code sequence."""

START_BLOCKS = 8
"""Blocks of type 0x78 with which Idle Start and Fault Start begin."""

MARKER_BLOCKS = {100: 20, 200: 16, 400: 32, 800: 64}
"""Blocks of an AM flit that were an alignment marker, by Gb/s."""

MARKER_SLOTS = {100: 4096, 200: 4096, 400: 8192, 800: 16384}
"""Flit slots from one marker to the next."""


def _block(header: tuple[int, int], eight: bytes) -> int:
    return header[0] | header[1] << 1 | int.from_bytes(eight, "little") << 2


def control(*eight: int) -> int:
    """Control block of the block type and the seven bytes behind it."""
    return _block((1, 0), bytes(eight))


IDLE = control(0x1E, 0, 0, 0, 0, 0, 0, 0)
ERROR = control(0x1E, *(sum(0x1E << 7 * n for n in range(8)).to_bytes(7, "little")))
START = control(0x78, 0, 0, 0, 0, 0, 0, 0)
ALIGNMENT = control(0x78, *([0xFF] * 7))
LOCAL_FAULT = control(0x4B, 0, 0, 1, 0, 0, 0, 0)
REMOTE_FAULT = control(0x4B, 0, 0, 2, 0, 0, 0, 0)
LINK_INTERRUPTION = control(0x4B, 0, 0, 3, 0, 0, 0, 0)


def is_data(block: int) -> bool:
    """Sync header 01: first bit 0, second bit 1."""
    return (block & 1, block >> 1 & 1) == (0, 1)


def is_control(block: int) -> bool:
    """Sync header 10."""
    return (block & 1, block >> 1 & 1) == (1, 0)


def octets(block: int) -> bytes:
    """The eight bytes of a block: D0 to D7, or the block type and seven more."""
    return (block >> 2).to_bytes(8, "little")


def data_flit(flit: bytes) -> list[int]:
    """A DL flit of 640 bytes as data sequence: byte 8k + i is D i of block k."""
    assert len(flit) == 8 * BLOCKS
    return [_block((0, 1), flit[8 * k : 8 * k + 8]) for k in range(BLOCKS)]


def flit_bytes(blocks: list[int]) -> bytes:
    """The bytes that 80 data blocks carry."""
    return b"".join(octets(block) for block in blocks)


def alignment_flit(sequence: list[int], rate: int) -> list[int]:
    """What a receive PCS makes of a slot with a marker: its first blocks overwritten, the rest as received."""
    return [ALIGNMENT] * MARKER_BLOCKS[rate] + sequence[MARKER_BLOCKS[rate] :]
