"""The interrupt line and its masks, and a register bus that crosses clocks."""

import pytest
from amaranth.hdl import DomainRenamer, Elaboratable, Module
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from support.csr.bench import TABLE
from support.csr.master import Master
from ualink.csr.block import RegisterBlock
from ualink.csr.crossing import BusCrossing
from ualink.csr.interrupts import Interrupts, interrupt_registers
from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.upli.agent_registers import AGENT_REGISTERS

PLAIN = RegisterMap("plain", (Register("events", 0, (Field("only", "3", Access.W1C, 0, "One."),)),))
WINDOWS = (("first", TABLE), ("second", PLAIN))


class Bench(Elaboratable):
    """Two windows of registers and their interrupt; the second is in a clock of its own, behind a crossing."""

    def __init__(self):
        self.interrupts = Interrupts(WINDOWS)
        self.first, self.second = RegisterBlock(TABLE), RegisterBlock(PLAIN)
        self.crossing = BusCrossing(PLAIN.address_bits, "other")
        self.masks, self.near, self.far = (Master(block.bus) for block in (self.interrupts, self.first, self.crossing))

    def elaborate(self, platform):
        m = Module()
        m.submodules.interrupts, m.submodules.first, m.submodules.crossing = self.interrupts, self.first, self.crossing
        m.submodules.second = DomainRenamer("other")(self.second)
        connect(m, self.crossing.far, self.second.bus)
        m.d.comb += [
            self.first.here.eq(1),
            self.interrupts.events.first.eq(self.first.pending),
            self.interrupts.events.second.eq(self.second.pending),
        ]
        return m

    def run(self, story, other=1.3e-6):
        simulator = Simulator(self)
        simulator.add_clock(1e-6)
        simulator.add_clock(other, domain="other")
        simulator.add_testbench(story)
        simulator.run()


def test_map_has_each_event_of_each_window():
    table = interrupt_registers((("upli", AGENT_REGISTERS), ("first", TABLE)))
    events = [(field.name, field.bits) for field in table["upli_events"].fields]
    names = ("data_error", "control_error", "protocol_error")
    assert events == [
        (f"{agent}_{name}", str(3 * n + bit))
        for n, agent in enumerate(("completer", "originator"))
        for bit, name in enumerate(names)
    ]
    assert [(field.name, field.bits) for field in table["first_mask"].fields] == [("one", "0"), ("many", "4:1")]
    assert all(field.reset == 0 and field.access == Access.RW for field in table["first_mask"].fields)


def test_line_follows_events_that_are_enabled():
    bench = Bench()
    table = bench.interrupts.registers
    line = bench.interrupts.irq

    async def story(ctx):
        async def shown(name):
            return (await bench.masks.read(ctx, table[name].offset))[0]

        ctx.set(bench.first.events.many, 0b0110)
        await ctx.tick()
        ctx.set(bench.first.events.many, 0)
        await ctx.tick().repeat(4)
        assert await shown("first_events") == 0b01100
        assert (await shown("pending_windows"), ctx.get(line)) == (0, 0), "nothing is enabled after reset"
        await bench.masks.write(ctx, table["first_mask"].offset, 0b01000)
        await ctx.tick().repeat(2)
        assert (await shown("pending_windows"), ctx.get(line)) == (1, 1)
        await bench.near.write(ctx, TABLE["events"].offset, 0x20)
        await ctx.tick().repeat(2)
        assert ctx.get(line), "that was not the one that is enabled"
        await bench.near.write(ctx, TABLE["events"].offset, 0x40)
        await ctx.tick().repeat(2)
        assert not ctx.get(line)
        await bench.masks.write(ctx, table["second_mask"].offset, 1)
        ctx.set(bench.second.events.only, 1)
        await ctx.tick("other")
        ctx.set(bench.second.events.only, 0)
        await ctx.tick().repeat(6)
        assert (await shown("pending_windows"), ctx.get(line)) == (2, 1)

    bench.run(story)


@pytest.mark.parametrize("other", [1.3e-6, 0.31e-6, 2.7e-6])
def test_accesses_cross_clocks(other):
    """One after the other, each with its own answer, and with an error where there is one."""
    bench = Bench()

    async def story(ctx):
        ctx.set(bench.second.events.only, 1)
        for n in range(30):
            ctx.set(bench.second.events.only, n < 15)
            await ctx.tick("other").repeat(2)
            assert await bench.far.read(ctx, 0) == (8 if n <= 15 else 0, 0)
            assert await bench.far.read(ctx, 4) == (0, 1)
            assert await bench.far.write(ctx, 0, 8) == 0
            await ctx.tick().repeat(1 + n % 3)

    bench.run(story, other)
