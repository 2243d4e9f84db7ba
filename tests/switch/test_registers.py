"""Blocks of registers of a switch: route tables and deny logs as firmware sees them."""

import pytest
from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from support.csr.master import Master
from support.upsets import collect
from ualink.config import StationConfig, SwitchConfig
from ualink.switch.deny_log import DeniedKind, DenyLog
from ualink.switch.registers.core_block import CoreRegisterBlock
from ualink.switch.registers.route_block import RouteRegisterBlock
from ualink.switch.route_table import RouteTable

CONFIG = SwitchConfig(stations=2, route_entries=32, station=StationConfig(ports=2))


class Tables(Elaboratable):
    """The registers of a route table, and the table; those of the other station lead nowhere."""

    def __init__(self):
        self.block, self.table = RouteRegisterBlock(CONFIG), RouteTable(CONFIG)
        self.master = Master(self.block.bus)

    def elaborate(self, platform):
        m = Module()
        m.submodules.block, m.submodules.table = self.block, self.table
        route, inner = self.block.route, self.table.config
        m.d.comb += [
            inner.index.eq(route.index),
            inner.write.eq(route.write & (self.block.route_station == 0)),
            inner.write_data.eq(route.write_data),
            route.ready.eq(inner.ready),
            route.read_data.eq(inner.read_data),
            route.read_wrong.eq(inner.read_wrong),
        ]
        return m


class Logs(Elaboratable):
    """The registers of the core at a station of two ports, and the deny log of each port."""

    def __init__(self):
        self.block = CoreRegisterBlock(2, 4)
        self.logs = [DenyLog(4) for _ in range(2)]
        self.master = Master(self.block.bus)

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = self.block
        for port, log in enumerate(self.logs):
            m.submodules[f"log_{port}"] = log
            connect(m, log.status, self.block.deny[port])
        return m

    def at(self, register):
        return self.block.registers[register].offset


def simulate(dut, story):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(story)
    simulator.run()


def test_entries_are_written_whole_and_read_in_the_next_access():
    dut = Tables()
    at = {register.name: register.offset for register in dut.block.registers}

    async def story(ctx):
        async def entry():
            return (await dut.master.read(ctx, at["route_entry"]))[0]

        # A write waits for the sweep after reset.
        assert await dut.master.write(ctx, at["route_select"], 0) == 0
        assert await dut.master.write(ctx, at["route_write"], 1 << 16 | 1 << 8 | 1) == 0
        assert (await dut.master.read(ctx, at["route_status"]))[0] == 0
        assert await entry() == 0xF0, "denied until ready"
        while not (await dut.master.read(ctx, at["route_status"]))[0]:
            pass
        assert (await dut.master.read(ctx, at["route_write"]))[0] == 1 << 16 | 1 << 8
        assert await entry() == 1 << 16 | 1 << 8
        for index in range(8):
            assert await dut.master.write(ctx, at["route_select"], index) == 0
            assert await entry() == (1 << 16 | 1 << 8 if index == 0 else 0xF0)
            assert await dut.master.write(ctx, at["route_write"], index % 2 << 16 | index << 4 | 1) == 0
            assert await entry() == index % 2 << 16 | index << 4
        for index in range(8):
            await dut.master.write(ctx, at["route_select"], index)
            assert await entry() == index % 2 << 16 | index << 4
        # Without start nothing is written; what is refused is not written either.
        assert await dut.master.write(ctx, at["route_write"], 0) == 0
        assert await entry() == 1 << 16 | 7 << 4
        for word in (2 << 16 | 1, 2 << 8 | 1):
            assert await dut.master.write(ctx, at["route_write"], word) == 1
        for word in (32, 2 << 16):
            assert await dut.master.write(ctx, at["route_select"], word) == 1
        assert await entry() == 1 << 16 | 7 << 4

    simulate(dut, story)


@pytest.mark.req("RAS-014")
def test_an_entry_that_is_upset_is_read_as_such_until_it_is_written_again():
    dut = Tables()
    at = {register.name: register.offset for register in dut.block.registers}
    design, _, memories = collect(dut)
    rows = next(place.rows for place in memories if place.path[-1] == "table_config")

    async def story(ctx):
        async def entry():
            return (await dut.master.read(ctx, at["route_entry"]))[0]

        while not (await dut.master.read(ctx, at["route_status"]))[0]:
            pass
        await dut.master.write(ctx, at["route_select"], 5)
        assert await entry() == 0xF0
        row = Value.cast(rows[5])
        ctx.set(row, ctx.get(row) ^ 1 << 4)
        assert await entry() == 1 << 31 | 1 << 16 | 0xF0
        await dut.master.write(ctx, at["route_select"], 4)
        assert await entry() == 0xF0
        await dut.master.write(ctx, at["route_select"], 5)
        await dut.master.write(ctx, at["route_write"], 1 << 16 | 1)
        assert await entry() == 1 << 16

    simulate(design, story)


