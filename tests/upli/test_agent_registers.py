"""The registers of the UPLI agents of a station."""

from itertools import product

import pytest
from amaranth.sim import Simulator

from support.csr.master import Master
from ualink.upli.agent_registers import AGENT_REGISTERS, AGENTS, AgentRegisterBlock

ERRORS = ("data_error", "control_error", "protocol_error")


def run(story):
    block = AgentRegisterBlock()
    master = Master(block.bus)

    async def get(ctx, register, field):
        word, error = await master.read(ctx, AGENT_REGISTERS[register].offset)
        assert not error
        return word >> AGENT_REGISTERS[register][field].low & 1

    async def testbench(ctx):
        await story(ctx, block, master, get)

    simulator = Simulator(block)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def test_status_is_that_of_the_agent():
    async def story(ctx, block, master, get):
        for agent, name in product(AGENTS, ("connected", *ERRORS)):
            ctx.set(getattr(block, f"{agent}_{name}"), 1)
            for other, shown in product(AGENTS, ("connected", *ERRORS)):
                assert await get(ctx, f"{other}_status", shown) == ((other, shown) == (agent, name))
            ctx.set(getattr(block, f"{agent}_{name}"), 0)

    run(story)


@pytest.mark.req("RAS-110")
def test_every_error_is_an_event():
    async def story(ctx, block, master, get):
        for agent, name in product(AGENTS, ERRORS):
            await one(ctx, block, master, get, agent, name)

    async def one(ctx, block, master, get, agent, name):
        event = getattr(block, f"{agent}_{name.replace('error', 'event')}")
        register = f"{agent}_events"
        ctx.set(getattr(block, f"{agent}_{name}"), 1)
        for _ in range(2):
            assert not await get(ctx, register, name)
            ctx.set(event, 1)
            await ctx.tick()
            ctx.set(event, 0)
            for other, shown in product(AGENTS, ERRORS):
                assert await get(ctx, f"{other}_events", shown) == ((other, shown) == (agent, name))
            mask = 1 << AGENT_REGISTERS[register][name].low
            assert not await master.write(ctx, AGENT_REGISTERS[register].offset, mask)

    run(story)


@pytest.mark.parametrize("agent", AGENTS)
def test_clear_is_a_pulse(agent):
    async def story(ctx, block, master, get):
        assert not await master.write(ctx, AGENT_REGISTERS[f"{agent}_clear"].offset, 1)
        high = {other: 0 for other in AGENTS}
        for _ in range(6):
            for other in AGENTS:
                high[other] += ctx.get(getattr(block, f"{other}_clear_errors"))
            await ctx.tick()
        assert high == {other: int(other == agent) for other in AGENTS}
        assert not await get(ctx, f"{agent}_clear", "start")

    run(story)
