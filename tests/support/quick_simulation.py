"""Amaranth's simulator in less time: what it computes over and over is kept, what it does is the same.

Most of the time of a short test goes into making its simulator: into shapes of the same expressions, into copies of
them, and into Python that computes each part as often as it is used and is compiled anew for every design.
``quick_making`` keeps what is known of expressions, ``quick_values`` computes parts once; the rest is here.
"""

import functools
import gc
import re
from contextlib import nullcontext
from importlib.metadata import version

from amaranth.sim import Simulator, _async, _pyrtl, pysim

from support.quick_engine import QuickEngine, TestbenchContext
from support.quick_making import copy_only_clocks, leave_names_out, make_quickly
from support.quick_values import ScopedEmitter, compiler_for

__all__ = ["CHECKED", "hasten"]

CHECKED = ("0.5.10",)
"""Versions of Amaranth whose inner parts are those that this file knows; any other simulates at its own pace."""


@functools.cache
def hasten() -> bool:
    """Whether simulators made from now on in this process take less time."""
    if version("amaranth") not in CHECKED:
        return False
    make_quickly()
    Simulator.__init__ = _quickly(Simulator.__init__)
    _pyrtl._PythonEmitter = ScopedEmitter
    _pyrtl._RHSValueCompiler = compiler_for
    _pyrtl.compile = _compile
    pysim.PySimEngine = QuickEngine
    _async.TestbenchContext = TestbenchContext
    # A design is hundreds of thousands of objects that all stay: to look for garbage among them takes a quarter of the
    # time.
    gc.set_threshold(50_000, 20, 20)
    return True


def _quickly(make):
    """It is for simulators alone: what becomes Verilog, a bitstream or a proof is made as by users."""

    @functools.wraps(make)
    def made(self, toplevel, **options):
        collects = gc.isenabled()
        gc.disable()
        try:
            # An engine that is named may be one that writes waves.
            with copy_only_clocks(), nullcontext() if options else leave_names_out():
                make(self, toplevel, **options)
        finally:
            if collects:
                gc.enable()

    return made


_UPDATE = re.compile(r"^( *)(slots\[\d+\])\.update\((next_\d+), (.*)\)$", re.MULTILINE)


@functools.lru_cache(maxsize=4096)
def _compile(text: str, filename: str, mode: str):
    """Most signals get the value that they have, and most processes of a design come in the next one, too."""
    return compile(_UPDATE.sub(r"\1if \2.next != \3: \2.update(\3, \4)", text), filename, mode)
