"""Merge modules of an RTLIL design that are alike, so that four equal stations become one module used four times.

Amaranth writes one module per instance. Netlists, simulators and readers do better with one module per design: a simulator
compiles it once, and a person reads it once.
"""

import re

__all__ = ["merge_equal_modules"]

_MODULE = re.compile(r"^module (\\\S+)$", re.MULTILINE)
_CELL = re.compile(r"^(\s*cell )(\\\S+)( \S+)$", re.MULTILINE)
_SOURCE = re.compile(r"^\s*attribute \\src .*\n", re.MULTILINE)
_PORT_NUMBER = re.compile(r"\b(input|output|inout) \d+ ")


def merge_equal_modules(rtlil: str) -> str:
    """The same design with one module for each set of modules that are alike, children first.

    Modules are alike when they have the same ports, in any order, and the same contents. The first of a set stays.
    Source locations are dropped (they tell instances apart), and the dots of a hierarchical module name become ``__``,
    so that every name is a plain identifier.
    """
    head, modules = _split(_SOURCE.sub("", rtlil))
    chosen: dict[str, str] = {}
    first_of: dict[str, str] = {}

    def settle(name: str) -> None:
        if name in chosen:
            return
        for _, child, _ in _CELL.findall(modules[name]):
            if child in modules:
                settle(child)
        modules[name] = _CELL.sub(lambda m: f"{m[1]}{chosen.get(m[2], m[2])}{m[3]}", modules[name])
        chosen[name] = first_of.setdefault(_essence(modules[name]), name)

    for name in list(modules):
        settle(name)
    plain = {name: name.replace(".", "__") for name in modules if chosen[name] == name}
    if len(set(plain.values())) != len(plain):
        raise ValueError("two modules would get the same plain name")
    return head + "".join(
        f"module {plain[name]}\n" + _CELL.sub(lambda m: f"{m[1]}{plain.get(m[2], m[2])}{m[3]}", modules[name])
        for name in plain
    )


def _essence(body: str) -> str:
    """``body`` without what may differ between two instances of one design: the order of wires, ports and connections."""
    wires, rest = [], []
    for block in body.split("\n\n"):
        lines = block.split("\n")
        if any(line.lstrip().startswith("wire ") for line in lines):
            wires.append(_PORT_NUMBER.sub(r"\1 ", block))
        elif any(_CELL.match(line) for line in lines):
            rest.append("\n".join(sorted(lines)))
        else:
            rest.append(block)
    return "\n\n".join([*sorted(wires), *rest])


def _split(rtlil: str) -> tuple[str, dict[str, str]]:
    """The text before the first module, and what follows the first line of each module by its name.

    Attributes in front of a later module are dropped, except those of the first: they are the generator's name.
    """
    starts = list(_MODULE.finditer(rtlil))
    modules = {}
    for this, following in zip(starts, [*starts[1:], None]):
        text = rtlil[this.end() + 1 : following.start() if following else len(rtlil)]
        modules[this[1]] = text[: text.rindex("\nend\n") + 5] + "\n"
    return rtlil[: starts[0].start()], modules
