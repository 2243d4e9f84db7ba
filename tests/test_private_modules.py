"""What of Amaranth is private, and used all the same: its names, and the versions for which it has been read."""

import ast
import re
from importlib.metadata import version
from pathlib import Path

import ualink

CHECKED = ("0.5.10",)
"""Versions of Amaranth whose private modules have been read for what rests on them."""
PRIVATE = {
    "interleave.py": {
        "amaranth.hdl._ast": {"Assign", "Concat", "Operator", "Part", "Property", "Slice", "Switch", "SwitchValue"},
        "amaranth.hdl._ir": {"Fragment", "Instance"},
        "amaranth.hdl._mem": {"MemoryData", "MemoryInstance"},
        "amaranth.hdl._xfrm": {"FragmentTransformer", "LHSMaskCollector"},
    },
    "doors.py": {
        "amaranth.hdl._ir": {"Fragment", "Instance", "PortDirection", "build_netlist"},
        "amaranth.hdl._mem": {"MemoryInstance"},
        "amaranth.hdl._nir": {"Netlist"},
    },
    "gate_levels.py": {
        "amaranth.hdl._nir": {
            *("AssignmentList", "AsyncReadPort", "Cell", "FlipFlop", "Instance", "Matches", "Net", "Netlist"),
            *("Operator", "Part", "PriorityMatch", "SyncReadPort"),
        },
    },
    "quick_nets.py": {"amaranth.hdl._nir": {"Net", "Netlist", "Value"}},
}


def test_private_modules_of_amaranth_are_those_that_were_read():
    """A new version is tried by adding it to ``CHECKED``, once its statements, values, memories and the cells of its
    netlist are seen to be what is known of them here; nothing else of the hardware rests on private names."""
    found = {}
    for file in Path(ualink.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and re.match(r"amaranth\b.*\._", node.module or ""):
                names = found.setdefault(file.name, {}).setdefault(node.module, set())
                names.update(name.name for name in node.names)
    assert found == PRIVATE
    assert version("amaranth") in CHECKED
