"""Rows that say how many Requests the address cache compresses, and what that makes of the efficiency."""

from fractions import Fraction

from .rows import Bench, Row
from .tl_efficiency import RESPONSE_AND_CREDITS, check_steady, saturated_efficiency
from .tl_pair import CONFIG, count
from .tl_pair_requests import RANDOM_BITS, REGION_BITS, STREAMS
from .tl_patterns import WRITE_FULL, Kind, Pattern, efficiency

__all__ = ["benches"]

FLITS = 140_000
_KINDS = (Kind(WRITE_FULL),)
_REGION = 1 << REGION_BITS
_WAYS = CONFIG.tx_cache.ways
_BLOCK = 256
_STRIDE = 1 << 16

_STREAMED = 1 - Fraction(_BLOCK, _REGION)
_SCATTERED = Fraction(_WAYS, 1 << RANDOM_BITS - REGION_BITS)

_PATTERNS: dict[str, tuple[str, Fraction, Pattern]] = {
    "streaming": ("one stream of 256-byte blocks in a row", _STREAMED, Pattern(kinds=_KINDS, stay=False)),
    "strided_64k": (
        "one stream, every 64 KiB",
        1 - Fraction(_STRIDE, _REGION),
        Pattern(kinds=_KINDS, stay=False, stride=_STRIDE),
    ),
    "streams_4": ("four streams in turn to one partner", _STREAMED, Pattern(kinds=_KINDS, stay=False, streams=4)),
    "streams_8": (
        "eight streams in turn to one partner, twice what a row has ways; limit: half of them stay",
        Fraction(_WAYS, STREAMS),
        Pattern(kinds=_KINDS, stay=False, streams=STREAMS),
    ),
    "streams_8_partners": (
        "eight streams in turn, each to a partner of its own",
        _STREAMED,
        Pattern(kinds=_KINDS, stay=False, streams=STREAMS, spread=True),
    ),
    "random": (
        f"random blocks of {1 << RANDOM_BITS - 30} GiB; limit: as many regions as a row has ways, of all",
        _SCATTERED,
        Pattern(kinds=_KINDS, random=8),
    ),
    "random_hot_2": (
        "half of the Requests random, half of two streams; limit: the streams stay",
        Fraction(1, 2) + _SCATTERED / 2,
        Pattern(kinds=_KINDS, stay=False, streams=2, random=4),
    ),
}


def benches() -> list[Bench]:
    """A hit rate and an efficiency for each address pattern."""
    return [_bench(name, *what) for name, what in _PATTERNS.items()]


def _bench(name: str, what: str, limit: Fraction, pattern: Pattern) -> Bench:
    where = f"WriteFull of 256 bytes both ways: {what}; window of {FLITS:,} flits"
    sectors = 4 - 2 * limit + RESPONSE_AND_CREDITS
    rate = Row(
        name=f"tl.cache.hit_rate.{name}",
        unit="fraction",
        limit=float(limit),
        how=f"Compressed Requests of all Requests, {where}",
    )
    share = Row(
        name=f"tl.cache.efficiency.{name}",
        unit="fraction",
        limit=float(efficiency(_KINDS, sectors)),
        how=f"bytes of data of bytes of flits, {where}; limit: that hit rate and no sector empty",
    )

    def measure() -> dict[str, float]:
        found = check_steady(count(pattern, FLITS))
        hits = min(end["compressed"] / end["requests"] for end in found)
        return {rate.name: hits, share.name: min(map(saturated_efficiency, found))}

    return Bench((rate, share), measure)
