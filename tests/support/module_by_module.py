"""Verilog in which each module stands alone, with boxes in place of what it contains.

A tool that unrolls a design sees a module as often as there are instances of it; so it sees each once.
"""

import re

__all__ = ["module_by_module"]

_MODULE = re.compile(r"^module (\\\S+ |\w+) ?\((.*?)\);\n(.*?)^endmodule", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(r"^  (\\\S+ |\w+ )(?=(?:\\\S+ |\w+ )\($)", re.MULTILINE)
_PORT = re.compile(r"^  (?:input|output|inout) (?:\[[^\]]*\] )?(?:\\\S+ |\w+);$", re.MULTILINE)


def module_by_module(verilog: str) -> tuple[str, str]:
    """``verilog``, as Yosys writes it, with an instance of its box for each instance of a module; and the boxes,
    modules that have their ports and nothing else."""
    found = [(name.strip(), ports, body) for name, ports, body in _MODULE.findall(verilog)]
    names = {name for name, _, _ in found}

    def box_for(instance):
        name = instance[1].strip()
        return f"  {_box(name)} " if name in names else instance[0]

    modules = (f"module {name} ({ports});\n{_INSTANCE.sub(box_for, body)}endmodule\n" for name, ports, body in found)
    boxes = (
        "\n".join((f"module {_box(name)} ({ports});", *_PORT.findall(body), "endmodule\n"))
        for name, ports, body in found
    )
    return "\n".join(modules), "\n".join(boxes)


def _box(name: str) -> str:
    return f"\\{name.removeprefix(chr(92))}__box"
