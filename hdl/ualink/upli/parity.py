"""What every parity signal of UPLI covers, in one place (UALink_200 §2.7.4-2.7.7, §3.1.1; ruling A-12 of UPLI).

Parity is even: the XOR of the covered bits. Exactly the printed sets are covered; ASI, AuthTag, Pool, CreditInitDone
and the connection signals have no parity in this revision of the standard.

The functions take a *beat*: anything with the fields of a channel and its ``port_id`` as attributes, such as the
interface itself, or a *credit return*: anything with the members of ``CreditReturnSignature``.
"""

from types import SimpleNamespace

from amaranth.hdl import Cat, Value

from ualink.lib.parity import data_parity, even_parity

__all__ = [
    "CONTROL_COVER",
    "DATA_COVER",
    "beat_parity",
    "control_mismatch",
    "credit_mismatch",
    "credit_parity",
    "data_mismatch",
    "even_parity",
    "with_port",
]

CONTROL_COVER: dict[str, dict[str, tuple[str, ...]]] = {
    "req": {
        "addr_parity": ("addr",),
        "parity": (
            "tag",
            "len",
            "attr",
            "cmd",
            "meta_data",
            "vc",
            "src_phys_acc_id",
            "dst_phys_acc_id",
            "port_id",
            "num_beats",
        ),
    },
    "orig_data": {"fields_parity": ("last", "error", "offset", "port_id", "vc")},
    "rd_rsp": {
        "parity": (
            "tag",
            "status",
            "offset",
            "last",
            "num_beats",
            "vc",
            "src_phys_acc_id",
            "dst_phys_acc_id",
            "port_id",
            "data_error",
        )
    },
    "wr_rsp": {"parity": ("tag", "status", "src_phys_acc_id", "dst_phys_acc_id", "port_id", "vc")},
}
"""Fields under each parity signal whose mismatch is a UPLI Control Error, beside those over the valids."""

DATA_COVER: dict[str, dict[str, str]] = {
    "req": {},
    "orig_data": {"data_parity": "data", "byte_en_parity": "byte_en"},
    "rd_rsp": {"data_parity": "data"},
    "wr_rsp": {},
}
"""The field under each parity signal whose mismatch is a UPLI Data Error (ruling A-14 of UPLI for the byte enables)."""

BITS_PER_GROUP = {"data_parity": 64, "byte_en_parity": 64}


def beat_parity(channel: str, beat) -> dict[str, Value]:
    """Every parity signal of ``channel`` other than that over the valid, by name."""
    control = {name: even_parity(*(getattr(beat, f) for f in cover)) for name, cover in CONTROL_COVER[channel].items()}
    return control | {name: _group_parity(name, getattr(beat, f)) for name, f in DATA_COVER[channel].items()}


def control_mismatch(channel: str, interface) -> Value:
    """1 bit: a UPLI Control Error in this cycle's beat signals; ``vld_parity`` counts in every cycle."""
    expected = {name: even_parity(*(getattr(interface, f) for f in c)) for name, c in CONTROL_COVER[channel].items()}
    fields = Cat(getattr(interface, name) ^ parity for name, parity in expected.items()).any()
    return even_parity(interface.vld, interface.vld_parity) | (interface.vld & fields)


def data_mismatch(channel: str, interface) -> Value:
    """1 bit: a UPLI Data Error in this cycle's beat; meaningful with ``vld``."""
    expected = {name: _group_parity(name, getattr(interface, f)) for name, f in DATA_COVER[channel].items()}
    return Cat(getattr(interface, name) ^ parity for name, parity in expected.items()).any()


def credit_parity(credit) -> dict[str, Value]:
    """Both parity signals of a credit return, by name; the fields of all four ports are covered, valid or not."""
    return {
        "vld_parity": even_parity(credit.vld),
        "parity": even_parity(*credit.port_vc, *credit.port_num, credit.pool),
    }


def credit_mismatch(credit) -> Value:
    """1 bit: a UPLI Control Error in this cycle's credit return."""
    expected = credit_parity(credit)
    return (credit.vld_parity ^ expected["vld_parity"]) | (credit.vld.any() & (credit.parity ^ expected["parity"]))


def with_port(beat, port_id) -> SimpleNamespace:
    """``beat``, a view with a channel's layout, as the functions of this file take it."""
    return SimpleNamespace(port_id=port_id, **{name: getattr(beat, name) for name, _ in beat.shape()})


def _group_parity(name: str, value) -> Value:
    return data_parity(value, BITS_PER_GROUP[name])
