"""The calendar and its check against the schedule of the standard."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from support.upli.pair import simulate
from ualink.config import ConfigError
from ualink.upli.calendar import Calendar, CalendarCheck, check_ports


@pytest.mark.parametrize("ports", [0, 3, 8, True, "4"])
def test_refuses_ports(ports):
    with pytest.raises(ConfigError, match=f"completer.ports is {ports!r}"):
        check_ports("completer", ports)


@pytest.mark.req("UPLI-084")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_slots(ports):
    dut = Calendar(ports)

    async def bench(ctx):
        for cycle in range(11):
            assert ctx.get(dut.slot) == cycle % ports
            if ports > 1:
                await ctx.tick()

    simulate(dut, bench, clock=ports > 1)


@pytest.mark.req("UPLI-080", "UPLI-085", "UPLI-087", "UPLI-090", "UPLI-091")
@pytest.mark.parametrize("ports", [2, 4])
def test_check(ports):
    """The first beat sets the phase whatever its port, unless there is none such; idle cycles count; every beat out of
    phase is reported."""
    rng = random.Random(ports)
    dut = CalendarCheck(ports)

    async def bench(ctx):
        absent = 0
        for first in range(ports):
            phase, port, in_slot = None, 0, False
            for cycle in range(60):
                vld = cycle >= 3 and rng.random() < 0.5
                if vld and phase is None and port != first:
                    # One of a port that does not exist sets nothing.
                    vld = port >= ports
                assert ctx.get(dut.locked) == (phase is not None)
                if vld and phase is None and port >= ports:
                    absent += 1
                elif vld and phase is None:
                    phase = first - cycle
                ctx.set(dut.vld, vld)
                ctx.set(dut.in_slot, in_slot)
                coming = rng.randrange(4)
                ctx.set(dut.coming_id, coming)
                assert ctx.get(dut.known) == (phase is not None)
                right = phase is not None and port == (cycle + phase) % ports
                assert ctx.get(dut.error) == (vld and not right)
                if phase is not None:
                    assert ctx.get(dut.slot) == (cycle + phase) % ports
                    assert ctx.get(dut.following) == (cycle + 1 + phase) % ports
                in_slot = ctx.get(dut.following) == coming
                await ctx.tick()
                port = coming
            assert phase is not None
            ctx.set(dut.vld, 0)
            await _reset(ctx)
        assert absent or ports == 4

    async def _reset(ctx):
        ctx.set(clear, 1)
        await ctx.tick()
        ctx.set(clear, 0)

    clear = Signal()
    simulate(ResetInserter(clear)(dut), bench)


@pytest.mark.req("UPLI-080")
@pytest.mark.parametrize("port", range(4))
def test_one_port(port):
    dut = CalendarCheck(1)

    async def bench(ctx):
        ctx.set(dut.vld, 1)
        ctx.set(dut.coming_id, port)
        ctx.set(dut.in_slot, port == ctx.get(dut.following))
        assert ctx.get(dut.error) == (port != 0)
        ctx.set(dut.vld, 0)
        assert not ctx.get(dut.error)

    simulate(dut, bench, clock=False)


class PhaseBench(wiring.Component):
    """Two beats, any, without an error have PortIDs as far apart as their cycles, modulo the ports."""

    vld: In(1)
    coming_id: In(2)
    remember: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.check = check = CalendarCheck(4)
        port_id, in_slot = Signal(2), Signal()
        m.d.sync += [port_id.eq(self.coming_id), in_slot.eq(self.coming_id == check.following)]
        m.d.comb += [
            check.vld.eq(self.vld),
            check.in_slot.eq(in_slot),
            check.coming_id.eq(self.coming_id),
            Assume(~check.error),
        ]
        remembered, port, since = Signal(), Signal(2), Signal(2)
        m.d.sync += since.eq(since + 1)
        with m.If(self.vld & self.remember & ~remembered):
            m.d.sync += [remembered.eq(1), port.eq(port_id), since.eq(1)]
        with m.If(remembered & self.vld):
            m.d.comb += Assert((port_id - port)[:2] == since)
        with m.If(remembered):
            m.d.comb += [Assert(check.known), Assert((check.slot - port)[:2] == since)]
        return m


@pytest.mark.req("UPLI-085", "UPLI-087", "UPLI-090")
def test_phase_always():
    prove(PhaseBench(), mode="prove", depth=4)
