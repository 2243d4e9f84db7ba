"""The signals of a UPLI interface on a simulated device, found by prefix.

A beat is a plain dictionary of field name to integer, with the names of the standard in snake case and without the
channel's prefix: ``{"tag": 5, "cmd": 3, …}``; ``port_id`` and ``pool`` are part of it.
"""

from dataclasses import dataclass
from typing import Any

__all__ = ["FIELDS", "PARITY", "ChannelBus", "CreditBus", "UPLIBus"]

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
"""Information and control signals of each channel with their widths (UALink_200 Tables 2-2, 2-14, 2-8, 2-11)."""

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


def parity_of(channel: str, beat: dict[str, int]) -> dict[str, int]:
    """Every parity signal of ``beat`` on ``channel``, even parity (UALink_200 §2.7.3)."""
    result = {}
    for name, covered in PARITY[channel].items():
        ones = sum(beat[field].bit_count() for field in covered)
        result[name] = ones & 1
    if "data" in beat:
        data = beat["data"]
        result["data_parity"] = sum(((data >> 64 * i & (1 << 64) - 1).bit_count() & 1) << i for i in range(8))
    return result


class CreditBus:
    """Handles of a credit return interface."""

    def __init__(self, dut: Any, prefix: str):
        self.init_done = getattr(dut, f"{prefix}init_done")
        self.vld = getattr(dut, f"{prefix}vld")
        self.pool = getattr(dut, f"{prefix}pool")
        self.port_vc = [getattr(dut, f"{prefix}port_vc__{n}") for n in range(MAX_PORTS)]
        self.port_num = [getattr(dut, f"{prefix}port_num__{n}") for n in range(MAX_PORTS)]
        self.vld_parity = getattr(dut, f"{prefix}vld_parity")
        self.parity = getattr(dut, f"{prefix}parity")


class ChannelBus:
    """Handles of one channel: ``vld``, ``vld_parity``, ``fields``, ``parities`` and ``credit``."""

    def __init__(self, dut: Any, prefix: str, channel: str):
        self.channel = channel
        self.vld = getattr(dut, f"{prefix}vld")
        self.vld_parity = getattr(dut, f"{prefix}vld_parity")
        self.fields = {name: getattr(dut, f"{prefix}{name}") for name in FIELDS[channel]}
        names = [*PARITY[channel], *(["data_parity"] if "data" in FIELDS[channel] else [])]
        self.parities = {name: getattr(dut, f"{prefix}{name}") for name in names}
        self.credit = CreditBus(dut, f"{prefix}credit__")


@dataclass
class UPLIBus:
    """Handles of a whole UPLI interface: four channels and the connection handshake."""

    req: ChannelBus
    orig_data: ChannelBus
    rd_rsp: ChannelBus
    wr_rsp: ChannelBus
    orig_clk_req: Any
    orig_clk_ack: Any
    comp_clk_req: Any
    comp_clk_ack: Any

    @classmethod
    def from_prefix(cls, dut: Any, prefix: str) -> "UPLIBus":
        """The interface whose signals are called ``<prefix>__req__vld`` and so on on ``dut``."""
        channels = {name: ChannelBus(dut, f"{prefix}__{name}__", name) for name in FIELDS}
        handshake = ("orig_clk_req", "orig_clk_ack", "comp_clk_req", "comp_clk_ack")
        return cls(**channels, **{name: getattr(dut, f"{prefix}__{name}") for name in handshake})
