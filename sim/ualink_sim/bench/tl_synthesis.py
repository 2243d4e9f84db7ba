"""Rows of the transaction layer that synthesis gives."""

from functools import partial

from ualink.config import AddressCacheConfig, TLConfig
from ualink.tl.layer import TransactionLayer

from .rows import Bench, Options
from .synthesis import SIZES, in_library, on_ecp5

__all__ = ["benches"]

_NONE = AddressCacheConfig(rows=0)
CONFIGS = {
    "": ("TransactionLayer of one port, 1,024 rows of 4 ways in each address cache", TLConfig()),
    "no_cache.": (
        "TransactionLayer of one port without address caches",
        TLConfig().replace(tx_cache=_NONE, rx_cache=_NONE),
    ),
}


def benches(options: Options) -> list[Bench]:
    """With and without address caches, on an ECP5 and in the library of ``options``."""
    rows: list[Bench] = []
    for name, (what, config) in CONFIGS.items():
        rows.extend(on_ecp5(f"tl.ecp5.{name}"[:-1], SIZES, what, partial(TransactionLayer, config)))
    for name, (what, config) in CONFIGS.items():
        rows.append(in_library(f"tl.{{}}.{name}"[:-1], what, partial(TransactionLayer, config), options))
    return rows
