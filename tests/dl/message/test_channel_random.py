"""A channel against the model, and two against each other, at random."""

import random
from collections import deque

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from support.dl.negotiation_bench import Side
from ualink.dl.message.channel import Channel, NegotiationState
from ualink_sim.model.dl.channel import ChannelControl
from ualink_sim.model.dl.messages import ChannelNegotiation, decode_message


@pytest.mark.req("DL-062", "DL-065", "DL-067", "DL-070", "DL-072", "DL-084", "DL-085")
@pytest.mark.parametrize("seed", range(4))
def test_against_the_model(seed):
    """The partner is the model; wishes change at random on both sides, and both states are one after each change."""
    rng = random.Random(seed)
    dut = Channel(0)

    async def bench(ctx):
        side, partner = Side(ctx, dut), ChannelControl()
        wire: deque[ChannelNegotiation] = deque()
        changes = 0
        for _ in range(400):
            if rng.random() < 0.1:
                ctx.set(dut.want_online, rng.randrange(2))
            partner.ready = rng.random() < 0.7
            channel = partner.channels[0]
            if rng.random() < 0.05 and channel.state.name == "IDLE":
                wire.append(channel.request(not channel.online))
            elif channel.state.name == "OWE" and rng.random() < 0.5:
                wire.append(channel.request(True))
            if wire and rng.random() < 0.5:
                await side.hear(wire.popleft().encode())
            for dword in await side.say(rng.randint(1, 3)):
                wire.extend(partner.receive(decode_message(dword)))
            idle = not wire and not ctx.get(dut.message.valid) and channel.state.name == "IDLE"
            if idle and ctx.get(dut.state) == NegotiationState.IDLE:
                assert partner.online(0) == bool(ctx.get(dut.online))
                changes += 1
        assert changes > 20

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-062", "DL-065", "DL-067", "DL-071", "DL-072")
@pytest.mark.parametrize("seed", range(4))
def test_two_sides(seed):
    """Two sides with random wishes and random delays settle on one state whenever their wishes agree."""
    rng = random.Random(seed)
    m = Module()
    m.submodules.a, m.submodules.b = sides = Channel(0), Channel(0)

    async def bench(ctx):
        for dut in sides:
            ctx.set(dut.time_out_flits, 0)
        wires = deque(), deque()

        async def cycle():
            for dut, outgoing, incoming in zip(sides, wires, wires[::-1]):
                ctx.set(dut.message.ready, rng.random() < 0.5)
                if ctx.get(dut.message.valid) and ctx.get(dut.message.ready):
                    outgoing.append(ctx.get(dut.message.payload))
                heard = bool(incoming) and rng.random() < 0.3
                ctx.set(dut.received.valid, heard)
                if heard:
                    ctx.set(dut.received.payload, incoming.popleft())
            await ctx.tick()

        for _ in range(25):
            for dut in sides:
                ctx.set(dut.want_online, rng.randrange(2))
            for _ in range(rng.randrange(40)):
                await cycle()
            wish = rng.randrange(2)
            for dut in sides:
                ctx.set(dut.want_online, wish)
            for _ in range(150):
                await cycle()
            assert [ctx.get(dut.online) for dut in sides] == [wish] * 2
            # A Request may still be owed and waited for, as long as neither wants to be online.
            states = sorted(ctx.get(dut.state).value for dut in sides)
            owed = [NegotiationState.OWING.value, NegotiationState.BLOCKED.value]
            assert states == [NegotiationState.IDLE.value] * 2 or (states == owed and not wish)

    sim = Simulator(m)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
