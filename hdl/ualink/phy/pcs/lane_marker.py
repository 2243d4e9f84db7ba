"""The board lane marker: which lane this is, and where its beats begin.

It stands where the alignment markers of IEEE 802.3 go once FEC is there, and is no part of the standard.
"""

from ualink.phy.blocks import START_TYPE, control_block

__all__ = ["lane_marker"]

_FIXED = 0x65
"""Any octet that is neither 00 nor FF, so that a marker is neither a Start nor an alignment block."""


def lane_marker(lane: int, lanes: int, index: int) -> int:
    """Block ``index`` of the marker of ``lane`` among ``lanes``: a control block of type 0x78.

    D1 = 16 · lanes + lane, D2 = index, D3 = 65h, D4 to D7 = complements of D1, D2, D3 and of the type: 32 ones in the
    64 bits behind the sync header.
    """
    if lanes not in (1, 2, 4) or not 0 <= lane < lanes or not 0 <= index < 64:
        raise ValueError(f"block {index} of the marker of lane {lane} among {lanes} lanes")
    octets = (lanes << 4 | lane, index, _FIXED)
    complements = tuple(0xFF ^ octet for octet in (*octets, START_TYPE))
    return control_block(START_TYPE, int.from_bytes(bytes((*octets, *complements)), "little"))
