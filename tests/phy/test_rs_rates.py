"""Ports of a station that do not run at one rate (UALink_200 §7.1)."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from support.phy.rs_stream import unpacked
from ualink import config as configuration
from ualink.config import ConfigError, PhyConfig
from ualink.phy.port_rate import PortRate
from ualink.phy.reconciliation import Reconciliation
from ualink.phy.rs_schedule import SlotSchedule
from ualink_sim.model.phy.rs_transmit import Offer, Transmitter

CLOSE = {100: 4, 200: 4, 400: 8, 800: 16}
"""Slots from marker to marker, 1/1024 of the standard's; with an Idle flit in every four."""
READY = {100: 0.7, 200: 0.8, 400: 0.9, 800: 1.0}
"""How often the PCS of a port has room."""


@pytest.fixture
def close_markers(monkeypatch):
    for rate, (blocks, _) in list(configuration.MARKERS.items()):
        monkeypatch.setitem(configuration.MARKERS, rate, (blocks, CLOSE[rate]))


@pytest.mark.req("PHY-005", "PHY-043")
@pytest.mark.parametrize(
    ("rates", "software"), [((800, 100, 400, 200), None), ((400, 800), None), ((200,) * 4, (100, 800, 200, 400))]
)
def test_every_port_runs_at_a_rate_of_its_own(close_markers, rates, software):
    """All ports full of flits, each at its pace; its markers, Idle flits and data are where the model has them.
    ``software`` sets other rates than those after reset."""
    ports, rng = len(rates), random.Random(len(rates))
    m = Module()
    slot = Signal(range(ports))
    m.d.sync += slot.eq(slot + 1)
    m.submodules.dut = dut = Reconciliation(PhyConfig(rates=rates, idle_interval=4), ports)
    m.d.comb += dut.slot.eq(slot)
    rates = software or rates
    sent: list[list[int]] = [[] for _ in rates]
    flits = [[rng.randbytes(640)] for _ in rates]

    async def testbench(ctx):
        for port, rate in enumerate(software or ()):
            ctx.set(dut.rate[port], PortRate.of(rate))
        beats = [0] * ports
        for cycle in range(180 * ports):
            n = cycle % ports
            part = flits[n][-1][64 * beats[n] : 64 * beats[n] + 64]
            ctx.set(dut.dl.tx.valid, 1)
            ctx.set(dut.dl.tx.p.first, beats[n] == 0)
            ctx.set(dut.dl.tx.p.last, beats[n] == 9)
            ctx.set(dut.dl.tx.p.data, int.from_bytes(part, "little"))
            ready = rng.random() < READY[rates[n]]
            ctx.set(dut.pcs.tx.ready, ready)
            if ctx.get(dut.pcs.tx.valid) and ready:
                sent[n] += unpacked(ctx.get(dut.pcs.tx.p.blocks.as_value()))
            if ctx.get(dut.dl.tx.ready):
                beats[n] = (beats[n] + 1) % 10
                if not beats[n]:
                    flits[n].append(rng.randbytes(640))
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    for port, rate in enumerate(rates):
        model, number = Transmitter(rate, CLOSE[rate], 4), 0
        markers = 0
        for at in range(0, len(sent[port]) - 79, 80):
            sequence, blocks, taken, _ = model.slot(Offer.FLIT, flits[port][number])
            number += taken
            markers += sequence.is_start
            assert sent[port][at : at + 80] == blocks, (port, at)
        assert markers > 1


@pytest.mark.req("PHY-005", "PHY-043")
def test_a_change_of_rate_moves_the_next_marker(close_markers):
    """Before and after the marker of the new rate is due, in the slot before it, and at any time."""
    rng = random.Random(4)
    dut, model = SlotSchedule(PhyConfig(rate=800, idle_interval=4)), Transmitter(800, CLOSE[800], 4)
    changes = {3: 100, 5: 800, 14: 200, 17: 400, 27: 200, 29: 800}
    found, expected = [], []

    async def testbench(ctx):
        ctx.set(dut.slot_end, 1)
        for number in range(2000):
            rate = changes.get(number) or (number > 44 and rng.random() < 0.1 and rng.choice(list(CLOSE)))
            if rate:
                ctx.set(dut.rate, PortRate.of(rate))
                model.change_rate(rate, CLOSE[rate])
            sequence, *_ = model.slot(Offer.NOTHING)
            if sequence.is_start:
                expected.append(number)
            if ctx.get(dut.marker):
                found.append(number)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    assert found == expected
    assert found[:6] == [0, 4, 16, 24, 28, 44] and len(found) > 100


@pytest.mark.req("PHY-005", "PHY-107")
def test_ports_run_at_one_rate_unless_told():
    config = PhyConfig(rate=400)
    assert [config.of_port(port).rate for port in range(4)] == [400] * 4
    own = PhyConfig(rates=(100, 800, 200, 400))
    assert [own.of_port(port).rate for port in range(4)] == [100, 800, 200, 400]
    assert [own.of_port(port).marker_blocks for port in range(4)] == [20, 64, 16, 32]
    with pytest.raises(ConfigError, match=r"phy\.rates has 4 rates; there are 2 ports"):
        Reconciliation(own, 2)
