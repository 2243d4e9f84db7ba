"""Pseudo-random bit sequences, bit by bit (ITU-T O.150)."""

from collections.abc import Iterator

__all__ = ["POLYNOMIALS", "sequence"]

POLYNOMIALS = {7: (7, 6), 9: (9, 5), 15: (15, 14), 23: (23, 18), 31: (31, 28)}
"""By order the exponents of its polynomial, besides 0."""


def sequence(order: int) -> Iterator[int]:
    """The bits after a register full of ones, without end."""
    first, second = POLYNOMIALS[order]
    register = [1] * order
    while True:
        bit = register[first - 1] ^ register[second - 1]
        register = [bit, *register[:-1]]
        yield bit
