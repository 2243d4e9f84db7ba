"""Amaranth's simulator in less time: what it computes over and over is kept, what it does is the same.

Most of the time of a short test goes into making its simulator: into shapes of the same expressions, into copies of
them, and into Python that computes each part as often as it is used and is compiled anew for every design.
``quick_values`` computes parts once; the rest is here.
"""

import functools
import re
from importlib.metadata import version
from unittest.mock import patch

from amaranth.hdl import ClockSignal, ResetSignal, Value, _ast, _dsl, _ir, _xfrm
from amaranth.sim import Simulator, _async, _pyrtl, pysim

from support.quick_engine import QuickEngine, TestbenchContext
from support.quick_order import parts_of
from support.quick_values import ScopedEmitter, compiler_for

__all__ = ["CHECKED", "hasten"]

CHECKED = ("0.5.10",)
"""Versions of Amaranth whose inner parts are those that this file knows; any other simulates at its own pace."""


@functools.cache
def hasten() -> bool:
    """Whether simulators made from now on in this process take less time."""
    if version("amaranth") not in CHECKED:
        return False
    for kind in (_ast.Operator, _ast.Concat, _ast.SwitchValue, _ast.Slice, _ast.Signal):
        _keep_shape(kind)
    _dsl._check_rhs = _once(_dsl._check_rhs)
    _ir.Design._collect_used_signals_value = _once_for_each_fragment(_ir.Design._collect_used_signals_value)
    Simulator.__init__ = _copying_only_clocks(Simulator.__init__)
    _pyrtl._PythonEmitter = ScopedEmitter
    _pyrtl._RHSValueCompiler = compiler_for
    _pyrtl.compile = _compile
    pysim.PySimEngine = QuickEngine
    _async.TestbenchContext = TestbenchContext
    return True


def _keep_shape(kind):
    """An expression never changes, nor does its shape."""
    ask = kind.shape

    def shape(self):
        try:
            return self._kept_shape
        except AttributeError:
            self._kept_shape = ask(self)
            return self._kept_shape

    kind.shape = shape


def _copying_only_clocks(make):
    """Looking clocks up copies every expression, as often as it is used, though there is a clock in few of them.

    So it is for simulators alone: what becomes Verilog, a bitstream or a proof is made as by users.
    """
    copied = _xfrm.DomainLowerer.on_value

    def on_value(self, value):
        found = self.__dict__.setdefault("_found", {})
        return copied(self, value) if _has_clock(value, found) else value

    @functools.wraps(make)
    def made(self, *arguments, **options):
        with patch.object(_xfrm.DomainLowerer, "on_value", on_value):
            make(self, *arguments, **options)

    return made


def _has_clock(value: Value, found: dict[int, tuple[Value, bool]]) -> bool:
    """Whether ``value`` is made of a clock or reset that is still to be looked up; ``found`` keeps the answers.

    With its answer a value stays alive, so that no later one takes its place in memory.
    """
    known = found.get(id(value))
    if known is None:
        is_one = isinstance(value, (ClockSignal, ResetSignal))
        looks = is_one or any(_has_clock(part, found) for part in parts_of(value))
        known = found[id(value)] = (value, looks)
    return known[1]


def _once(check):
    """A check of an expression asks for those of all its parts, in each place that they are used in."""

    def checked(value):
        if not hasattr(value, "_is_checked"):
            check(value)
            value._is_checked = True

    return checked


def _once_for_each_fragment(collect):
    def collected(self, fragment, value):
        seen = self.__dict__.setdefault("_seen", {})
        key = id(fragment), id(value)
        if key not in seen:
            collect(self, fragment, value)
            seen[key] = fragment, value

    return collected


_UPDATE = re.compile(r"^( *)(slots\[\d+\])\.update\((next_\d+), (.*)\)$", re.MULTILINE)


@functools.lru_cache(maxsize=512)
def _compile(text: str, filename: str, mode: str):
    """Most signals get the value that they have, and most processes of a design come in the next one, too."""
    return compile(_UPDATE.sub(r"\1if \2.next != \3: \2.update(\3, \4)", text), filename, mode)
