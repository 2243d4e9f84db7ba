"""Address patterns of one Accelerator's Requests to another, for the Address Caches.

Each generator gives ReqAddr of ``count`` Requests of ``size`` bytes each; addresses are multiples of ``size``.
"""

import random
from collections.abc import Callable, Iterator

__all__ = [
    "ADDRESS_BITS",
    "PATTERNS",
    "REGION",
    "changing",
    "interleaved",
    "random_addresses",
    "random_with_hot_streams",
    "regions",
    "streaming",
    "strided",
]

ADDRESS_BITS = 57
REGION = 1 << 20
"""Bytes that share one entry of an Address Cache (UALink_200 §5.5)."""

SPAN = 1 << 37
"""Bytes that random addresses are drawn from."""

_APART = 1 << 30
"""Distance of streams: they never meet."""


def streaming(count: int, size: int = 256) -> Iterator[int]:
    """One block after the other."""
    return strided(count, size)


def strided(count: int, stride: int) -> Iterator[int]:
    """One block every ``stride`` bytes."""
    return (n * stride % (1 << ADDRESS_BITS) for n in range(count))


def interleaved(count: int, streams: int = 8, size: int = 256, burst: int = 1) -> Iterator[int]:
    """``streams`` streams in turn, ``burst`` Requests of each."""
    for n in range(count):
        turn, within = divmod(n, streams * burst)
        stream, position = divmod(within, burst)
        yield stream * _APART + (turn * burst + position) * size


def random_addresses(count: int, size: int = 256, span: int = SPAN, seed: int = 1) -> Iterator[int]:
    """Anywhere in ``span`` bytes."""
    rng = random.Random(seed)
    return (rng.randrange(span // size) * size for _ in range(count))


def random_with_hot_streams(
    count: int, streams: int = 2, share: float = 0.5, size: int = 256, seed: int = 1
) -> Iterator[int]:
    """``share`` of the Requests belong to one of ``streams`` streams, the others are anywhere in ``SPAN`` bytes."""
    rng = random.Random(seed)
    progress = [0] * streams
    for _ in range(count):
        if rng.random() < share:
            stream = rng.randrange(streams)
            yield (1 << 50) + stream * _APART + progress[stream] * size
            progress[stream] += 1
        else:
            yield rng.randrange(SPAN // size) * size


def changing(count: int, streams: int = 4, phase: int = 256, size: int = 256) -> Iterator[int]:
    """``streams`` streams in turn, others after every ``phase`` Requests."""
    for n in range(count):
        number, within = divmod(n, phase)
        yield (number * streams + within % streams) * _APART + within // streams * size


def regions(addresses: Iterator[int]) -> Iterator[int]:
    """ReqAddr[56:20] of each."""
    return (address // REGION for address in addresses)


PATTERNS: dict[str, Callable[[int], Iterator[int]]] = {
    "streaming": streaming,
    "strided_64k": lambda count: strided(count, 1 << 16),
    "strided_256k": lambda count: strided(count, 1 << 18),
    "streams_4": lambda count: interleaved(count, 4),
    "streams_8": lambda count: interleaved(count, 8),
    "streams_8_burst_4": lambda count: interleaved(count, 8, burst=4),
    "random": random_addresses,
    "random_hot_2": lambda count: random_with_hot_streams(count, 2),
    "random_hot_4": lambda count: random_with_hot_streams(count, 4),
    "changing_4": lambda count: changing(count, 4),
}
"""What the benchmark runs, by name."""
