"""Two sides that negotiate both channels with each other."""

import random
from collections import deque

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from ualink.dl.message.control_messages import ControlMessages
from ualink_sim.model.dl.messages import ChannelCommand, decode_message


@pytest.mark.req("DL-062", "DL-064", "DL-065", "DL-067", "DL-071", "DL-072")
@pytest.mark.parametrize("seed", range(3))
def test_two_sides(seed):
    """Two sides with random wishes and random delays settle on one state of both channels. No side has two Requests
    outstanding, nor answers decision pending while it has one."""
    rng = random.Random(seed)
    m = Module()
    m.submodules.a, m.submodules.b = sides = ControlMessages(), ControlMessages()

    async def bench(ctx):
        for dut in sides:
            ctx.set(dut.time_out_flits, 960)
            ctx.set(dut.slot_end, 1)
        wires = deque(), deque()
        outstanding = [set(), set()]

        def log(side, dword):
            message = decode_message(dword)
            if message.command == ChannelCommand.REQUEST:
                assert not outstanding[side]
                outstanding[side].add(message.target_state)

        async def cycle():
            for n, dut in enumerate(sides):
                ctx.set(dut.message.ready, rng.random() < 0.5)
                if ctx.get(dut.message.valid) and ctx.get(dut.message.ready):
                    dword = ctx.get(dut.message.p.dword)
                    log(n, dword)
                    wires[n].append(dword)
                heard = bool(wires[1 - n]) and rng.random() < 0.4
                ctx.set(dut.received.valid, heard)
                if heard:
                    dword = wires[1 - n].popleft()
                    ctx.set(dut.received.payload, dword)
                    message = decode_message(dword)
                    if message.command != ChannelCommand.REQUEST:
                        outstanding[n].discard(message.response)
                assert not ctx.get(dut.protocol_error)
                assert not ctx.get(dut.timed_out)
            await ctx.tick()

        for _ in range(8):
            for _ in range(rng.randrange(8)):
                for dut in sides:
                    ctx.set(dut.want_online_0, rng.randrange(2))
                    ctx.set(dut.want_online_4, rng.randrange(2))
                for _ in range(rng.randrange(30)):
                    await cycle()
            wish = {n: rng.randrange(2) for n in (0, 4)}
            for dut in sides:
                ctx.set(dut.want_online_0, wish[0])
                ctx.set(dut.want_online_4, wish[4])
            for _ in range(600):
                await cycle()
            for dut in sides:
                assert {0: ctx.get(dut.online_0), 4: ctx.get(dut.online_4)} == wish

    sim = Simulator(m)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
