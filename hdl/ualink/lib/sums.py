"""Sums of several numbers."""

from functools import reduce

from amaranth.hdl import Cat, Module, Signal, Value

__all__ = ["total"]


def total(m: Module, terms: list[Value], width: int, name: str) -> Value:
    """The sum of ``terms``, two or more unsigned numbers, modulo 2 ** ``width``: one carry chain, and before it three
    numbers become two at a time, which costs two gates each; the last terms may come late. ``name`` begins those of
    the signals."""
    rows = []
    for n, term in enumerate(terms):
        rows.append(Signal(width, name=f"{name}_{n}"))
        m.d.comb += rows[-1].eq(term)
    while len(rows) > 2:
        one, two, three, *others = rows
        ones, carries = (Signal(width, name=f"{name}_{what}_{len(rows)}") for what in ("ones", "carries"))
        m.d.comb += [
            ones.eq((one ^ two) ^ three),
            carries.eq(Cat(0, (one & two) | ((one | two) & three))),
        ]
        # The last one, which may come late, behind all that is known.
        rows = [ones, carries, *others] if len(others) == 1 else [*others, ones, carries]
    return reduce(lambda one, two: (one + two)[:width], rows)
