"""Equal modules become one; unequal ones stay apart; the design still means the same."""

import re

from amaranth.back import rtlil
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ualink.emit.modules import merge_equal_modules
from ualink.emit.verilog import port_table, to_verilog


class Leaf(wiring.Component):
    """Adds ``step`` each cycle, after a look into a small memory."""

    def __init__(self, step):
        self.step = step
        super().__init__({"a": In(4), "b": Out(4)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = table = Memory(shape=4, depth=4, init=[3, 1, 2, 0])
        read = table.read_port(domain="comb")
        kept = Signal(4, init=self.step)
        m.d.comb += read.addr.eq(self.a)
        m.d.sync += [kept.eq(kept + self.step), self.b.eq(read.data + kept)]
        return m


class Chain(wiring.Component):
    def __init__(self, steps):
        self.steps = steps
        super().__init__({"a": In(4), "b": Out(4)})

    def elaborate(self, platform):
        m = Module()
        value = self.a
        for number, step in enumerate(self.steps):
            m.submodules[f"leaf{number}"] = leaf = Leaf(step)
            m.d.comb += leaf.a.eq(value)
            value = leaf.b
        m.d.comb += self.b.eq(value)
        return m


def _modules(text):
    return re.findall(r"^module (\S+)", text, re.MULTILINE)


def test_instances_of_one_design_share_a_module():
    merged = merge_equal_modules(rtlil.convert(Chain([1, 1, 1, 1]), name="chain"))
    assert _modules(merged) == ["\\chain", "\\chain__leaf0"]
    assert merged.count("cell \\chain__leaf0 ") == 4


def test_designs_that_differ_in_a_constant_stay_apart():
    merged = merge_equal_modules(rtlil.convert(Chain([1, 2, 1]), name="chain"))
    assert _modules(merged) == ["\\chain", "\\chain__leaf0", "\\chain__leaf1"]
    assert merged.count("cell \\chain__leaf0 ") == 2


def test_merging_goes_from_the_leaves_to_the_top():
    class Pair(wiring.Component):
        a: In(4)
        b: Out(4)
        c: Out(4)

        def elaborate(self, platform):
            m = Module()
            for name, out in (("first", self.b), ("second", self.c)):
                m.submodules[name] = chain = Chain([1, 3])
                m.d.comb += [chain.a.eq(self.a), out.eq(chain.b)]
            return m

    merged = merge_equal_modules(rtlil.convert(Pair(), name="pair"))
    assert _modules(merged) == ["\\pair", "\\pair__first", "\\pair__first__leaf0", "\\pair__first__leaf1"]


def test_merged_verilog_behaves_like_the_component():
    """Simulate the merged Verilog beside Amaranth's own simulation of the same component."""
    from amaranth.sim import Simulator

    from ualink_sim.simulator import build

    component, seen = Chain([1, 1, 2, 1]), []

    async def bench(ctx):
        for cycle in range(40):
            ctx.set(component.a, cycle % 4)
            await ctx.tick()
            seen.append(ctx.get(component.b))

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    model = build({"chain.v": to_verilog(Chain([1, 1, 2, 1]), "chain")}, "chain")
    model.run("support.lib.chain_bench", environment={"EXPECTED": " ".join(map(str, seen))})


def test_port_table_names_directions_and_widths():
    assert port_table(Chain([1])) == [
        {"name": "a", "direction": "input", "width": 4, "path": "a"},
        {"name": "b", "direction": "output", "width": 4, "path": "b"},
    ]
