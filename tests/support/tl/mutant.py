"""What a wrong version of the transaction layer is."""

from typing import NamedTuple

__all__ = ["SOAK", "Mutant"]

SOAK = "soak"
"""Noticed by a short soak."""


class Mutant(NamedTuple):
    """``old`` stands exactly once in module ``module``; ``new`` breaks requirement ``requirement``, which the tests
    ``caught_by`` in this folder must notice."""

    name: str
    requirement: str
    module: str
    old: str
    new: str
    caught_by: str
