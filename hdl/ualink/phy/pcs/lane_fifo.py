"""The FIFO between core and lane."""

from amaranth.lib.fifo import AsyncFIFO, AsyncFIFOBuffered

__all__ = ["lane_fifo"]


def lane_fifo(
    registered: bool, *, width: int, depth: int, w_domain: str, r_domain: str
) -> AsyncFIFO | AsyncFIFOBuffered:
    """A FIFO of ``depth`` words, a power of two; ``registered``: and one more, in a register behind them."""
    domains = {"w_domain": w_domain, "r_domain": r_domain, "exact_depth": True}
    if registered:
        return AsyncFIFOBuffered(width=width, depth=depth + 1, **domains)
    return AsyncFIFO(width=width, depth=depth, **domains)
