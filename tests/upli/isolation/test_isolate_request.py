"""The Write Response with status ISOLATE of an Accelerator's TL (UALink_200 §3.1.4.3)."""

import functools
import random

import pytest
from amaranth.hdl import Elaboratable, Module, Signal, Value
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

import ualink.dl.links
from support.few_buffers import FEW_BUFFERS
from support.shared_simulator import SharedSimulator
from support.upli.pair import field, pack
from test_station import OnlineLink
from ualink.config import Credits
from ualink.station import Station
from ualink.upli.calendar import Calendar
from ualink.upli.isolation.isolate_request import IsolateRequest
from ualink.upli.originator import Originator

ISOLATE = 0xF
ONE = pytest.mark.xdist_group("accelerator-1")
TIMES = 4
CONFIG = FEW_BUFFERS.replace(upli=FEW_BUFFERS.upli.replace(wr_rsp=Credits(vc=(TIMES - 2, 0, 0, 0))))


class Accelerator(Elaboratable):
    """A station behind the Originator of an accelerator; ``flip`` spoils the parity of what says that a Request is
    there."""

    def __init__(self, config):
        self.config = config
        self.station, self.originator = Station(config), Originator(config.upli, config.ports)
        self.flip = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.station, m.submodules.originator = self.station, self.originator
        m.submodules.calendar = calendar = Calendar(self.config.ports)
        m.d.comb += self.originator.slot.eq(calendar.slot)
        connect(m, self.originator.upli, self.station.upli_completer)
        m.d.comb += self.station.upli_completer.req.vld_parity.eq(self.originator.upli.req.vld_parity ^ self.flip)
        return m


class Told:
    """What the Originator of an ``Accelerator`` is told by Write Responses: the ports of those with ISOLATE."""

    def __init__(self, ctx, accelerator):
        self.ctx, self.accelerator, self.ports = ctx, accelerator, accelerator.config.ports
        self.upli, self.initialised, self.returned = accelerator.originator.upli, False, 0

    async def after(self, cycles):
        ctx, told, returned = self.ctx, [], 0
        for _ in range(cycles):
            for port, stream in enumerate(self.accelerator.originator.wr_rsp):
                ctx.set(stream.ready, 1)
                if ctx.get(stream.valid):
                    beat = ctx.get(Value.cast(stream.payload))
                    assert beat == pack("wr_rsp", status=ISOLATE, vc=field("wr_rsp", beat, "vc"))
                    told.append(port)
            assert not ctx.get(self.accelerator.originator.control_event)
            if self.initialised:
                # Nothing but ISOLATE goes over UPLI: no other credit comes home or is given a second time.
                for channel in (self.upli.req, self.upli.orig_data, self.upli.rd_rsp):
                    assert ctx.get(channel.credit.vld) == 0
                returned += ctx.get(self.upli.wr_rsp.credit.vld).bit_count()
            await ctx.tick()
        self.returned += returned
        return told

    async def clear(self):
        station = self.accelerator.station
        self.ctx.set(station.completer_control.clear_errors, 1)
        for level in (1, 0):
            for control in station.tl_control:
                self.ctx.set(control.clear_drop, level)
            assert await self.after(2 * self.ports) == []
        self.ctx.set(station.completer_control.clear_errors, 0)
        assert await self.after(12 * self.ports) == []


@functools.cache
def simulator(device, ports):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ualink.dl.links, "DataLink", OnlineLink)
        return SharedSimulator(Accelerator(CONFIG.replace(ports=ports, tl=CONFIG.tl.replace(device=device))))


def run(device, ports, bench):
    async def whole(ctx, accelerator):
        told = Told(ctx, accelerator)
        assert await told.after(40 * ports) == [], "links that come up are no reason"
        assert ctx.get(accelerator.originator.connected)
        told.initialised = True
        await bench(ctx, told, accelerator)

    simulator(device, ports).run(whole)


