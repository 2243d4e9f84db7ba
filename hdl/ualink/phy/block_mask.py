"""Sets of the blocks of a word, bit n for block n."""

from amaranth.hdl import Cat, Value

__all__ = ["after", "at_or_after", "before_first", "first_of", "index_of", "last_of"]


def first_of(blocks: Value) -> Value:
    """The first of ``blocks`` alone."""
    return Cat(blocks[n] & ~blocks[:n].any() for n in range(len(blocks)))


def last_of(blocks: Value) -> Value:
    """The last of ``blocks`` alone."""
    return Cat(blocks[n] & ~blocks[n + 1 :].any() for n in range(len(blocks)))


def at_or_after(blocks: Value) -> Value:
    """From the first of ``blocks`` on; none if there is none."""
    return Cat(blocks[: n + 1].any() for n in range(len(blocks)))


def after(blocks: Value) -> Value:
    """Behind the first of ``blocks``."""
    return Cat(blocks[:n].any() for n in range(len(blocks)))


def before_first(blocks: Value) -> Value:
    """Those ahead of the first of ``blocks``; all if there is none."""
    return ~at_or_after(blocks)


def index_of(one: Value) -> Value:
    """The number of the one bit that is set; 0 if there is none."""
    bits = max(1, (len(one) - 1).bit_length())
    return Cat(Cat(one[n] for n in range(len(one)) if n >> bit & 1).any() for bit in range(bits))
