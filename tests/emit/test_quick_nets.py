"""Netlists made quickly are those that Amaranth makes."""

from contextlib import nullcontext

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal, _nir
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from ualink.config import UPLIConfig
from ualink.emit import quick_nets as quick
from ualink.emit import verilog
from ualink.emit.quick_nets import quick_nets
from ualink.upli.originator import Originator


class Kinds(Component):
    """What a bit may be: of a constant, of a cell, and of a signal of another module that is read before it is made."""

    a: In(8)
    b: In(3)
    chosen: Out(12)
    kept: Out(8)
    none: Out(0)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=4, init=[1, 2, 3])
        read, write = memory.read_port(), memory.write_port()
        late = Signal(8)
        m.d.comb += [read.addr.eq(self.b[1:]), write.addr.eq(self.b), write.en.eq(self.b[2])]
        m.d.comb += [write.data.eq(late ^ self.a), self.chosen[2:].eq(late.word_select(self.b[0], 4) + 5)]
        with m.Switch(self.b):
            with m.Case("1-0"):
                m.d.sync += self.kept.eq(read.data)
            with m.Default():
                m.d.sync += self.kept[:4].eq(-1)
        m.submodules.later = later = Module()
        later.d.comb += late.eq(self.a + self.kept)
        return m


def test_what_is_made_of_each_kind_of_bit_is_the_same():
    slow = rtlil.convert(Kinds(), name="made", emit_src=False)
    with quick_nets():
        assert rtlil.convert(Kinds(), name="made", emit_src=False) == slow


def test_what_is_made_of_an_originator_is_the_same(monkeypatch):
    made = verilog.to_rtlil(Originator(UPLIConfig(), 1), "made")
    monkeypatch.setattr(verilog, "quick_nets", nullcontext)
    assert verilog.to_rtlil(Originator(UPLIConfig(), 1), "made") == made


def test_a_loop_is_still_found():
    m, a, b = Module(), Signal(), Signal()
    m.d.comb += [a.eq(~b), b.eq(~a)]
    with quick_nets(), pytest.raises(_nir.CombinationalCycle):
        rtlil.convert(m, ports=[a])


def test_another_version_makes_them_at_its_own_pace(monkeypatch):
    own = _nir.Value.__new__, _nir.Netlist.add_value_cell
    monkeypatch.setattr(quick, "version", lambda package: "0.5.99")
    with quick_nets():
        assert (_nir.Value.__new__, _nir.Netlist.add_value_cell) == own


def test_all_is_as_it_was_after_it():
    parts = [(_nir.Value, "__new__"), (_nir.Net, "is_const"), (_nir.Net, "from_cell"), (_nir.Netlist, "resolve_net")]
    before = [kind.__dict__[name] for kind, name in parts]
    with quick_nets():
        assert all(kind.__dict__[name] is not own for (kind, name), own in zip(parts, before, strict=True))
    assert [kind.__dict__[name] for kind, name in parts] == before
