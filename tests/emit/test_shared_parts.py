"""Parts that are made once for all that are equal."""

import re

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ualink.emit.shared_parts import SharedParts, part_name
from ualink.emit.verilog import to_verilog
from ualink.switch.grid import Grid


class ConstantPart(wiring.Component):
    """Says ``value``."""

    def __init__(self, value, more=None):
        self.value = value
        super().__init__({"out": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.out.eq(self.value)
        return m


class OtherPart(ConstantPart):
    """Another one."""


class Both(wiring.Component):
    """Several of each."""

    def __init__(self, make):
        self.parts = [make(ConstantPart, 3), make(ConstantPart, 3), make(ConstantPart, 7), make(OtherPart, 3)]
        super().__init__({"out": Out(32)})

    def elaborate(self, platform):
        m = Module()
        for n, part in enumerate(self.parts):
            m.submodules[f"part_{n}"] = part
            m.d.comb += self.out.word_select(n, 8).eq(part.out)
        return m


def test_equal_parts_are_instances_of_one_module():
    parts = SharedParts(lambda kind: kind is ConstantPart)
    text = to_verilog(Both(parts), "both")
    assert dict(parts.instances) == {"ualink_constant_part_3": 2, "ualink_constant_part_7": 1}
    assert set(re.findall(r"^ *(ualink_\w+) ", text, re.MULTILINE)) == set(parts.parts)
    assert [part.value for part in parts.parts.values()] == [3, 7]
    assert "ualink_other_part" not in text, "not among those to be shared"


def test_a_name_stands_for_one_part():
    parts = SharedParts()
    parts(ConstantPart, 3, Grid(4, 4))
    assert part_name(ConstantPart, 3, Grid(4, 2)) == part_name(ConstantPart, 3, Grid(4, 4))
    with pytest.raises(ValueError, match="two parts that differ would be ualink_constant_part_3"):
        parts(ConstantPart, 3, Grid(4, 2))
