"""The registers of the physical layer of a board's port."""

import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator

from support.csr.master import Master
from ualink.config import PhyConfig
from ualink.phy.link_fault import LinkFault
from ualink.phy.register_block import PhyRegisterBlock
from ualink.phy.register_map import COUNTERS, EVENTS, phy_registers

LANES = 2
CONFIG = PhyConfig(rate=200, marker_interval=1024)
MAP = phy_registers(CONFIG, LANES, 5_000_000_000)

STATUS = {
    "status.running": ("running", 1),
    "status.aligned": ("aligned", 1),
    "status.hi_ber": ("hi_ber", 1),
    "status.flits_aligned": ("rs.aligned", 1),
    "status.link_fault": ("rs.link_fault", LinkFault.REMOTE.value),
    "status.fault": ("rs.fault", LinkFault.INTERRUPTION.value),
    **{
        f"lane{lane}_{name}": (f"{path}.{lane}.{member}", value)
        for lane in range(LANES)
        for name, path, member, value in (
            ("status.pll_locked", "serdes", "pll_locked", 1),
            ("status.signal", "serdes", "signal", 1),
            ("status.cdr_locked", "serdes", "locked", 1),
            ("status.ready", "serdes", "ready", 1),
            ("status.pll_retries", "serdes", "pll_retries", 0xA5),
            ("status.retries", "serdes", "retries", 0x5A),
            ("status.block_lock", "lane", "block_lock", 1),
            ("status.marker_lock", "lane", "marker_lock", 1),
            ("status.number", "lane", "number", 2),
            ("status.overflow", "lane", "overflow", 1),
            ("headers.bad", "lane", "bad_headers", 0x1234_5678),
            ("skew.blocks", "lane", "skew", 0xBEEF),
        )
    },
}


def run(story):
    block = PhyRegisterBlock(CONFIG, lanes=LANES, line_rate=5_000_000_000)
    master = Master(block.bus)

    async def get(ctx, name):
        register, field = name.split(".")
        word, error = await master.read(ctx, MAP[register].offset)
        assert not error
        return word >> MAP[register][field].low & (1 << MAP[register][field].width) - 1

    async def put(ctx, register, **values):
        word = sum(value << MAP[register][field].low for field, value in values.items())
        return await master.write(ctx, MAP[register].offset, word)

    async def testbench(ctx):
        await story(ctx, block, get, put)

    simulator = Simulator(block)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def at(block, path):
    """The member at ``path``, whose numbers are indices."""
    for part in path.split("."):
        block = block[int(part)] if part.isdigit() else getattr(block, part)
    return Value.cast(block)


def test_what_was_built():
    async def story(ctx, block, get, put):
        built = {"lanes": LANES, "line_rate": 5000, "map_version": 1}
        assert {name: await get(ctx, f"capabilities.{name}") for name in built} == built
        assert (await get(ctx, "marker.interval"), await get(ctx, "marker.blocks")) == (1024, 16)

    run(story)


@pytest.mark.req("PHY-007")
def test_the_width_of_a_port_is_fixed_before_its_lanes_are_trained():
    """Firmware reads it while no lane is ready, and cannot change it then or later."""

    async def story(ctx, block, get, put):
        for ready in (0, 1):
            for lane in range(LANES):
                ctx.set(block.serdes[lane].ready, ready)
            ctx.set(block.aligned, ready)
            assert await get(ctx, "capabilities.lanes") == LANES
            for lanes in (1, 2, 4):
                assert await put(ctx, "capabilities", lanes=lanes), "nothing there is written"
                assert await get(ctx, "capabilities.lanes") == LANES

    run(story)


def test_status_is_shown_where_it_stands():
    async def story(ctx, block, get, put):
        for name, (path, value) in STATUS.items():
            ctx.set(at(block, path), value)
            await ctx.tick()
            for other in STATUS:
                assert await get(ctx, other) == (value if other == name else 0), (name, other)
            ctx.set(at(block, path), 0)
        for lane in range(LANES):
            ctx.set(block.underflow, 1 << lane)
            assert [await get(ctx, f"lane{n}_status.underflow") for n in range(LANES)] == [n == lane for n in range(2)]

    run(story)


def test_settings_reach_their_lane():
    async def story(ctx, block, get, put):
        for lane in range(LANES):
            for name, value in (("loopback", 2), ("reset", 1), ("tx_invert", 1), ("rx_invert", 1)):
                assert not await put(ctx, f"lane{lane}_control", **{name: value})
                for n in range(LANES):
                    for other in ("loopback", "reset", "tx_invert", "rx_invert"):
                        expected = value if (n, other) == (lane, name) else 0
                        assert ctx.get(at(block, f"settings.{n}.{other}")) == expected
            assert not await put(ctx, f"lane{lane}_control")
            assert await put(ctx, f"lane{lane}_control", loopback=3), "there is no such loopback"
        for name in ("ber_monitor", "clear"):
            assert not await put(ctx, "control", **{name: 1})
            assert (ctx.get(block.ber_monitor), ctx.get(block.clear)) == (name == "ber_monitor", name == "clear")

    run(story)


def test_events_are_told_once_each():
    async def story(ctx, block, get, put):
        for name in EVENTS:
            assert not await get(ctx, f"events.{name}")
        for name, path, value in (
            ("link_fault", "rs.link_fault", 1),
            ("hi_ber", "hi_ber", 1),
            ("underflow", "underflow", 2),
            ("overflow", "lane.1.overflow", 1),
            ("aligned_lost", "aligned", 0),
        ):
            if name == "aligned_lost":
                ctx.set(block.aligned, 1)
                await ctx.tick().repeat(2)
                assert not await get(ctx, "events.aligned_lost")
            for _ in range(2):
                ctx.set(at(block, path), value)
                await ctx.tick().repeat(2)
                assert [other for other in EVENTS if await get(ctx, f"events.{other}")] == [name]
                assert not await put(ctx, "events", **{name: 1})
                assert not await get(ctx, f"events.{name}"), "what lasts is one event"
                ctx.set(at(block, path), not value)
                await ctx.tick().repeat(2)
                if value:
                    assert not await get(ctx, f"events.{name}")
        assert await put(ctx, "lane0_control", loopback=3)
        assert await get(ctx, "events.config_error")

    run(story)


def test_counters_count_each_their_event():
    async def story(ctx, block, get, put):
        for number, name in enumerate(COUNTERS, start=1):
            ctx.set(at(block, f"rs.{name}"), 1)
            await ctx.tick().repeat(number)
            ctx.set(at(block, f"rs.{name}"), 0)
        assert [await get(ctx, f"{name}.count") for name in COUNTERS] == [0] * len(COUNTERS)
        assert not await put(ctx, "snapshot", start=1)
        assert [await get(ctx, f"{name}.count") for name in COUNTERS] == list(range(1, len(COUNTERS) + 1))

    run(story)
