"""Merge modules of an RTLIL design that are alike, so that four equal stations become one module used four times.

Amaranth writes one module per instance, and names what crosses a module's border after whichever signal it met first.
Netlists, simulators and readers do better with one module per design: it is compiled once, and read once.
"""

import re
from dataclasses import dataclass, field

__all__ = ["merge_equal_modules", "name_the_unnamed"]

_MODULE = re.compile(r"^module (\\\S+)$", re.MULTILINE)
_CELL = re.compile(r"^(\s*cell )(\S+)( \S+)$")
_CONNECT = re.compile(r"^(\s*connect )(\\\S+)( .*)$")
_WIRE = re.compile(r"^\s*wire (?:width (\d+) )?(?:(input|output|inout) \d+ )?\s*(\S+)$")
_NAME = re.compile(r"(?<!\S)[\\$]\S+")
_UNNAMED = re.compile(r"(?<=\\)\$(?=\w)")
_SOURCE = re.compile(r"^ *attribute \\src .*\n", re.MULTILINE)


@dataclass
class _Module:
    """``ports`` maps each port to its canonical name; ``survivor`` is the module that stands for this one."""

    blocks: list[str]
    survivor: str = ""
    ports: dict[str, str] = field(default_factory=dict)


def merge_equal_modules(rtlil: str) -> str:
    """The same design with one module for each set of modules that are alike, children first.

    Modules are alike when they have the same contents up to the names of their wires; the first of a set stays. Source
    locations are dropped (they tell instances apart), and the dots of a hierarchical module name become ``__``, so that
    every name is a plain identifier.
    """
    head, modules = _split(_SOURCE.sub("", rtlil))
    first_of: dict[str, str] = {}
    for name in list(modules):
        _settle(name, modules, first_of)
    kept = [name for name, module in modules.items() if module.survivor == name]
    plain = {name: name.replace(".", "__") for name in kept}
    if len(set(plain.values())) != len(plain):
        raise ValueError("two modules would get the same plain name")
    return head + "".join(
        f"module {plain[name]}\n" + "\n\n".join(_rename_cell(block, plain) for block in modules[name].blocks) + "\n"
        for name in kept
    )


def name_the_unnamed(rtlil: str) -> str:
    """The same design with ``unnamed_`` in place of the ``$`` that starts a name made up by Amaranth (``\\$signal``).

    A name that starts with ``$`` is that of a system task to Verilog, and to some tools also where it is escaped.
    """
    if "\\unnamed_" in rtlil:
        raise ValueError("a name of the design starts with unnamed_, which is for signals without a name")
    return _UNNAMED.sub("unnamed_", rtlil)


def _settle(name: str, modules: dict[str, _Module], first_of: dict[str, str]) -> None:
    """Find the module that stands for ``name``, after those of its children, and join its cells to them."""
    module = modules[name]
    if module.survivor:
        return
    for index, block in enumerate(module.blocks):
        child = _child(block, modules)
        if child is not None:
            _settle(child, modules, first_of)
            module.blocks[index] = _use_survivor(block, child, modules)
    essence = _essence(module)
    module.survivor = first_of.setdefault(essence, name)


def _child(block: str, modules: dict[str, _Module]) -> str | None:
    """The module of the design that ``block`` instantiates, if it does."""
    found = re.search(r"^\s*cell (\\\S+) \S+$", block, re.MULTILINE)
    return found[1] if found and found[1] in modules else None


def _use_survivor(block: str, child: str, modules: dict[str, _Module]) -> str:
    """The cell ``block`` of ``child`` as a cell of the module that stands for it, connections in order of its ports."""
    survivor = modules[modules[child].survivor]
    names = {canonical: port for port, canonical in survivor.ports.items()}
    ports = {port: names[canonical] for port, canonical in modules[child].ports.items()}
    lines, connections = [], []
    for line in _rename_cell(block, {child: modules[child].survivor}).split("\n"):
        connect = _CONNECT.match(line)
        if connect:
            connections.append(f"{connect[1]}{ports[connect[2]]}{connect[3]}")
        else:
            lines.append(line)
    end = next(index for index, line in enumerate(lines) if line.strip() == "end")
    return "\n".join([*lines[:end], *sorted(connections), *lines[end:]])


def _rename_cell(block: str, names: dict[str, str]) -> str:
    def rename(line: str) -> str:
        cell = _CELL.match(line)
        return f"{cell[1]}{names.get(cell[2], cell[2])}{cell[3]}" if cell else line

    return "\n".join(map(rename, block.split("\n")))


def _essence(module: _Module) -> str:
    """The module's text with wires named by first use; notes the canonical names of its ports."""
    wires = {}
    contents = []
    for block in module.blocks:
        lines = block.split("\n")
        wire = _WIRE.match(lines[-1])
        if wire:
            wires[wire[3]] = (wire[1] or "1", wire[2] or "", " ".join(line.strip() for line in lines[:-1]))
        else:
            contents.append(block)
    canonical: dict[str, str] = {}

    def name(match) -> str:
        return canonical.setdefault(match[0], f"w{len(canonical)}") if match[0] in wires else match[0]

    text = []
    for line in "\n".join(contents).split("\n"):
        connect = _CONNECT.match(line)
        if _CELL.match(line):
            text.append(line)
        elif connect and connect[1].startswith(" "):
            # The name of a cell's port is the cell's, not a wire of this module.
            text.append(f"{connect[1]}{connect[2]}{_NAME.sub(name, connect[3])}")
        else:
            text.append(_NAME.sub(name, line))
    used = set(canonical)
    # Ports that the contents never use are told apart by their kind alone; other unused wires say nothing.
    for unused in sorted(wires.keys() - canonical.keys(), key=lambda name: (wires[name], name)):
        canonical[unused] = f"w{len(canonical)}"
    module.ports = {wire: canonical[wire] for wire, (_, direction, _) in wires.items() if direction}
    declarations = sorted(f"{canonical[wire]} {kind}" for wire, kind in wires.items() if kind[1] or wire in used)
    return "\n".join([*declarations, *text])


def _split(rtlil: str) -> tuple[str, dict[str, _Module]]:
    """The text before the first module, and every module as its blocks; attributes in front of modules are dropped."""
    starts = list(_MODULE.finditer(rtlil))
    modules = {}
    for this, following in zip(starts, [*starts[1:], None]):
        text = rtlil[this.end() + 1 : following.start() if following else len(rtlil)]
        modules[this[1]] = _Module(text[: text.rindex("\nend\n") + 5].strip("\n").split("\n\n"))
    return rtlil[: starts[0].start()], modules
