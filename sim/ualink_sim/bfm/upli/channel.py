"""What the four channels of UPLI carry, and the parity over it (UALink_200 Tables 2-2, 2-8, 2-11 and 2-14).

A beat is a plain dictionary of field name to integer, with the names of the standard in snake case and without the
channel's prefix: ``{"tag": 5, "cmd": 3, …}``; ``port_id`` and ``pool`` are part of it.
"""

import struct

__all__ = ["FIELDS", "MAX_PORTS", "PARITY", "Beat", "parity_of"]

Beat = dict[str, int]

MAX_PORTS = 4

_SLOT = {"port_id": 2, "pool": 1}
_IDS = {"auth_tag": 64, "src_phys_acc_id": 10, "dst_phys_acc_id": 10, "tag": 11}

FIELDS: dict[str, dict[str, int]] = {
    "req": _SLOT
    | _IDS
    | {"asi": 2, "num_beats": 2, "addr": 57, "cmd": 6, "len": 6, "attr": 8, "meta_data": 8, "vc": 2},
    "orig_data": _SLOT | {"data": 512, "byte_en": 64, "offset": 2, "last": 1, "error": 1, "vc": 2},
    "rd_rsp": _SLOT
    | _IDS
    | {"num_beats": 2, "data": 512, "status": 4, "offset": 2, "last": 1, "data_error": 1, "vc": 2},
    "wr_rsp": _SLOT | _IDS | {"status": 4, "vc": 2},
}
"""Information and control signals of each channel with their widths."""

PARITY: dict[str, dict[str, tuple[str, ...]]] = {
    "req": {
        "addr_parity": ("addr",),
        "parity": (
            *("tag", "len", "attr", "cmd", "meta_data", "vc", "src_phys_acc_id", "dst_phys_acc_id", "port_id"),
            "num_beats",
        ),
    },
    "orig_data": {
        "byte_en_parity": ("byte_en",),
        "fields_parity": ("last", "error", "offset", "port_id", "vc"),
    },
    "rd_rsp": {
        "parity": (
            *("tag", "status", "offset", "last", "num_beats", "vc", "src_phys_acc_id", "dst_phys_acc_id", "port_id"),
            "data_error",
        ),
    },
    "wr_rsp": {
        "parity": ("tag", "status", "src_phys_acc_id", "dst_phys_acc_id", "port_id", "vc"),
    },
}
"""What each one-bit parity signal covers; the channels with data have 8 bits of ``data_parity`` besides."""

_WORDS = struct.Struct("<8Q")


def parity_of(channel: str, beat: Beat) -> Beat:
    """Every parity signal of ``beat`` on ``channel``, even parity (UALink_200 §2.7.3)."""
    result = {}
    for name, covered in PARITY[channel].items():
        ones = 0
        for field in covered:
            ones += beat[field].bit_count()
        result[name] = ones & 1
    if "data" in beat:
        parity = 0
        for n, word in enumerate(_WORDS.unpack(beat["data"].to_bytes(64, "little"))):
            parity |= (word.bit_count() & 1) << n
        result["data_parity"] = parity
    return result
