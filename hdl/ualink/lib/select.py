"""Multiplexers: of those who know in one-hot bits which value they want, and of the ports that take turns."""

from collections.abc import Iterable
from functools import reduce
from operator import or_

from amaranth.hdl import Array, Const, Mux, Value
from amaranth.utils import ceil_log2

__all__ = ["of_now", "only_if", "select_from", "select_one", "several"]


def only_if(one: Value, value: Value) -> Value:
    """Bits of ``value`` if ``one`` is set, else 0."""
    return one.replicate(len(value)) & value


def select_one(chosen: Iterable, values: Iterable) -> Value:
    """Bits of the one of ``values`` whose bit of ``chosen`` is set; 0 if none is. At most one may be.

    No value goes through another's choice, as it would through a chain of conditions.
    """
    terms = []
    for one, value in zip(chosen, map(Value.cast, values)):
        terms.append(only_if(one, value))
    return reduce(or_, terms)


def several(bits: Iterable) -> Value:
    """1 bit: two or more of ``bits`` are set."""
    found, any_before = Const(0), Const(0)
    for one in bits:
        found, any_before = found | (one & any_before), any_before | one
    return found


def select_from(chosen: Value, value: Value, unit: int, width: int) -> Value:
    """``width`` bits of ``value`` from bit ``n * unit`` on, for the n whose bit of ``chosen`` is set; any if none is.

    ``value`` slides by half of what is left with each power of two: for wide values this takes a third of the LUTs of
    ``select_one``. At most one bit of ``chosen`` may be set.
    """
    for power in reversed(range((len(chosen) - 1).bit_length())):
        step, nearer = 1 << power, width + unit * ((1 << power) - 1)
        slides = reduce(or_, (chosen[n] for n in range(len(chosen)) if n & step))
        value = Mux(slides, value[unit * step :], value)[:nearer]
    return value


def of_now(slot: Value, values: Iterable) -> Value:
    """Bits of that of ``values``, one per port, which belongs to port ``slot``. One port costs no multiplexer."""
    values = [Value.cast(value) for value in values]
    return values[0] if len(values) == 1 else Array(values)[slot[: ceil_log2(len(values))]]
