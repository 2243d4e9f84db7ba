"""The steps of a shift that is spread over several cycles."""

from amaranth.hdl import Cat, Const, Value

__all__ = ["COARSE", "FINE", "look_up", "shifted"]

COARSE, FINE = 16, 4
"""Distances of the first and the second step; the third goes by single bits."""


def shifted(source: Value, steps: Value, distance: int, width: int) -> Value:
    """``width`` bits of ``source`` from bit ``steps`` · ``distance`` on; zeros where the source has ended."""
    return (source >> Cat(Const(0, distance.bit_length() - 1), steps))[:width]


def look_up(table: list[int], index: Value, width: int) -> Value:
    """``table[index]``: for a few index bits shorter than arithmetic on them."""
    size = 1 << len(index)
    return Cat(
        Const(sum((value >> bit & 1) << n for n, value in enumerate(table)), size).bit_select(index, 1)
        for bit in range(width)
    )
