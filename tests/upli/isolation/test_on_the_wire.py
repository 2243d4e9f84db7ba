"""Isolation of an Originator as its interface shows it (UALink_200 §3.1.3)."""

from collections import Counter

import pytest
from amaranth.hdl import Elaboratable, Module, Signal, Value
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from support.upli.pair import Pair, pack
from ualink.config import Credits, UPLIConfig
from ualink.upli.isolation.isolation import Isolation

READ, CMPTO, TAGS = 0x03, 0x8, 16
CREDITS = Credits(pool=4)
CONFIG = UPLIConfig(req=CREDITS, orig_data=CREDITS, rd_rsp=CREDITS, wr_rsp=CREDITS)


class Isolated(Elaboratable):
    """An ``Isolation`` before the Originator of a ``Pair``; ``drop`` puts this one into Drop Mode by itself."""

    def __init__(self):
        self.pair, self.isolation = Pair(CONFIG, 1), Isolation(1, TAGS, CREDITS.total)
        self.drop = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.pair, m.submodules.isolation = self.pair, self.isolation
        originator, agent = self.pair.originator, self.isolation.agent[0]
        for channel in ("req", "orig_data"):
            connect(m, getattr(agent, channel), getattr(originator, channel)[0])
        for channel in ("rd_rsp", "wr_rsp"):
            connect(m, getattr(originator, channel)[0], getattr(agent, channel))
        m.d.comb += originator.drop.eq(self.isolation.drop | self.drop)
        return m


class Requester:
    """A device that asks as long as it has a tag, and a Completer whose Read Responses for tag 3 never end."""

    def __init__(self, dut):
        self.dut, self.device = dut, dut.isolation.device[0]
        self.free, self.asks = list(range(TAGS)), True

    async def cycles(self, ctx, count) -> Counter:
        """What happened in ``count`` cycles.

        ``req``, ``rd_rsp``, ``credits``: beats and returned Credits of RdRsp on the interface; ``taken``: Requests that
        the device got rid of; ``answered``, ``dummied``: Responses to it, and those of them with Completion Timeout.
        """
        device, upli, seen = self.device, self.dut.pair.upli, Counter()
        ctx.set(device.rd_rsp.ready, 1)
        ctx.set(self.dut.pair.completer.req[0].ready, 1)
        for _ in range(count):
            ctx.set(device.req.valid, self.asks and bool(self.free))
            ctx.set(Value.cast(device.req.payload), pack("req", cmd=READ, tag=self.free[0] if self.free else 0))
            seen["req"] += ctx.get(upli.req.vld)
            seen["rd_rsp"] += ctx.get(upli.rd_rsp.vld)
            seen["credits"] += ctx.get(upli.rd_rsp.credit.vld)
            if ctx.get(device.req.valid & device.req.ready):
                self.free.pop(0)
                seen["taken"] += 1
            if ctx.get(device.rd_rsp.valid):
                seen["answered"] += 1
                seen["dummied"] += ctx.get(device.rd_rsp.payload.status) == CMPTO
                self.free.append(ctx.get(device.rd_rsp.payload.tag))
            await ctx.tick()
        return seen

    async def pulse(self, ctx, signal):
        """One cycle with ``signal`` high."""
        ctx.set(signal, 1)
        await self.cycles(ctx, 1)
        ctx.set(signal, 0)

    def respond(self, ctx):
        """From now on the Completer answers, with a tag that is outstanding as often as not."""
        stream = self.dut.pair.completer.rd_rsp[0]
        ctx.set(stream.valid, 1)
        ctx.set(Value.cast(stream.payload), pack("rd_rsp", tag=3, last=1))


@pytest.mark.req("RAS-068", "RAS-069", "RAS-071", "RAS-072")
def test_nothing_goes_out_nothing_comes_in_and_credits_go_on():
    """Requests of a device that never stops asking stay off the interface; Responses, more than there are credits for,
    are sent to it and not one gets through."""
    dut = Isolated()
    requester = Requester(dut)

    async def bench(ctx):
        assert (await requester.cycles(ctx, 60))["req"] == TAGS, "all tags are out and nobody answers"
        await requester.pulse(ctx, dut.isolation.control.enter)
        requester.respond(ctx)
        await requester.cycles(ctx, 4)
        seen = await requester.cycles(ctx, 300)
        assert seen["req"] == 0
        assert seen["answered"] == seen["dummied"] > 2 * TAGS
        assert seen["rd_rsp"] > 10 * CREDITS.total and seen["credits"] > 0

    _run(dut, bench)


@pytest.mark.req("RAS-062", "RAS-112")
def test_drop_mode_and_isolation_come_and_go_apart():
    """All four combinations. Drop Mode alone answers nobody; its Requests are remembered, their watchdogs expire."""
    dut = Isolated()
    requester, isolation = Requester(dut), dut.isolation
    control, status = isolation.control, isolation.status
    limit = 200

    async def bench(ctx):
        def modes():
            return ctx.get(dut.drop), ctx.get(status.isolated)

        async def drain():
            """The device asks nothing more until every tag has come back once; what happened until then."""
            requester.asks = False
            seen = await requester.cycles(ctx, 8 * TAGS)
            assert sorted(requester.free) == list(range(TAGS))
            assert not (await requester.cycles(ctx, 8 * TAGS))["answered"]
            return seen

        # Drop Mode alone: no watchdog runs without a limit, so nobody is answered.
        assert (await requester.cycles(ctx, 60))["req"] == TAGS
        ctx.set(dut.drop, 1)
        seen = await requester.cycles(ctx, 2 * limit)
        assert modes() == (1, 0) and not seen["answered"]

        # Both, by command: all that was outstanding gets its dummy.
        await requester.pulse(ctx, control.enter)
        seen = await requester.cycles(ctx, limit)
        assert modes() == (1, 1) and seen["req"] == 0 and seen["answered"] == seen["dummied"] >= TAGS
        assert ctx.get(status.cause.command) and not ctx.get(status.cause.time_out)

        # Isolation is left while Drop Mode goes on, which takes Requests and answers nobody until watchdogs expire.
        seen = await drain()
        assert seen["answered"] == seen["dummied"]
        await requester.pulse(ctx, control.clear)
        ctx.set(control.limit, limit)
        requester.asks = True
        seen = await requester.cycles(ctx, limit // 2)
        assert modes() == (1, 0)
        assert (seen["taken"], seen["req"], seen["answered"]) == (TAGS, 0, 0)
        seen = await requester.cycles(ctx, limit)
        assert modes() == (1, 1) and ctx.get(status.cause.time_out) and not ctx.get(status.cause.command)
        assert seen["req"] == 0 and seen["answered"] == seen["dummied"] > 0

        # Isolation alone, and the Completer sends.
        ctx.set(dut.drop, 0)
        requester.respond(ctx)
        await requester.cycles(ctx, 8)
        seen = await requester.cycles(ctx, limit)
        assert modes() == (0, 1) and seen["req"] == 0 and seen["answered"] == seen["dummied"] > TAGS
        assert seen["rd_rsp"] > 0 and seen["credits"] > 0

        # Neither: Requests go out again, and a Response gets through.
        await drain()
        ctx.set(control.limit, 0)
        await requester.pulse(ctx, control.clear)
        requester.asks = True
        seen = await requester.cycles(ctx, 60)
        assert modes() == (0, 0) and seen["req"] > 0 and seen["answered"] > 0 and not seen["dummied"]

    _run(dut, bench)


def _run(dut, bench):
    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
