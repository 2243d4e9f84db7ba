"""How many fields of a form a Control half-flit may have (UALink_200 §5.10)."""

from amaranth.hdl import Cat, Const, Module, Signal

__all__ = ["above", "full_at", "within", "within_full"]


def above(value, n):
    """``value`` > ``n``, without the carry chain of a comparison."""
    return Cat(value == k for k in range(n + 1, 1 << len(value))).any()


def full_at(m: Module, limit, most: int, name: str) -> Signal:
    """Bit n, of ``most``: n fields are as many as ``limit`` allows, or more; no limit below 1."""
    full = Signal(most, name=f"{name}_full")
    m.d.comb += full.eq(~Cat((n == 0) | above(limit, n) for n in range(most)))
    return full


def within(m: Module, bits, limit, name: str):
    """Bit n: no more than ``limit`` of the bits up to n are set; no limit below 1."""
    return within_full(m, bits, full_at(m, limit, len(bits), name), name)


def within_full(m: Module, bits, full, name: str):
    """As ``within`` of the limit that ``full`` was made of, for as many bits at least."""
    return Cat(~(count & full[: len(count)]).any() for count in _counts(m, bits, name))


def _counts(m, bits, name):
    """For each n the number of ones among the bits up to n, as so many ones from bit 0 on."""
    if len(bits) == 1:
        return [bits]
    half = len(bits) // 2
    lower, upper = _counts(m, bits[:half], f"{name}_0"), _counts(m, bits[half:], f"{name}_1")
    totals = list(lower)
    for n, more in enumerate(upper):
        below = Cat(1, lower[-1], Const(0, len(more)))  # bit x: at least x
        total = Signal(half + len(more), name=f"{name}_{half + n}")
        reached = []
        for x in range(len(total)):
            both = (more[i - 1] & below[x + 1 - i] for i in range(1, min(len(more), x + 1) + 1))
            reached.append(Cat(below[x + 1], *both).any())
        m.d.comb += total.eq(Cat(reached))
        totals.append(total)
    return totals