def test_the_first_denied_item_is_an_event_and_no_clear_loses_one():
    dut = Logs()

    async def story(ctx):
        async def deny(port, kind=DeniedKind.REQUEST, cycles=1):
            denied = dut.logs[port].denied[kind.value]
            ctx.set(denied.src_phys_acc_id, 3)
            ctx.set(denied.dst_phys_acc_id, 1000)
            ctx.set(denied.valid, 1)
            await ctx.tick().repeat(cycles)
            ctx.set(denied.valid, 0)

        async def read(register):
            return (await dut.master.read(ctx, dut.at(register)))[0]

        await deny(1, DeniedKind.WRITE_RESPONSE)
        assert [await read(f"denied_{port}") for port in range(2)] == [0, 1]
        assert await read("last_denied_1") == 2 << 28 | 1000 << 16 | 3
        assert await read("denied_events") == 0b10
        await dut.master.write(ctx, dut.at("denied_events"), 0b10)
        await deny(1, cycles=20)
        assert await read("denied_1") == 15, "it stays at its largest value"
        assert await read("denied_events") == 0, "these are not the first"
        # While an item is denied in every cycle, the one in the cycle of `clear` is the first.
        denied = dut.logs[1].denied[0]
        ctx.set(denied.valid, 1)
        await dut.master.write(ctx, dut.at("deny_clear_1"), 1)
        await ctx.tick().repeat(3)
        ctx.set(denied.valid, 0)
        assert 1 <= await read("denied_1") <= 4
        assert await read("denied_events") == 0b10
        await dut.master.write(ctx, dut.at("denied_events"), 0b11)
        await dut.master.write(ctx, dut.at("deny_clear_1"), 1)
        while await read("deny_clear_1"):
            pass
        assert [await read(f"denied_{port}") for port in range(2)] == [0, 0]
        assert await read("denied_events") == 0

    simulate(dut, story)


def test_agents_of_the_core_are_shown_and_cleared_apart():
    dut = CoreRegisterBlock(1, 4)
    master = Master(dut.bus)
    at = {register.name: register.offset for register in dut.registers}

    async def story(ctx):
        pulses = {"ingress_clear": 0, "egress_clear": 0, "ingress": 0, "egress": 0}

        async def write(register, word):
            assert await master.write(ctx, at[register], word) == 0
            for _ in range(4):
                for agent in ("ingress", "egress"):
                    pulses[f"{agent}_clear"] += ctx.get(getattr(dut, f"{agent}_clear"))
                    pulses[agent] += ctx.get(getattr(dut, f"{agent}_control").clear_errors)
                await ctx.tick()

        for agent in ("ingress", "egress"):
            status = getattr(dut, f"{agent}_status")
            for bit, kind in enumerate(("data", "control", "protocol"), 1):
                ctx.set(getattr(status, f"{kind}_error"), 1)
                ctx.set(getattr(status, f"{kind}_event"), 1)
                await ctx.tick()
                ctx.set(getattr(status, f"{kind}_event"), 0)
                assert await master.read(ctx, at[f"{agent}_status"]) == (1 << bit, 0)
                assert await master.read(ctx, at[f"{agent}_events"]) == (1 << bit, 0)
                ctx.set(getattr(status, f"{kind}_error"), 0)
                await write(f"{agent}_events", 1 << bit)
            ctx.set(getattr(dut, f"{agent}_dropping"), 1)
            await ctx.tick()
            assert await master.read(ctx, at[f"{agent}_status"]) == (16, 0)
            await write(f"{agent}_events", 16)
            assert await master.read(ctx, at[f"{agent}_events"]) == (0, 0), "it began once"
            # Who is in Drop Mode after it was cleared has entered it anew.
            await write(f"{agent}_clear_drop", 1)
            assert await master.read(ctx, at[f"{agent}_events"]) == (16, 0)
            await write(f"{agent}_events", 16)
            assert await master.read(ctx, at[f"{agent}_events"]) == (0, 0)
            await write(f"{agent}_clear", 1)
            ctx.set(getattr(dut, f"{agent}_dropping"), 0)
        assert pulses == dict.fromkeys(pulses, 1)

    simulate(dut, story)
