"""Initial contents of memories: zeros go, tables stay, and what is left still means the same."""

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ualink.lib.memories import drop_zero_contents


class Tables(wiring.Component):
    """One memory for each of ``inits``, all read at ``a``."""

    def __init__(self, inits):
        self.inits = inits
        super().__init__({"a": In(2), "b": Out(4).array(len(inits))})

    def elaborate(self, platform):
        m = Module()
        for number, init in enumerate(self.inits):
            m.submodules[f"table{number}"] = table = Memory(shape=4, depth=4, init=init)
            read = table.read_port(domain="comb")
            m.d.comb += [read.addr.eq(self.a), self.b[number].eq(read.data)]
        return m


@pytest.mark.parametrize(
    ("inits", "left"), [([[]], 0), ([[0, 0, 0, 0]], 0), ([[0, 0, 0, 8]], 1), ([[], [1, 2], [0], [0, 5]], 2)]
)
def test_only_contents_that_say_something_stay(inits, left):
    text = rtlil.convert(Tables(inits), name="tables")
    assert text.count("cell $meminit_v2 ") == len(inits)
    dropped = drop_zero_contents(text)
    assert dropped.count("cell $meminit_v2 ") == left
    assert dropped.count("cell $memrd_v2 ") == dropped.count("memory width") == len(inits)


def test_nothing_but_the_contents_goes():
    text = rtlil.convert(Tables([[], [7]]), name="tables").splitlines()
    dropped = drop_zero_contents("\n".join(text) + "\n").splitlines()
    start = next(n for n, line in enumerate(text) if "$meminit_v2" in line)
    end = next(n for n in range(start, len(text)) if text[n].strip() == "end")
    assert dropped == text[:start] + text[end + 1 :]
