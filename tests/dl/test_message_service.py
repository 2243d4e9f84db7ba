"""The register in which the next DL message waits for the packer: order of messages and TL flits, no lost segment."""

import pytest
from amaranth.sim import Simulator

from ualink.config import DLConfig
from ualink.dl.message.channel import CHANNEL_MESSAGE_LAYOUT, ChannelCommand
from ualink.dl.message.format import ControlType, MessageClass
from ualink.dl.message_service import MessageService


def negotiation(command, **members):
    """A Control message of channel 0, for it to go online."""
    online = {"channel": 0, "online": 1}
    return CHANNEL_MESSAGE_LAYOUT.const(
        {
            "mclass": MessageClass.CONTROL.value,
            "mtype": ControlType.CHANNEL_NEGOTIATION.value,
            "command": command.value,
            **dict.fromkeys(members or ("target", "response"), online),
        }
    ).as_bits()


@pytest.mark.req("DL-067")
@pytest.mark.parametrize("wait", range(6))
def test_tl_flits_do_not_overtake_the_confirming_ack(wait):
    """It leaves the queue of its channel ``wait`` cycles before the packer takes it, or more; flits go after that."""
    dut = MessageService(DLConfig())

    async def take(ctx):
        while not ctx.get(dut.message.valid):
            assert not ctx.get(dut.transmit)
            await ctx.tick()
        for _ in range(wait):
            assert ctx.get(dut.message.valid) and not ctx.get(dut.transmit)
            await ctx.tick()
        ctx.set(dut.message.ready, 1)
        payload = ctx.get(dut.message.payload)
        assert not ctx.get(dut.transmit)
        await ctx.tick()
        ctx.set(dut.message.ready, 0)
        return payload

    async def bench(ctx):
        assert await take(ctx) == negotiation(ChannelCommand.REQUEST, target=1)
        ctx.set(dut.received.valid, 1)
        ctx.set(dut.received.payload, negotiation(ChannelCommand.ACK))
        await ctx.tick()
        ctx.set(dut.received.valid, 0)
        assert await take(ctx) == negotiation(ChannelCommand.ACK)
        assert ctx.get(dut.transmit) and ctx.get(dut.receive)

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-067")
def test_flush_drops_the_message_that_waits():
    dut = MessageService(DLConfig())

    async def bench(ctx):
        while not ctx.get(dut.message.valid):
            await ctx.tick()
        ctx.set(dut.flush, 1)
        await ctx.tick()
        for _ in range(5):
            assert not ctx.get(dut.message.valid)
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
