"""Benchmarks of the data link layer."""

from . import dl_link, dl_synthesis
from .rows import Bench, Options

__all__ = ["benches"]


def benches(options: Options) -> list[Bench]:
    """What simulations give, then what synthesis gives."""
    return [*dl_link.benches(), *dl_synthesis.benches(options)]
