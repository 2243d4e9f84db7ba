"""Amaranth's simulator in less time: what it computes over and over is kept, what it does is the same.

Most of the time of a short test goes into making its simulator, and most of that into shapes of the same expressions,
each of which asks for those of all that it is made of.
"""

import functools
from importlib.metadata import version

from amaranth.hdl import _ast
from amaranth.sim import _pyrtl, pysim

__all__ = ["CHECKED", "hasten"]

CHECKED = ("0.5.10",)
"""Versions of Amaranth whose inner parts are those that this file knows; any other simulates at its own pace."""


@functools.cache
def hasten() -> bool:
    """Whether simulators made from now on in this process take less time."""
    if version("amaranth") not in CHECKED:
        return False
    for kind in (_ast.Operator, _ast.Concat, _ast.SwitchValue):
        _keep_shape(kind)
    _count_bits(_pyrtl._RHSValueCompiler)
    _compare_first(pysim._PySignalState)
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


def _count_bits(compiler):
    """Parity from the number of ones, which Python counts in one step, not from a text of all bits."""
    others = compiler.on_Operator

    def on_operator(self, value):
        if value.operator != "r^":
            return others(self, value)
        (bits,) = value.operands
        return f"(({(1 << len(bits)) - 1:#x} & {self(bits)}).bit_count() & 1)"

    compiler.on_Operator = on_operator


def _compare_first(state):
    """Most signals get the value that they have."""
    others = state.update

    def update(self, value, mask=~0):
        if value != self.next:
            others(self, value, mask)

    state.update = update
