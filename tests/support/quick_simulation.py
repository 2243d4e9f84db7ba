"""Amaranth's simulator in less time: what it computes over and over is kept, what it does is the same.

Most of the time of a short test goes into making its simulator, and most of that into shapes of the same expressions,
each of which asks for those of all that it is made of.
"""

import functools
import re
from importlib.metadata import version

from amaranth.hdl import _ast, _dsl, _ir, _xfrm
from amaranth.sim import _pyrtl

from support.quick_values import ScopedEmitter, compiler_for
from ualink.emit.sharing import has_clock

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
    _copy_only_clocks(_xfrm.DomainLowerer)
    _pyrtl._PythonEmitter = ScopedEmitter
    _pyrtl._RHSValueCompiler = compiler_for
    _pyrtl.compile = _compile
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


def _copy_only_clocks(lowerer):
    """Looking clocks up copies every expression, as often as it is used, in most of which there is none.

    What becomes of a design that is simulated is compiled anew; Verilog is made as without this file.
    """
    copied = lowerer.on_value

    def on_value(self, value):
        found = self.__dict__.setdefault("_found", {})
        return copied(self, value) if has_clock(value, found) else value

    lowerer.on_value = on_value


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
