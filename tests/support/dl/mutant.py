"""A wrong version of the replay RTL."""

from typing import NamedTuple

__all__ = ["Mutant"]


class Mutant(NamedTuple):
    """``old`` stands exactly once in module ``module``; ``new`` breaks requirement ``requirement``."""

    name: str
    requirement: str
    module: str
    old: str
    new: str
