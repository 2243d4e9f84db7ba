"""The bit-error test on two boards that are linked, through its registers."""

import pytest
from amaranth.hdl import ClockDomain, DomainRenamer, Module
from amaranth.lib.wiring import connect, flipped
from amaranth.sim import Simulator

from support.csr.master import Master
from ualink_boards.designs.bert_lane import BertLane
from ualink_sim.serdes_cable import LOCK_WORDS, LOSS_WORDS, SerdesCable

WIDTH = 10
SYNC, WORD = 4.1e-9, 4e-9
READY, LOCKED = 1 << 3, 1 << 4


def run(bench, ppm=100):
    module = Module()
    cable = SerdesCable(1, WIDTH)
    module.submodules.cable = cable
    module.domains += [ClockDomain("a_rx0"), ClockDomain("b_rx0")]
    masters = {}
    offsets = {}
    for end in ("a", "b"):
        lane = BertLane(0, width=WIDTH, line_rate=2_500_000_000, clock_hz=100_000)
        names = {"sync": f"{end}_sync", "tx0": f"{end}_tx0", "rx0": f"{end}_rx0"}
        module.submodules[f"bert_{end}"] = DomainRenamer(names)(lane)
        connect(module, lane.serdes, getattr(cable, end)[0])
        connect(module, lane.lane_status, flipped(flipped(getattr(cable, f"{end}_status")[0])))
        masters[end] = DomainMaster(lane.bus, f"{end}_sync")
        offsets = {register.name: register.offset for register in lane.registers}
    simulator = Simulator(module)
    simulator.add_clock(SYNC, domain="a_sync")
    simulator.add_clock(SYNC * 1.01, domain="b_sync")
    simulator.add_clock(WORD, domain="a_tx0")
    simulator.add_clock(WORD * (1 + ppm * 1e-6), domain="b_tx0")

    async def started(ctx):
        await ctx.tick("a_tx0").repeat(LOCK_WORDS + 100)
        await bench(ctx, masters["a"], masters["b"], offsets, cable)

    simulator.add_testbench(started)
    simulator.run()


class DomainMaster(Master):
    """Of a bus in another domain than ``sync``."""

    def __init__(self, bus, domain):
        super().__init__(bus)
        self.domain = domain

    async def _access(self, ctx, *access):
        return await super()._access(_Ticking(ctx, self.domain), *access)


class _Ticking:
    def __init__(self, ctx, domain):
        self._ctx, self._domain = ctx, domain
        self.set, self.get = ctx.set, ctx.get

    def tick(self):
        return self._ctx.tick(self._domain)


def test_lanes_lock_and_injected_errors_are_counted_at_the_other_end():
    async def bench(ctx, a, b, at, cable):
        for end in (a, b):
            assert (await end.read(ctx, at["status"]))[0] & 0x1F == 0x1F
            assert (await end.read(ctx, at["errors"]))[0] == 0
        for _ in range(3):
            await a.write(ctx, at["inject"], 1)
            await ctx.tick("a_tx0").repeat(40)
        assert (await b.read(ctx, at["errors"]))[0] == 3
        assert (await b.read(ctx, at["events"]))[0] == 4
        assert (await a.read(ctx, at["errors"]))[0] == 0
        await b.write(ctx, at["control"], 1 << 13)
        await b.write(ctx, at["control"], 0)
        await ctx.tick("a_tx0").repeat(30)
        assert (await b.read(ctx, at["errors"]))[0] == 0

    run(bench)


def test_cable_is_pulled_and_plugged_in_again():
    async def bench(ctx, a, b, at, cable):
        ctx.set(cable.to_b[0].cut, 1)
        await ctx.tick("a_tx0").repeat(LOSS_WORDS + 30)
        status = (await b.read(ctx, at["status"]))[0]
        assert not status & (READY | LOCKED)
        ctx.set(cable.to_b[0].cut, 0)
        await ctx.tick("a_tx0").repeat(LOCK_WORDS + 100)
        assert (await b.read(ctx, at["status"]))[0] & 0x1F == 0x1F
        assert (await b.read(ctx, at["events"]))[0] & 3 == 3

    run(bench)


@pytest.mark.parametrize("loopback", (1, 2))
def test_loopback_is_set_by_register(loopback):
    async def bench(ctx, a, b, at, cable):
        await (a if loopback == 1 else b).write(ctx, at["control"], loopback << 4)
        ctx.set(cable.to_a[0].cut, loopback == 1)
        await ctx.tick("a_tx0").repeat(60)
        await a.write(ctx, at["inject"], 1)
        await ctx.tick("a_tx0").repeat(60)
        assert (await a.read(ctx, at["status"]))[0] & LOCKED
        assert (await a.read(ctx, at["errors"]))[0] >= 1

    run(bench)


def test_clocks_are_measured():
    async def bench(ctx, a, b, at, cable):
        # The register counts in kHz of a sync clock that was told to be 100 kHz.
        await ctx.tick("a_sync").repeat(2 * 16 * 100 + 100)
        khz = (await a.read(ctx, at["tx_clock"]))[0]
        assert abs(khz - 100 * SYNC / WORD) <= 2

    run(bench)
