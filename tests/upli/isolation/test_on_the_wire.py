"""Isolation of an Originator as its interface shows it (UALink_200 §3.1.3)."""

import pytest
from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from support.upli.pair import Pair, pack
from ualink.config import Credits, UPLIConfig
from ualink.upli.isolation.isolation import Isolation

READ, CMPTO, TAGS = 0x03, 0x8, 16
CREDITS = Credits(pool=4)
CONFIG = UPLIConfig(req=CREDITS, orig_data=CREDITS, rd_rsp=CREDITS, wr_rsp=CREDITS)


class Isolated(Elaboratable):
    """An ``Isolation`` before the Originator of a ``Pair``."""

    def __init__(self):
        self.pair, self.isolation = Pair(CONFIG, 1), Isolation(1, TAGS, CREDITS.total)

    def elaborate(self, platform):
        m = Module()
        m.submodules.pair, m.submodules.isolation = self.pair, self.isolation
        originator, agent = self.pair.originator, self.isolation.agent[0]
        for channel in ("req", "orig_data"):
            connect(m, getattr(agent, channel), getattr(originator, channel)[0])
        for channel in ("rd_rsp", "wr_rsp"):
            connect(m, getattr(originator, channel)[0], getattr(agent, channel))
        m.d.comb += originator.drop.eq(self.isolation.drop)
        return m


@pytest.mark.req("RAS-068", "RAS-069", "RAS-071", "RAS-072")
def test_nothing_goes_out_nothing_comes_in_and_credits_go_on():
    """Requests of a device that never stops asking stay off the interface; Responses, more than there are credits for,
    are sent to it and not one gets through."""
    dut = Isolated()
    device, upli = dut.isolation.device[0], dut.pair.upli
    completer = dut.pair.completer

    async def bench(ctx):
        asked = {"tag": 0}
        free = list(range(TAGS))

        async def cycles(count):
            seen = {"req": 0, "rd_rsp": 0, "credits": 0, "answers": []}
            for _ in range(count):
                if free:
                    asked["tag"] = free[0]
                ctx.set(device.req.valid, bool(free))
                ctx.set(Value.cast(device.req.payload), pack("req", cmd=READ, tag=asked["tag"]))
                ctx.set(device.rd_rsp.ready, 1)
                ctx.set(completer.req[0].ready, 1)
                seen["req"] += ctx.get(upli.req.vld)
                seen["rd_rsp"] += ctx.get(upli.rd_rsp.vld)
                seen["credits"] += ctx.get(upli.rd_rsp.credit.vld)
                if ctx.get(device.req.valid & device.req.ready):
                    free.pop(0)
                if ctx.get(device.rd_rsp.valid):
                    seen["answers"].append(ctx.get(device.rd_rsp.payload.status))
                    free.append(ctx.get(device.rd_rsp.payload.tag))
                await ctx.tick()
            return seen

        assert (await cycles(60))["req"] == TAGS, "all tags are out and nobody answers"
        ctx.set(dut.isolation.control.enter, 1)
        await cycles(1)
        ctx.set(dut.isolation.control.enter, 0)
        # The Completer answers now, with tags that are outstanding as often as not.
        ctx.set(completer.rd_rsp[0].valid, 1)
        ctx.set(Value.cast(completer.rd_rsp[0].payload), pack("rd_rsp", tag=3, last=1))
        await cycles(4)
        seen = await cycles(300)
        assert seen["req"] == 0
        assert len(seen["answers"]) > 2 * TAGS and set(seen["answers"]) == {CMPTO}
        assert seen["rd_rsp"] > 10 * CREDITS.total and seen["credits"] > 0

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
