"""Round robin in three interleaved turns, for choices whose result is known two cycles later."""

from amaranth.hdl import Mux, Signal, Value

__all__ = ["above", "first_of", "lowest", "turns"]

TURNS = 3


def _upwards(value: Value) -> Value:
    """Ones from the lowest one of ``value`` up."""
    step = 1
    while step < len(value):
        value = (value | (value << step))[: len(value)]
        step *= 2
    return value


def lowest(value: Value) -> Value:
    """The lowest one of ``value``, alone."""
    return value & ~(_upwards(value) << 1)[: len(value)]


def above(value: Value) -> Value:
    """The places above the lowest one of ``value``."""
    return (_upwards(value) << 1)[: len(value)]


def first_of(requests: Value, first: Value) -> Value:
    """The lowest one of ``requests`` within ``first``, or of all if there is none; one-hot, or 0."""
    ahead = requests & first
    return Mux(ahead.any(), lowest(ahead), lowest(requests))


def turns(m, name: str, *, move: Value, lag: int, chosen: Value):
    """A place for each of three turns; those of the turn whose cycle it is: mask of those who come first.

    ``lag`` cycles after a choice ``chosen`` is who was served, one-hot, or 0 if nobody was: then the place stays. So
    choices of one turn are made with all those of the same turn known. Without ``move`` the turns rest.
    """
    places = [Signal(len(chosen), name=f"{name}_turn_{n}") for n in range(TURNS)]
    for n, place in enumerate(places):
        moved = Mux(chosen.any(), above(chosen), place) if n == lag else place
        with m.If(move):
            m.d.sync += places[(n + 1) % TURNS].eq(moved)
    return places[0]
