"""Ingress containment: what goes on to the TL, and that nothing does after the first flit that may be wrong."""

import random

import pytest
from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from support.tl.flits import tl_flit, tl_flit_good
from ualink.dl.flit.containment import IngressContainment
from ualink.dl.interface import TL_FLIT_LAYOUT
from ualink.lib.parity import byte_parity, even_parity

FIELDS = ("data", "parity", "message", "error", "control_parity")


@pytest.mark.req("DL-179", "DL-181")
@pytest.mark.parametrize("field", [*FIELDS, "fault"])
def test_first_bad_flit_is_marked_and_the_last(field):
    dut = IngressContainment()
    rng = random.Random(field)

    async def bench(ctx):
        for bad_at in (0, 5):
            ctx.set(dut.received.valid, 1)
            for n in range(10):
                sent = tl_flit(rng.getrandbits(512), rng.getrandbits(2))
                if n == bad_at and field != "fault":
                    sent[field] ^= 1 << rng.randrange(TL_FLIT_LAYOUT[field].width)
                ctx.set(dut.received.p, sent)
                ctx.set(dut.received_message.valid, 1)
                ctx.set(dut.received_message.payload, n)
                ctx.set(dut.fault, n == bad_at and field == "fault")
                await ctx.tick()
                assert ctx.get(dut.message.valid) == (n < bad_at)
                assert ctx.get(dut.message.payload) == n
                assert ctx.get(dut.flit.valid) == (n <= bad_at)
                assert ctx.get(dut.containment) == (n >= bad_at) and ctx.get(dut.found) == (n == bad_at)
                flit = ctx.get(dut.flit.p)
                assert flit.error == (n == bad_at) or n > bad_at
                if n < bad_at:
                    assert (flit.data, flit.message) == (sent["data"], sent["message"]) and tl_flit_good(flit)
            ctx.set(dut.fault, 0)
            ctx.set(dut.received.valid, 0)
            ctx.set(dut.received_message.valid, 0)
            await ctx.tick().repeat(3)
            assert ctx.get(dut.containment)
            ctx.set(dut.flush, 1)
            await ctx.tick()
            ctx.set(dut.flush, 0)
            assert not ctx.get(dut.containment)

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-179", "DL-181")
@pytest.mark.parametrize("seed", range(3))
def test_errors_and_flush_in_neighbouring_cycles(seed):
    """Cycle by cycle: a flush drops what comes with it, an error found in the same cycle as well; without one nothing
    follows an error, neither TL flits nor messages."""
    dut = IngressContainment()
    rng = random.Random(seed)

    async def bench(ctx):
        stopped = False
        met = set()
        for n in range(600):
            valid, fault, flush = rng.random() < 0.7, rng.random() < 0.15, rng.random() < 0.2
            message = rng.random() < 0.5
            sent = tl_flit(rng.getrandbits(512), rng.getrandbits(2))
            spoilt = rng.random() < 0.15
            if spoilt:
                sent["data"] ^= 1 << rng.randrange(512)
            ctx.set(dut.received.valid, valid)
            ctx.set(dut.received.p, sent)
            ctx.set(dut.received_message.valid, message)
            ctx.set(dut.received_message.payload, n)
            ctx.set(dut.fault, fault)
            ctx.set(dut.flush, flush)
            bad = fault or (valid and spoilt)
            met.add((bad, flush, stopped))
            await ctx.tick()
            assert ctx.get(dut.flit.valid) == (valid and not stopped and not flush)
            assert ctx.get(dut.message.valid) == (message and not stopped and not bad and not flush)
            assert ctx.get(dut.found) == (bad and not stopped and not flush)
            stopped = (stopped or bad) and not flush
            assert ctx.get(dut.containment) == stopped
            if valid and stopped and ctx.get(dut.flit.valid):
                assert ctx.get(dut.flit.p.error)
        assert len(met) == 8

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


class AnyFlits(wiring.Component):
    """Containment under any TL flits and faults."""

    received: In(TL_FLIT_LAYOUT)
    valid: In(1)
    fault: In(1)
    flush: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = IngressContainment()
        m.d.comb += [
            dut.received.p.eq(self.received),
            dut.received.valid.eq(self.valid),
            dut.fault.eq(self.fault),
            dut.flush.eq(self.flush),
        ]
        spoilt = Signal()
        faulty = Signal()
        flit = dut.flit.p
        m.d.sync += faulty.eq(self.fault)
        with m.If(dut.containment):
            m.d.sync += spoilt.eq(1)
        with m.If(self.flush):
            m.d.sync += spoilt.eq(0)
        with m.If(spoilt):
            m.d.comb += [Assert(~dut.flit.valid), Assert(dut.containment)]
        with m.If(dut.flit.valid & ~flit.error):
            m.d.comb += [
                Assert(flit.parity == byte_parity(flit.data)),
                Assert(~even_parity(flit.message, flit.error, flit.control_parity)),
                Assert(~faulty),
            ]
        with m.If(dut.flit.valid & flit.error):
            m.d.comb += Assert(dut.found)
        m.d.comb += Assert(dut.containment == (spoilt | dut.found))
        return m


@pytest.mark.req("DL-179", "DL-181")
def test_nothing_bad_passes_unmarked_and_nothing_follows():
    prove(AnyFlits(), mode="prove", depth=3)
