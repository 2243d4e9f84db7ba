"""How many fields of a form a Control half-flit may have (UALink_200 §5.10)."""

from amaranth.hdl import Cat, Const, Module, Signal, Value

__all__ = [
    "above",
    "counts",
    "full_at",
    "halves",
    "joined_halves",
    "room_behind",
    "within",
    "within_full",
    "zeros",
]


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
    return Cat(within_full(count, full_at(m, limit, len(bits), name)) for count in counts(m, bits, name)[0])


def within_full(count, full):
    """A ``count`` of ``counts`` is within the limit that ``full`` was made of, which is for as many bits at least."""
    return ~(count & full[: len(count)]).any()


def room_behind(count, full):
    """One more than ``count`` is within the limit that ``full`` was made of, which is for more bits."""
    return ~(count & full[1 : len(count) + 1]).any()


def counts(m: Module, bits, name: str) -> list[list]:
    """For each first bit g and each last bit n the number of ones from g up to n, in ``[g][n - g]``, as so many ones
    from bit 0 on. What reaches over the middle is the sum of two that end there, which all share."""
    if len(bits) <= 1:
        return [[bits]] if len(bits) else []
    half = len(bits) // 2
    return joined(m, counts(m, bits[:half], f"{name}_0"), counts(m, bits[half:], f"{name}_1"), name)


def joined(m: Module, lower: list[list], upper: list[list], name: str) -> list[list]:
    """The ``counts`` of bits of which these are the counts of the ``lower`` and of the ``upper`` ones."""
    half = len(lower)
    return [
        *(
            [*short, *(_sum(m, short[-1], more, f"{name}_{g}_to_{half + n}") for n, more in enumerate(upper[0]))]
            for g, short in enumerate(lower)
        ),
        *upper,
    ]


def halves(m: Module, bits, name: str) -> Value:
    """What ``joined_halves`` makes ``counts`` of."""
    half = len(bits) // 2
    parts = counts(m, bits[:half], f"{name}_0") + counts(m, bits[half:], f"{name}_1")
    return Cat(count for row in parts for count in row)


def joined_halves(m: Module, known: Value, most: int, name: str) -> list[list]:
    """The ``counts`` of ``most`` bits out of the bits of ``halves``: sums of two are all that is left to be made."""
    start, parts = 0, []
    for width in (most // 2, most - most // 2):
        rows: list[list] = [[] for _ in range(width)]
        for g, row in enumerate(rows):
            for length in range(1, width - g + 1):
                row.append(known[start : start + length])
                start += length
        parts.append(rows)
    lower, upper = parts
    return joined(m, lower, upper, name)


def zeros(count) -> Value:
    """Of a ``count`` of as many bits as it has itself the number of zeros among them."""
    return ~Cat(reversed([*count]))


def _sum(m, one, other, name):
    """Of two counts that of both."""
    total = Signal(len(one) + len(other), name=name)
    at_least = Cat(1, one, Const(0, len(other)))  # bit x: x of the first
    reached = []
    for x in range(len(total)):
        both = (other[i - 1] & at_least[x + 1 - i] for i in range(1, min(len(other), x + 1) + 1))
        reached.append(Cat(at_least[x + 1], *both).any())
    m.d.comb += total.eq(Cat(reached))
    return total
