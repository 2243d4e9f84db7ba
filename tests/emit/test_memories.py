"""Initial contents of memories: zeros go, tables stay, and what is left still means the same. Reads that never meet a
write need not show the old row; all others do. Large memories are asked to be made of block RAMs."""

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ualink.emit.memories import drop_zero_contents, free_collisions, prefer_block_rams
from ualink.lib.memory_marks import NEVER_MEET


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


class Buffers(wiring.Component):
    """A memory with two write ports and one read port for each of ``attrs``."""

    def __init__(self, attrs):
        self.attrs = attrs
        super().__init__({"a": In(2), "w": In(4), "b": Out(4).array(len(attrs))})

    def elaborate(self, platform):
        m = Module()
        for number, attrs in enumerate(self.attrs):
            m.submodules[f"buffer{number}"] = buffer = Memory(shape=4, depth=4, init=[], attrs=attrs)
            read = buffer.read_port()
            for write in (buffer.write_port(), buffer.write_port()):
                m.d.comb += [write.addr.eq(self.w), write.data.eq(self.w), write.en.eq(self.w[0])]
            m.d.comb += [read.addr.eq(self.a), self.b[number].eq(read.data)]
        return m


def test_collisions_are_free_where_reads_and_writes_never_meet_and_nowhere_else():
    text = rtlil.convert(Buffers([{}, NEVER_MEET, {"keep": 1}, {"keep": 1, **NEVER_MEET}]), name="buffers").splitlines()
    freed = free_collisions("\n".join(text) + "\n").splitlines()
    assert len(freed) == len(text)
    changed = [n for n, (before, after) in enumerate(zip(text, freed)) if before != after]
    assert [freed[n].strip() for n in changed] == ["parameter \\COLLISION_X_MASK 2'11"] * 2
    of = [next(line for line in reversed(text[:n]) if "\\MEMID" in line).split()[-1] for n in changed]
    assert of == ['"\\\\buffer1"', '"\\\\buffer3"']


class Rows(wiring.Component):
    """A memory of four rows of four bits for each of ``attrs``, read with a clock, and one that is read without."""

    def __init__(self, attrs):
        self.attrs = attrs
        super().__init__({"a": In(2), "b": Out(4).array(len(attrs) + 1)})

    def elaborate(self, platform):
        m = Module()
        for number, attrs in enumerate([*self.attrs, {}]):
            m.submodules[f"rows{number}"] = rows = Memory(shape=4, depth=4, init=[], attrs=attrs)
            read = rows.read_port(domain="sync" if number < len(self.attrs) else "comb")
            m.d.comb += [read.addr.eq(self.a), self.b[number].eq(read.data)]
        return m


@pytest.mark.parametrize(
    ("bits", "rows", "asked"), ((16, 4, ["rows0", "rows1"]), (17, 4, []), (16, 5, []), (1, 1, ["rows0", "rows1"]))
)
def test_large_memories_are_made_of_block_rams_where_each_read_has_a_clock(bits, rows, asked):
    text = rtlil.convert(Rows([{}, {"keep": 1}, {"ram_style": "distributed"}]), name="rows")
    lines = prefer_block_rams(text, bits=bits, rows=rows).splitlines()
    added = [n for n, line in enumerate(lines) if line.strip() == 'attribute \\ram_style "block"']
    assert [lines[n + 1].split()[-1] for n in added] == [f"\\{name}" for name in asked]
    assert [line for n, line in enumerate(lines) if n not in added] == text.splitlines()
