"""What the receiver tells the stages and the transmitter of its session: never more than is so, whatever comes."""

import functools

import pytest
from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from support.tl.flits import tl_flit
from support.tl.illegal import control, flow, read
from support.tl.receive import CACHE, OPENS, RECEIVE
from ualink.config import Credits, TLConfig
from ualink.tl.receive.error import ReceiveError
from ualink.tl.receive.top import Receive
from ualink.tl.session.receive_session import ReceiveSession

pytestmark = RECEIVE

CONFIG = TLConfig(
    rx_cache=CACHE,
    req_cmd=Credits(pool=4),
    rsp_cmd=Credits(pool=4),
    req_data=Credits(pool=8),
    rsp_data=Credits(pool=8),
)
CLEARED = CACHE.rows + 1
"""Cycles after reset until the Rx Address Cache is cleared."""


class SessionBench(wiring.Component):
    """The link, Drop Mode and what is left of before come and go at will; the cache is cleared once, whenever."""

    online: In(1)
    discard: In(1)
    occupied: In(1)
    cleared: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = ReceiveSession()
        ready, given, was_ready, flushed = Signal(), Signal(), Signal(), Signal(init=1)
        m.d.sync += [ready.eq(ready | self.cleared), was_ready.eq(ready), flushed.eq(dut.flush)]
        m.d.comb += [
            dut.online.eq(self.online),
            dut.discard.eq(self.discard),
            dut.occupied.eq(self.occupied),
            dut.ready.eq(ready),
            Assert(~dut.buffers_free | (ready & ~dut.flush), "credits go into a session that begins"),
            # It comes with the session, or with the second cycle of ``ready``, and goes with the session.
            Assert(dut.buffers_free == (was_ready & ~dut.flush)),
            Assert(dut.running == ~dut.flush),
        ]
        # ``announced`` is about the flit in the stage that checks: credits were given since its session began.
        with m.If(~dut.checking):
            m.d.sync += given.eq(0)
        with m.Elif(dut.buffers_free):
            m.d.sync += given.eq(1)
        m.d.comb += Assert(dut.announced == (given | dut.buffers_free))
        return m


@pytest.mark.req("TL-221")
def test_credits_are_given_only_while_a_session_runs_with_a_cleared_cache():
    prove(SessionBench(), depth=6)


class Starts:
    """One receiver and its simulator, reset for every run."""

    def __init__(self):
        self.dut, self.used = Receive(CONFIG), False
        self.simulator = Simulator(self.dut)
        self.simulator.add_clock(1e-9)
        self.simulator.add_testbench(self.drive)

    def run(self, rise, falls, request):
        self.rise, self.falls, self.request, self.seen = rise, falls, request, []
        if self.used:
            self.simulator.reset()
        self.used = True
        self.simulator.run()
        return self.seen

    async def drive(self, ctx):
        dut, flit = self.dut, flow(control((0, read())))
        for cycle in range(CLEARED + 16):
            ctx.set(dut.online, int(cycle >= self.rise and cycle not in self.falls))
            ctx.set(dut.rx_flit.valid, int(cycle == self.request))
            if cycle == self.request:
                ctx.set(dut.rx_flit.payload, tl_flit(int.from_bytes(flit[0], "little"), *flit[1:]))
            self.seen.append((ctx.get(dut.status.buffers_free), ReceiveError(ctx.get(dut.error))))
            await ctx.tick()


starts = functools.cache(Starts)


def first_credits(rise, falls=(), request=None):
    """A receiver after reset: the link comes up in cycle ``rise`` and is down in those of ``falls``; a Request comes in
    cycle ``request``. Gives (buffers_free, error) of each cycle."""
    return starts().run(rise, falls, request)


@pytest.mark.req("TL-221", "TL-039")
@pytest.mark.parametrize("rise", range(CLEARED - 7, CLEARED + 3))
def test_the_cache_is_cleared_in_each_cycle_of_a_session_that_begins(rise):
    """Once free they stay so, from the cycle in which both are there."""
    free = [level for level, _ in first_credits(rise)]
    opens = max(rise + OPENS, CLEARED + 1)
    assert free == [0] * opens + [1] * (len(free) - opens)


@pytest.mark.req("TL-221")
@pytest.mark.parametrize("fall", range(CLEARED - 5, CLEARED + 6))
def test_the_link_falls_in_each_cycle_around_the_end_of_the_clearing(fall):
    """No credit leaves in the cycle after it fell, and not before the next session has opened."""
    free = [level for level, _ in first_credits(0, {fall})]
    opens = max(CLEARED + 1, OPENS)
    expected = [cycle >= opens and not fall < cycle < fall + 1 + OPENS for cycle in range(len(free))]
    assert free == [int(level) for level in expected]


@pytest.mark.req("TL-221", "TL-150", "TL-220")
@pytest.mark.parametrize("late", range(-4, 4))
def test_a_request_is_believed_from_the_first_credit_on(late):
    """It is checked two cycles after it came: an error while no credit has been given, and none from then on."""
    opens = CLEARED + 1
    seen = first_credits(0, request=opens - 2 + late)
    errors = {error for _, error in seen} - {ReceiveError.NONE}
    assert errors == ({ReceiveError.REQ_CMD_CREDIT} if late < 0 else set())