@pytest.mark.req("RAS-096", "UPLI-272", "UPLI-280", "RAS-104", "RST-047")
@pytest.mark.parametrize("ports", [pytest.param(1, marks=ONE), 2])
def test_one_for_each_time_that_links_go_down(ports):
    """On the port whose link it was, with a credit that comes home: more often than there are credits. Links of other
    ports that go down before Drop Mode is cleared ask for no other one."""

    async def bench(ctx, told, accelerator):
        station = accelerator.station
        for port in [n % ports for n in range(TIMES)]:
            ctx.set(station.rs.local_fault, 1 << port)
            assert await told.after(16 * ports) == [port]
            ctx.set(station.rs.local_fault, (1 << ports) - 1)
            assert await told.after(12 * ports) == []
            ctx.set(station.rs.local_fault, 0)
            assert await told.after(12 * ports) == []
            await told.clear()
            assert ctx.get(accelerator.originator.connected)
        assert told.returned == TIMES

    run("accelerator", ports, bench)


@pytest.mark.req("RAS-113", "UPLI-280", "UPLI-381")
def test_a_switch_sends_none():
    async def bench(ctx, told, accelerator):
        ctx.set(accelerator.station.rs.local_fault, 1)
        assert await told.after(40) == []
        assert ctx.get(accelerator.station.tl_status[0].dropping)

    run("switch", 1, bench)


@pytest.mark.req("RAS-113")
@ONE
@pytest.mark.parametrize("cause", ["control_error", "command"])
def test_drop_mode_without_a_link_down_sends_none(cause):
    """Not even when the link goes down because of it; one that goes down after a clear tells again."""

    async def bench(ctx, told, accelerator):
        station = accelerator.station
        what = accelerator.flip if cause == "control_error" else station.tl_control[0].enter_drop
        ctx.set(what, 1)
        assert await told.after(1) == []
        ctx.set(what, 0)
        assert await told.after(60) == []
        assert ctx.get(station.tl_status[0].drop_cause[cause])
        await told.clear()
        assert await told.after(40) == []
        ctx.set(station.rs.local_fault, 1)
        assert await told.after(40) == [0]

    run("accelerator", 1, bench)


@pytest.mark.req("RAS-096")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_between_the_write_responses_of_the_tl(ports):
    """Every Write Response of the TL passes unchanged, in order; ISOLATE comes in no cycle of theirs, has the VC of the
    last one, and takes the failed port if that has a place, else the next that has (ruling A-21 of RAS)."""
    dut, rng = IsolateRequest(ports), random.Random(ports)

    async def bench(ctx):
        slot, dropping, armed, told, owed, vc = 0, False, True, 0, None, 0
        beat, busy = None, [False] * ports
        for cycle in range(4000):
            if cycle % 97 == 0:
                busy = [rng.random() < 0.4 for _ in range(ports)]
                busy[rng.randrange(ports)] = False
            if beat is None and not dropping and rng.random() < 0.5:
                beat = pack("wr_rsp", tag=rng.getrandbits(11), vc=rng.randrange(4))
            down = armed and rng.random() < 0.05
            if down:
                dropping, armed, owed, refused = True, False, slot, False
            elif dropping and owed is None and slot == 0 and rng.random() < 0.1:
                dropping = False
            ctx.set(dut.slot, slot)
            ctx.set(dut.down, down)
            ctx.set(dut.dropping, dropping)
            ctx.set(dut.tl.valid, beat is not None)
            ctx.set(Value.cast(dut.tl.payload), beat or 0)
            ctx.set(dut.completer.ready, not busy[slot])
            out = ctx.get(dut.completer.valid), ctx.get(Value.cast(dut.completer.payload))
            if beat is not None:
                assert out == (1, beat)
                assert ctx.get(dut.tl.ready) == (not busy[slot])
                if not busy[slot]:
                    beat, vc = None, field("wr_rsp", beat, "vc")
            elif out[0]:
                assert owed is not None and not down
                assert out[1] == pack("wr_rsp", status=ISOLATE, vc=vc)
                assert slot == owed or refused
                if busy[slot]:
                    refused = True
                else:
                    told, owed = told + 1, None
            else:
                assert owed is None or down or (slot != owed and not refused)
            await ctx.tick()
            slot = (slot + 1) % ports
            # Told again only when every port has said that it does not drop.
            if not dropping and not armed and slot == 0:
                await quiet(ctx)
                armed = True
        assert told > 20

    async def quiet(ctx):
        ctx.set(dut.down, 0)
        ctx.set(dut.dropping, 0)
        ctx.set(dut.tl.valid, 0)
        for _ in range(2):
            for number in range(ports):
                ctx.set(dut.slot, number)
                assert not ctx.get(dut.completer.valid)
                await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
