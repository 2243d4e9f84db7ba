"""Entries of the Address Caches and the geometries they may have."""

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from ualink.checks import check_integer
from ualink.lib.parity import even_parity

__all__ = ["REGION_BITS", "check_geometry", "entry_layout", "has_mismatch", "make_entry"]

REGION_BITS = 37
"""ReqAddr[56:20], the bits that a Compressed Request leaves out (UALink_200 §5.9.3)."""


def check_geometry(cache: str, rows: int, ways: int, region_bits: int) -> None:
    """Raise ConfigError for what is no Address Cache (UALink_200 §5.5: up to 1024 rows of up to 4 ways)."""
    for name, value, most in (("rows", rows, 1024), ("ways", ways, 4), ("region_bits", region_bits, REGION_BITS)):
        check_integer(f"{cache}.{name}", value, 1, most)


def entry_layout(region_bits: int, **more) -> data.StructLayout:
    """One entry: ``valid``, ``region``, the members ``more`` and even parity over all of it; all 0 is an empty one."""
    return data.StructLayout({"valid": 1, "region": region_bits, **more, "parity": 1})


def make_entry(layout: data.StructLayout, **members) -> Value:
    """An entry with these members, others 0, and its parity."""
    values = [Value.cast(members.get(name, 0)) for name, _ in layout if name != "parity"]
    shapes = [field.width for name, field in layout if name != "parity"]
    padded = [Cat(value, *([0] * width))[:width] for value, width in zip(values, shapes)]
    return Cat(*padded, even_parity(*padded))


def has_mismatch(entry) -> Value:
    """1 bit: ``entry`` is not what was written."""
    return Value.cast(entry).xor()
