"""Verilog and C++ around a module that is compiled apart, whose outputs come from registers."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Clocked", "Port"]

CLOCK = "clk"
HEADERS = tuple(Path(__file__).with_name(name) for name in ("digest.h", "jobs.h"))
WORD = 32

_PORT = re.compile(r"^\s*(input|output) (?:wire |reg )?(?:\[(\d+):0\] )?(\w+);", re.MULTILINE)
_FUNCTION = re.compile(r"^ *function .*?^ *endfunction", re.MULTILINE | re.DOTALL)
_EDGE = re.compile(r"\b(?:pos|neg)edge \\?(\w+)")
_NUMBERS = (
    (1, "bit", "svBit"),
    (8, "byte unsigned", "unsigned char"),
    (16, "shortint unsigned", "unsigned short"),
    (32, "int unsigned", "unsigned int"),
    (64, "longint unsigned", "unsigned long long"),
)
"""Types of SystemVerilog and of C for so many bits at most."""


@dataclass(frozen=True)
class Port:
    """``width`` bits that go into a module or come out; ``alias`` stands for its name, of which C++ takes no "__"."""

    name: str
    width: int
    is_input: bool
    alias: str

    @property
    def range(self) -> str:
        """Before the name where it is declared."""
        return f"[{self.width - 1}:0] " if self.width > 1 else ""

    @property
    def type(self) -> str:
        """Of an argument in SystemVerilog."""
        return f"bit {self.range}".strip() if self._wide else self._number[1]

    @property
    def parameter(self) -> str:
        """Of a function in C++."""
        if self._wide:
            return f"{'const ' if self.is_input else ''}svBitVecVal* {self.alias}"
        return f"{self._number[2]}{'' if self.is_input else '*'} {self.alias}"

    @property
    def copied(self) -> str:
        """The C++ statement that takes it to Verilator's model, or from there."""
        inside = f"model.{self.alias}"
        if self._wide:
            words = -(-self.width // WORD)
            if self.is_input:
                return f"std::copy_n({self.alias}, {words}, {inside}.data());"
            return f"std::copy_n({inside}.data(), {words}, {self.alias});"
        return f"{inside} = {self.alias};" if self.is_input else f"*{self.alias} = {inside};"

    @property
    def changed(self) -> str:
        """Whether it is not what Verilator's model has, in C++."""
        inside = f"model.{self.alias}"
        if self._wide:
            words = -(-self.width // WORD)
            return f"!std::equal({self.alias}, {self.alias} + {words}, {inside}.data())"
        return f"{inside} != {self.alias}"

    @property
    def _wide(self) -> bool:
        return self.width > _NUMBERS[-1][0]

    @property
    def _number(self) -> tuple[int, str, str]:
        return next(number for number in _NUMBERS if self.width <= number[0])


class Clocked:
    """``module``, whose Verilog is ``text``, with a clock called ``clk`` and no other. Its outputs come from registers
    that take over on rising edges, but for what the inputs ``late`` act on.

    Raises ``ValueError`` if there is no such module or no such input, or if it has another clock.

    Attributes
    ----------
    files : by name, what Verilator makes its model ``V<module>`` of, with ``top`` on top, and ``<module>_calls.cpp``
        with headers, to be compiled with it.
    instance : SystemVerilog of the module that stands for it where it is used, and calls that C++.
    """

    def __init__(self, module: str, text: str, late: Iterable[str]):
        self._module = module
        edges = set(_EDGE.findall(text)) - {CLOCK}
        if edges:
            raise ValueError(f"{module} has clocks other than {CLOCK}: {', '.join(sorted(edges))}")
        ports = _ports(module, text)
        self._inputs = [port for port in ports if port.is_input]
        self._outputs = [port for port in ports if not port.is_input]
        names = set(late)
        self._late = [port for port in self._inputs if port.name in names]
        missing = names - {port.name for port in self._late}
        if missing:
            raise ValueError(f"{module} has no input {', '.join(sorted(missing))}")
        self.top = f"{module}_pulsed"
        self.files = {
            f"{module}.v": text,
            f"{self.top}.v": self._pulsed(ports),
            f"{module}_calls.cpp": self._calls(len(text)),
            **{header.name: header.read_text() for header in HEADERS},
        }
        self.instance = self._instance(ports)

    def _pulsed(self, ports: Iterable[Port]) -> str:
        """With a clock that rises whenever ``go`` changes, and falls by itself: one evaluation is a cycle."""
        declared = [f"{'input' if port.is_input else 'output'} {port.range}{port.alias}" for port in ports]
        return f"""module {self.top}(
  {_lines(["input go", *declared])}
);
  reg gone = 0;
  wire {CLOCK} = go ^ gone;
  always @(posedge {CLOCK}) gone <= go;
  {self._module} whole (
    {_lines([f".{CLOCK}({CLOCK})", *(f".{port.name}({port.alias})" for port in ports)], 4)}
  );
endmodule
"""

    def _instance(self, ports: Iterable[Port]) -> str:
        """On a rising edge all instances start with what their inputs are. Once all have, each takes its outputs."""
        module, taken = self._module, [*self._late, *self._outputs]
        declared = [f"{'input' if port.is_input else 'output reg'} {port.range}{port.name}" for port in ports]
        take = f"{module}_take(block, {', '.join(port.name for port in taken)})"
        return f"""module {module}(
  {_lines([f"input {CLOCK}", *declared])}
);
  import "DPI-C" function chandle {module}_new();
  import "DPI-C" function void {module}_start(
    {_lines(["input chandle block", *map(_argument, self._inputs)], 4)}
  );
  import "DPI-C" function void {module}_take(
    {_lines(["input chandle block", *map(_argument, taken)], 4)}
  );

  chandle block;
  reg started = 0;
  initial begin
    block = {module}_new();
    {take};
  end
  always @(posedge {CLOCK}) begin
    {module}_start(block, {", ".join(port.name for port in self._inputs)});
    started <= ~started;
  end
  always @({" or ".join(["started", *(port.name for port in self._late)])}) {take};
endmodule
"""

    def _calls(self, weight: int) -> str:
        module, taken = self._module, [*self._late, *self._outputs]
        return f"""#include <svdpi.h>

#include <algorithm>

{_statements((f'#include "{header.name}"' for header in HEADERS), 0)}
#include "V{module}.h"

namespace {{

struct Block : Job {{
  V{module} model{{""}};

  Block() : Job({weight}) {{}}
  void run() override {{ model.eval(); }}

  // Of all outputs.
  Digest outputs() const {{
    Digest digest;
    {_statements((f"digest.add(model.{port.alias});" for port in self._outputs), 4)}
    return digest;
  }}
}};

}}  // namespace

extern "C" {{

void* {module}_new() {{
  Block* const block = new Block;
  block->run();
  Jobs::all().add(*block);
  return block;
}}

void {module}_start({_lines(["void* handle", *(port.parameter for port in self._inputs)])}) {{
  Block& block = *static_cast<Block*>(handle);
  V{module}& model = block.model;
  if (Jobs::all().checks()) {{
    // All that act on outputs before the edge came when they changed.
    const Digest before = block.outputs();
    {_statements((port.copied for port in self._inputs), 4)}
    model.eval();
    if (block.outputs() != before) vl_fatal(__FILE__, __LINE__, "{module}", "an input acts on an output");
  }}
  {_statements(port.copied for port in self._inputs)}
  model.go = !model.go;
  Jobs::all().start(block);
}}

void {module}_take({_lines(["void* handle", *(port.parameter for port in taken)])}) {{
  if (!handle) return;  // Verilator may look before it begins.
  Block& block = *static_cast<Block*>(handle);
  V{module}& model = block.model;
  Jobs::all().finish(block);
  if ({" || ".join(["false", *(port.changed for port in self._late)])}) {{
    {_statements((port.copied for port in self._late), 4)}
    model.eval();
  }}
  {_statements(port.copied for port in self._outputs)}
}}
}}
"""


def _ports(module: str, text: str) -> list[Port]:
    """Those of ``module`` but for its clock."""
    start = re.search(rf"^module \\?{re.escape(module)}\s*\(", text, re.MULTILINE)
    if start is None:
        raise ValueError(f"there is no module {module}")
    # Those of a function are no ports.
    declarations = _FUNCTION.sub("", text[start.end() : text.index("\nendmodule", start.end())])
    found: list[Port] = []
    for direction, last, name in _PORT.findall(declarations):
        if name != CLOCK:
            found.append(Port(name, int(last or 0) + 1, direction == "input", f"port_{len(found)}"))
    return found


def _argument(port: Port) -> str:
    return f"{'input' if port.is_input else 'output'} {port.type} {port.alias}"


def _lines(parts: Sequence[str], indent: int = 2) -> str:
    return (",\n" + indent * " ").join(parts)


def _statements(parts: Iterable[str], indent: int = 2) -> str:
    return ("\n" + indent * " ").join(parts)
