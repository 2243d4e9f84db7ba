"""Benchmarks of the transaction layer."""

from . import tl_cache, tl_efficiency, tl_latency, tl_synthesis
from .rows import Bench, Options

__all__ = ["benches"]


def benches(options: Options) -> list[Bench]:
    """What simulations give, then what synthesis gives."""
    return [*tl_efficiency.benches(), *tl_cache.benches(), *tl_latency.benches(), *tl_synthesis.benches(options)]
