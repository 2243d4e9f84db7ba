"""The registers of a reconciliation sublayer whose PCS is outside."""

from amaranth.sim import Simulator

from support.csr.master import Master
from ualink.config import PhyConfig
from ualink.phy.register_map import phy_registers
from ualink.phy.rs_registers import RSRegisterBlock


def test_status_events_counters_and_rate():
    dut = RSRegisterBlock(PhyConfig(rates=(200, 400)), port=1)
    table, master = dut.registers, Master(dut.bus)

    async def story(ctx):
        async def read(name):
            return (await master.read(ctx, table[name].offset))[0]

        ctx.set(dut.rs.sent_data, 1)
        for n in range(20):
            # A pulse lasts from one cycle of the port to the next; it counts once.
            ctx.set(dut.here, n % 2)
            await ctx.tick()
        ctx.set(dut.rs.sent_data, 0)
        await master.write(ctx, table["snapshot"].offset, 1)
        assert await read("sent_data") == 10
        ctx.set(dut.rs.link_fault, 2)
        assert await read("status") == 2 << 4
        assert await read("events") == 0b100 == ctx.get(dut.pending) << 1
        await master.write(ctx, table["events"].offset, 0b100)
        assert await read("events") == 0, "it began once"
        wanted = table["rate"]["wanted"]
        other = next(value for value in wanted.allowed if value != wanted.reset)
        assert await master.write(ctx, table["rate"].offset, 3 if 3 not in wanted.allowed else 0) == 1
        assert await read("events") == 1
        await master.write(ctx, table["rate"].offset, other)
        assert ctx.get(dut.rate).value == wanted.reset, "the link is up"
        ctx.set(dut.link_down, 1)
        await ctx.tick()
        assert ctx.get(dut.rate).value == other

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(story)
    simulator.run()


def test_registers_stand_where_those_of_a_board_do():
    config = PhyConfig(rates=(200, 400))
    board = {register.name: register for register in phy_registers(config, 1, 1_000_000)}
    for register in RSRegisterBlock(config).registers:
        assert register.offset == board[register.name].offset
        for field in register.fields:
            assert field.bits == board[register.name][field.name].bits
