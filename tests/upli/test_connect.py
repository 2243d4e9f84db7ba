"""The connection handshake: three orders, earliest cycles, nothing taken back."""

import itertools

import pytest
from amaranth.hdl import Module, ResetInserter, Signal

from support.upli.pair import simulate
from ualink.upli.connect import Connect


class Sides:
    """Two handshakes against each other, seen as the four control signals; ``…_ack_late``: cycles by which a side sees
    the other's request late, so that its acknowledge is late, as it may be (UALink_200 §4.3)."""

    def __init__(self, orig_ack_late=0, comp_ack_late=0):
        self.originator, self.completer = Connect(), Connect()
        self.reset = Signal()
        m = Module()
        m.submodules.originator = ResetInserter(self.reset)(self.originator)
        m.submodules.completer = ResetInserter(self.reset)(self.completer)
        for own, peer, late in (
            (self.originator, self.completer, comp_ack_late),
            (self.completer, self.originator, orig_ack_late),
        ):
            request = own.clk_req
            for n in range(late):
                later = Signal(name=f"late_{n}")
                m.d.sync += later.eq(request & ~self.reset)
                request = later
            m.d.comb += [peer.peer_clk_req.eq(request & own.clk_req), peer.peer_clk_ack.eq(own.clk_ack)]
        self.module = m

    def signals(self, ctx):
        """OrigClkReq, CompClkAck, CompClkReq, OrigClkAck."""
        o, c = self.originator, self.completer
        return tuple(ctx.get(s) for s in (o.clk_req, c.clk_ack, c.clk_req, o.clk_ack))


ORDERS = {
    # Cycles from which OrigClkReq, CompClkReq may rise, and by which CompClkAck is late; where OrigClkReq, CompClkAck,
    # CompClkReq, OrigClkAck are first high.
    "figure 4-2": (0, 5, 0, (1, 2, 6, 7)),
    "figure 4-3": (4, 0, 0, (5, 6, 1, 2)),
    # CompClkReq, OrigClkReq, OrigClkAck, CompClkAck.
    "figure 4-4": (1, 0, 2, (2, 5, 1, 3)),
    "same cycle": (0, 0, 0, (1, 2, 1, 2)),
    "one after the other": (0, 1, 0, (1, 2, 2, 3)),
}


@pytest.mark.req("RST-014", "RST-021", "RST-024", "RST-025", "RST-026", "RST-032", "RST-033", "RST-040", "RST-042")
@pytest.mark.req("RST-043", "RST-044", "RST-045", "RST-010", "RST-011", "RST-015")
@pytest.mark.parametrize("order", ORDERS)
def test_orders(order):
    """Each acknowledge opens its direction for credits from that cycle on, both together let beats go."""
    originator_from, completer_from, ack_late, expected = ORDERS[order]
    if order == "figure 4-4":
        orig_clk_req, comp_clk_ack, comp_clk_req, orig_clk_ack = expected
        assert comp_clk_req < orig_clk_req < orig_clk_ack < comp_clk_ack
    sides = Sides(orig_ack_late=1 if order == "figure 4-4" else 0, comp_ack_late=ack_late)

    async def bench(ctx):
        o, c = sides.originator, sides.completer
        for _ in range(2):
            for cycle in range(10):
                ctx.set(o.start, cycle >= originator_from)
                ctx.set(c.start, cycle >= completer_from)
                signals = sides.signals(ctx)
                assert signals == tuple(cycle >= first for first in expected), cycle
                o2c, c2o = signals[0] and signals[1], signals[2] and signals[3]
                # The Originator's credits start at CompClkAck, the Completer's at OrigClkAck, beats at the later one.
                assert ctx.get(o.outbound_open) == o2c
                assert ctx.get(c.outbound_open) == c2o
                assert (ctx.get(o.inbound_open), ctx.get(c.inbound_open)) == (signals[3], signals[1])
                assert ctx.get(o.connected) == ctx.get(c.connected) == (o2c and c2o)
                assert not ctx.get(o.protocol_error) and not ctx.get(c.protocol_error)
                await ctx.tick()
            ctx.set(sides.reset, 1)
            await ctx.tick()
            assert not any(sides.signals(ctx))
            await ctx.tick().repeat(2)
            assert not any(sides.signals(ctx))
            ctx.set(sides.reset, 0)

    simulate(sides.module, bench)


@pytest.mark.req("RST-042")
def test_nothing_is_taken_back():
    """Once asked and acknowledged, a side stays connected and reports a partner that is not."""
    dut = Connect()

    async def bench(ctx):
        await ctx.tick()
        ctx.set(dut.start, 0)
        assert ctx.get(dut.clk_req)
        # An acknowledge and a request in the same cycle, however early, are understood.
        ctx.set(dut.peer_clk_ack, 1)
        ctx.set(dut.peer_clk_req, 1)
        assert (ctx.get(dut.outbound_open), ctx.get(dut.connected)) == (1, 0)
        await ctx.tick()
        assert ctx.get(dut.connected)
        for ack, req in itertools.product((0, 1), repeat=2):
            ctx.set(dut.peer_clk_ack, ack)
            ctx.set(dut.peer_clk_req, req)
            assert ctx.get(dut.protocol_error) == (not (ack and req))
            await ctx.tick()
            assert ctx.get(dut.clk_req) and ctx.get(dut.clk_ack) and ctx.get(dut.connected)

    simulate(dut, bench)


@pytest.mark.req("RST-044")
def test_waits_for_nobody():
    """A side asks without the partner, and does not open without its acknowledge."""
    dut = Connect()

    async def bench(ctx):
        assert not ctx.get(dut.clk_req)
        for _ in range(20):
            await ctx.tick()
            assert ctx.get(dut.clk_req) and not ctx.get(dut.clk_ack)
            assert not ctx.get(dut.outbound_open) and not ctx.get(dut.inbound_open)

    simulate(dut, bench)
