"""Verilog to a program: what make is told to ask Verilator and g++ for, as much at a time as there are processors."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import cocotb_tools.config

from .clocked.wrapper import Clocked

__all__ = ["FEW_QUESTIONS", "MAKE_FLAGS", "Blocks", "Library", "Program", "instantiated", "known"]

Blocks = Mapping[str, tuple[str, ...] | None]
"""Modules that are compiled apart. With names of inputs: all outputs come from registers, but for what these act on
in the same cycle (``Clocked``); with None they need not."""

MAKE_FLAGS = ("CFG_CXXFLAGS_PCH_I=-include", f"PYTHON3={sys.executable}")
"""The wheel's own makefile leaves the first empty, without which precompiled headers are not found, and takes "python"
for the second, which not every machine has."""

FEW_QUESTIONS = (
    *("--param=sccvn-max-alias-queries-per-access=32", "--param=dse-max-alias-queries-per-store=8"),
    *("-fno-tree-pre", "-fno-code-hoisting", "-fno-gcse"),
)
"""Verilator's functions are thousands of stores long, and g++ asks of each load and store which of the hundreds before
it may be the same place. So few questions tell it as much. Three passes look for what is computed more than once on
the ways through a function, and find next to nothing: without them the longest functions compile in a twentieth of the
time, and the program is as large and as fast."""

VERILATOR = (
    *("verilator", "--cc", "--Mdir", "."),
    # Of loops through blocks it would tell one by one, which takes longer than all the rest.
    *("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-UNOPTFLAT"),
    *("--noassert", "--x-assign", "fast", "--x-initial", "fast"),
    # Each file costs half a second, each function more than its length.
    *("-O3", "--output-split", "50000", "--output-split-cfuncs", "10000", "--timescale", "1ns/1ps"),
)


@dataclass(frozen=True)
class Library:
    """A module that is compiled apart, in ``folder``, of the Verilog ``text``; it has instances of ``uses``, and
    ``late`` is as of ``Blocks``.

    Folders of libraries and programs stand side by side, and each finds the others from there.
    """

    module: str
    folder: Path
    text: str = field(repr=False)
    uses: tuple["Library", ...] = ()
    late: tuple[str, ...] | None = None

    @property
    def files(self) -> dict[str, str]:
        """What is in its folder before Verilator comes."""
        if self._clocked is None:
            return {f"{self.module}.v": self.text}
        return {**self._clocked.files, f"{self.module}.sv": self._clocked.instance}

    @property
    def place(self) -> str:
        return f"../{self.folder.name}"

    @property
    def wrapper(self) -> str:
        """What is read in place of its Verilog where there are instances of it."""
        return f"{self.place}/{self.module}.sv"

    @property
    def objects(self) -> list[str]:
        """What is linked with these."""
        if self._clocked is None:
            return [f"{self.place}/lib{self.module}.a"]
        return [f"{self.place}/{self.module}_calls.o", f"{self.place}/V{self.module}__ALL.a"]

    @property
    def verilated(self) -> str:
        """The target of make that stands for ``wrapper``; ``compiled`` is that for ``objects``."""
        return f"{self.module}.verilated"

    @property
    def compiled(self) -> str:
        return f"{self.module}.compiled"

    def rules(self, trace: bool, new: Iterable["Library"]) -> str:
        """How make gets there; of what it uses, those that are ``new`` are made before."""
        module = self.module
        verilate = [*VERILATOR, "--prefix", f"V{module}", *_traced(trace)]
        if self._clocked is None:
            verilate += ["--lib-create", module, "--top-module", module, f"{module}.v"]
        else:
            read = [name for name in self._clocked.files if name.endswith(".v")]
            verilate += ["--top-module", self._clocked.top, *read]
        verilate += [used.wrapper for used in self.uses]
        # It is for programs, which stay where they are in memory and have Verilator's own objects themselves.
        flags = _words([*_make_flags(trace), "VM_USER_CFLAGS=", "VK_GLOBAL_OBJS="])
        before = [used.verilated for used in self.uses if used in new]
        made = _words(name.rpartition("/")[2] for name in self.objects)
        compile_ = f"$(MAKE) -C {self.place} -f V{module}.mk {flags} {made}"
        return _rule(self.verilated, before, f"cd {self.place} && {_words(verilate)}", "touch $@") + _rule(
            self.compiled, [self.verilated], compile_, "touch $@"
        )

    @cached_property
    def _clocked(self) -> Clocked | None:
        return None if self.late is None else Clocked(self.module, self.text, self.late)


@dataclass(frozen=True)
class Program:
    """The Verilog files ``sources`` with module ``top``, and instances of ``libraries``, as a program called ``top``.

    ``runtime`` are Verilator's own objects, compiled earlier; it compiles what is not among them.
    """

    top: str
    sources: Mapping[str, str]
    libraries: tuple[Library, ...]
    trace: bool
    runtime: tuple[Path, ...] = ()

    def rules(self, new: Iterable[Library]) -> str:
        """A makefile for the folder of ``sources``, whose first target is the program. Of its libraries and those that
        they use, the ``new`` ones are made, too."""
        libraries = cocotb_tools.config.libs_dir
        objects = [name for library in _linked(self.libraries) for name in library.objects]
        verilate = [*VERILATOR, "--exe", "--vpi", "--prefix", "Vtop", "--top-module", self.top, "-o", self.top]
        verilate += _traced(self.trace)
        # Each may use those behind it.
        verilate += ["-LDFLAGS", " ".join([*objects, f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"])]
        verilate += [str(cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp")]
        # Headers are found where they are, beside those who include them.
        read = [name for name in self.sources if not name.endswith(".h")]
        verilate += [*read, *(library.wrapper for library in self.libraries)]
        make = f"$(MAKE) -f Vtop.mk {_words(_make_flags(self.trace))}"
        # Copies are younger than the makefile, so that make takes them as they are.
        copies = [f"cp {_words(map(str, self.runtime))} ."] if self.runtime else []
        wrappers = [library.verilated for library in self.libraries if library in new]
        return "".join(
            [
                _rule("program", ["objects", *(library.compiled for library in new)], make),
                _rule("objects", ["verilated"], f"{make} Vtop__ALL.a"),
                _rule("verilated", wrappers, _words(verilate), *copies, "touch $@"),
                *(library.rules(self.trace, new) for library in new),
            ]
        )


def instantiated(text: str, modules: Iterable[str]) -> set[str]:
    """Those of ``modules`` of which the Verilog ``text`` has instances."""
    return set(modules).intersection(re.findall(r"\w+", text))


def known(options: tuple[str, ...]) -> tuple[str, ...]:
    """Those ``options`` that this compiler has; older ones lack some."""

    def has(option: str) -> bool:
        command = ["c++", "-x", "c++", "-O1", option, "-fsyntax-only", os.devnull]
        return subprocess.run(command, capture_output=True).returncode == 0

    return tuple(filter(has, options))


def _linked(libraries: Iterable[Library]) -> list[Library]:
    """They and those that they use, each once and before what it uses."""
    order: dict[Library, None] = {}
    for library in libraries:
        for one in (library, *_linked(library.uses)):
            order.pop(one, None)
            order[one] = None
    return list(order)


def _make_flags(trace: bool) -> list[str]:
    # A cycle goes through more code than a processor keeps at hand: what is small is fast.
    return [f"VM_TRACE={int(trace)}", *MAKE_FLAGS, f"OPT_FAST={' '.join(('-Os', *known(FEW_QUESTIONS)))}"]


def _traced(trace: bool) -> list[str]:
    return ["--trace-fst"] if trace else []


def _rule(target: str, before: Iterable[str], *commands: str) -> str:
    return "\n".join([f"{target}: {' '.join(before)}".rstrip(), *(f"\t{command}" for command in commands), "", ""])


def _words(words: Iterable[str]) -> str:
    """``words`` for a shell that make starts."""
    return shlex.join(words).replace("$", "$$")
