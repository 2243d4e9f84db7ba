"""The register that sets the data rate of a port, where ports of a station differ (UALink_200 §7.1)."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from support.csr.master import Master
from ualink import config as configuration
from ualink.config import PhyConfig
from ualink.phy.port_rate import PortRate
from ualink.phy.register_block import PhyRegisterBlock
from ualink.phy.register_map import RATE_AT, phy_registers
from ualink.phy.rs_schedule import SlotSchedule
from ualink_sim.model.phy.rs_transmit import Offer, Transmitter

LINE_RATE = 5_000_000_000
RATES = (400, 100, 400, 800)
CLOSE = {100: 4, 200: 4, 400: 8, 800: 16}
"""Slots from marker to marker, 1/1024 of the standard's."""
IDLE_INTERVAL = 4


def registers_of(port, rates=RATES):
    return PhyRegisterBlock(
        PhyConfig(rates=rates, idle_interval=IDLE_INTERVAL), lanes=1, line_rate=LINE_RATE, port=port
    )


def simulate(hardware, testbench):
    simulator = Simulator(hardware)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


@pytest.mark.parametrize("config", [PhyConfig(), PhyConfig(rate=800), PhyConfig(rates=(400,) * 4)])
def test_there_is_none_where_all_ports_have_one_rate(config):
    assert "rate" not in phy_registers(config, 1, LINE_RATE)
    assert not {"rate", "link_down"} & {*PhyRegisterBlock(config, lanes=1, line_rate=LINE_RATE).signature.members}


@pytest.mark.req("PHY-005")
def test_a_port_starts_at_its_own_rate_and_may_have_that_of_any_other():
    for port, rate in enumerate(RATES):
        wanted = phy_registers(PhyConfig(rates=RATES), 1, LINE_RATE, port)["rate"]["wanted"]
        assert PortRate(wanted.reset).gbps == rate
        assert [PortRate(code).gbps for code in wanted.allowed] == [100, 400, 800]


@pytest.mark.req("PHY-005")
@pytest.mark.parametrize("port", [0, 3])
def test_a_rate_comes_into_force_while_the_link_is_down_only(port):
    """Writes and changes of the link at random. ``in_force`` is what the port runs at; a rate that no port was built
    for is refused, and the one before stays wanted."""
    rng, block = random.Random(port), registers_of(port)
    master = Master(block.bus)

    async def testbench(ctx):
        wanted = now = PortRate.of(RATES[port]).value
        waited = refused = 0
        for _ in range(150):
            down = rng.random() < 0.3
            ctx.set(block.link_down, down)
            code = rng.randrange(4)
            error = await master.write(ctx, RATE_AT, code)
            assert error == (PortRate(code).gbps not in RATES)
            wanted = wanted if error else code
            # One cycle for the register, one for the rate.
            await ctx.tick()
            now = wanted if down else now
            assert ctx.get(block.rate).value == now
            assert await master.read(ctx, RATE_AT) == (now << 4 | wanted, 0)
            waited += now != wanted
            refused += error
        assert waited > 30 and refused > 20

    simulate(block, testbench)


@pytest.mark.req("PHY-005", "PHY-043")
def test_markers_come_at_the_rate_that_software_set(monkeypatch):
    """Slot by slot as the model has them: 400 Gb/s from reset on, 800 asked for while the link is up, in force when it
    goes down, 100 at once."""
    for rate, (blocks, _) in list(configuration.MARKERS.items()):
        monkeypatch.setitem(configuration.MARKERS, rate, (blocks, CLOSE[rate]))
    m = Module()
    m.submodules.registers = block = registers_of(0)
    m.submodules.schedule = schedule = SlotSchedule(PhyConfig(rate=400, idle_interval=IDLE_INTERVAL))
    m.d.comb += schedule.rate.eq(block.rate)
    master, model = Master(block.bus), Transmitter(400, CLOSE[400], IDLE_INTERVAL)
    found, expected = [], []

    async def testbench(ctx):
        async def slots(count):
            ctx.set(schedule.slot_end, 1)
            for _ in range(count):
                found.append(bool(ctx.get(schedule.marker)))
                expected.append(model.slot(Offer.NOTHING)[0].is_start)
                await ctx.tick()
            ctx.set(schedule.slot_end, 0)

        ctx.set(block.link_down, 0)
        await slots(18)
        assert not await master.write(ctx, RATE_AT, PortRate.GBPS_800.value)
        await slots(22)
        ctx.set(block.link_down, 1)
        await ctx.tick()
        model.change_rate(800, CLOSE[800])
        await slots(50)
        assert not await master.write(ctx, RATE_AT, PortRate.GBPS_100.value)
        await ctx.tick()
        model.change_rate(100, CLOSE[100])
        await slots(20)

    simulate(m, testbench)
    assert found == expected
    # Whether slot 40 has a marker was decided at the end of slot 39.
    assert [slot for slot, marker in enumerate(found) if marker][:9] == [0, 8, 16, 24, 32, 40, 56, 72, 88]
