"""Route table: deny after reset, capacity, isolation of ports, atomic writes."""

import random

import pytest
from amaranth.hdl import Module, ResetInserter, Signal

from support.switch.bench import run
from ualink.config import ConfigError, StationConfig, SwitchConfig
from ualink.switch.route_table import RouteTable, route_entry_layout

DENIED = {"deny": 0b1111, "egress_station": 0, "egress_port": 0}


def lookups(dut):
    return [(plane, port) for plane in ("req", "rd_rsp", "wr_rsp") for port in range(dut.ports)]


async def look_up(ctx, dut, ids):
    """``ids``: one for each of ``lookups(dut)``; ``(egress, denied)`` of each."""
    ports = [getattr(dut, f"lookup_{plane}")[port] for plane, port in lookups(dut)]
    for port, identifier in zip(ports, ids, strict=True):
        ctx.set(port.look, 1)
        ctx.set(port.dst_phys_acc_id, identifier)
    await ctx.tick()
    for port in ports:
        ctx.set(port.look, 0)
        ctx.set(port.dst_phys_acc_id, random.getrandbits(10))
    await ctx.tick()
    return [(ctx.get(port.egress), ctx.get(port.denied)) for port in ports]


async def write(ctx, dut, index, entry):
    ctx.set(dut.config.index, index)
    ctx.set(dut.config.write_data, entry)
    ctx.set(dut.config.write, 1)
    await ctx.tick()
    ctx.set(dut.config.write, 0)


async def read(ctx, dut, index):
    ctx.set(dut.config.index, index)
    await ctx.tick()
    value = ctx.get(dut.config.read_data)
    return {"deny": value.deny, "egress_station": value.egress_station, "egress_port": value.egress_port}


async def until_ready(ctx, dut):
    cycles = 0
    while not ctx.get(dut.config.ready):
        await ctx.tick()
        cycles += 1
    return cycles


@pytest.mark.req("SW-055")
@pytest.mark.parametrize(("stations", "bits"), [(32, 11), (64, 12), (128, 13), (256, 14)])
def test_entry_bits(stations, bits):
    assert route_entry_layout(stations).size == bits


@pytest.mark.req("SW-056", "SW-057", "SW-058")
@pytest.mark.parametrize(("depth", "ports"), [(16, 2), (1024, 1)])
def test_denies_after_every_reset(depth, ports):
    table = RouteTable(SwitchConfig(stations=3, route_entries=depth, station=StationConfig(ports=ports)))
    clear = Signal()
    dut = Module()
    dut.submodules.table = ResetInserter(clear)(table)
    count = len(lookups(table))

    async def denies_all(ctx, ids):
        for identifier in ids:
            assert [denied for _, denied in await look_up(ctx, table, [identifier] * count)] == [1] * count

    async def bench(ctx):
        await write(ctx, table, 1, {"deny": 0, "egress_station": 0, "egress_port": 0})
        await denies_all(ctx, range(4))
        await until_ready(ctx, table)
        await denies_all(ctx, random.Random(1).sample(range(1024), 20))
        for index in range(16):
            assert await read(ctx, table, index) == DENIED
            await write(ctx, table, index, {"deny": 0, "egress_station": 1, "egress_port": 0})
        for index in range(16):
            assert await look_up(ctx, table, [index] * count) == [(ports, 0)] * count
        # Memories keep their contents through a reset; the table must not.
        ctx.set(clear, 1)
        await ctx.tick()
        ctx.set(clear, 0)
        assert not ctx.get(table.config.ready)
        await denies_all(ctx, range(6))
        assert await until_ready(ctx, table) == depth - 12
        await denies_all(ctx, range(16))
        assert await read(ctx, table, 5) == DENIED

    run(dut, bench)


@pytest.mark.req("SW-052", "SW-054", "SW-055", "SW-057", "SW-062", "SW-089", "SW-100")
@pytest.mark.parametrize(("stations", "ports", "depth"), [(4, 4, 64), (5, 2, 100), (3, 1, 1024)])
def test_lookups_follow_the_entries(stations, ports, depth):
    dut = RouteTable(SwitchConfig(stations=stations, route_entries=depth, station=StationConfig(ports=ports)))
    rng = random.Random(f"{stations} {ports}")
    station_bits = route_entry_layout(stations)["egress_station"].width
    entries = {}

    def expected(identifier, port):
        entry = entries.get(identifier, DENIED)
        if entry["deny"] >> port & 1 or entry["egress_station"] >= stations or entry["egress_port"] >= ports:
            return None
        return entry["egress_station"] * ports + entry["egress_port"]

    async def bench(ctx):
        await until_ready(ctx, dut)
        for _ in range(150):
            index = rng.randrange(min(1024, depth + 20))
            entry = {
                "deny": rng.choice([0, 0, rng.getrandbits(4)]),
                "egress_station": rng.getrandbits(station_bits),
                "egress_port": rng.getrandbits(2),
            }
            await write(ctx, dut, index, entry)
            if index < depth:
                entries[index] = entry
            assert await read(ctx, dut, index) == entries.get(index, DENIED)
            # The first ID beyond the table, too, of which the low bits may be those of an entry.
            ids = [rng.choice([*entries, depth % 1024, rng.getrandbits(10)]) for _ in lookups(dut)]
            for identifier, (_, port), (egress, denied) in zip(
                ids, lookups(dut), await look_up(ctx, dut, ids), strict=True
            ):
                assert (None if denied else egress) == expected(identifier, port), (identifier, port)

    run(dut, bench)


@pytest.mark.req("SW-054")
def test_write_is_seen_whole_or_not_at_all():
    """Ruling C-08: lookups in the cycles around a write give the old or the new entry, and keep it until the next."""
    dut = RouteTable(SwitchConfig(stations=4, route_entries=16, station=StationConfig(ports=4)))
    old, new = (
        {"deny": 0, "egress_station": 1, "egress_port": 2},
        {"deny": 0, "egress_station": 2, "egress_port": 1},
    )

    async def bench(ctx):
        await until_ready(ctx, dut)
        await write(ctx, dut, 7, old)
        lookup = dut.lookup_req[0]
        ctx.set(lookup.look, 1)
        ctx.set(lookup.dst_phys_acc_id, 7)
        seen = []
        ctx.set(dut.config.write_data, new)
        for cycle in range(6):
            ctx.set(dut.config.write, cycle == 2)
            await ctx.tick()
            assert not ctx.get(lookup.denied)
            seen.append(ctx.get(lookup.egress))
        assert set(seen) == {6, 9} and seen == sorted(seen)
        ctx.set(lookup.look, 0)
        await write(ctx, dut, 7, old)
        await ctx.tick().repeat(2)
        assert ctx.get(lookup.egress) == 9

    run(dut, bench)


@pytest.mark.req("SW-053")
@pytest.mark.parametrize("stations", [2, 64, 256])
def test_there_is_an_entry_for_each_port_that_there_can_be(stations):
    """Four for each station, which may be four x1, whatever its bifurcation; no table with fewer is built."""
    config = SwitchConfig(stations=stations, route_entries=4 * stations, station=StationConfig(ports=1))
    assert len(RouteTable(config).config.index) >= (4 * stations - 1).bit_length()
    with pytest.raises(ConfigError, match=f"route_entries is {4 * stations - 1}; it must cover the {4 * stations} "):
        config.replace(route_entries=4 * stations - 1)


@pytest.mark.req("SW-056", "SW-058", "SW-100")
def test_writes_and_lookups_in_every_cycle_of_the_sweep_after_reset():
    """While entries are denied one by one: a write is lost, a lookup denied, whatever stood there before the reset.

    From the cycle on in which ``ready`` is seen, writes and lookups count. Each cycle around has its own reset.
    """
    table = RouteTable(SwitchConfig(stations=2, route_entries=8, station=StationConfig(ports=1)))
    clear = Signal()
    dut = Module()
    dut.submodules.table = ResetInserter(clear)(table)
    open_entry = {"deny": 0, "egress_station": 1, "egress_port": 0}

    async def bench(ctx):
        lookup = table.lookup_wr_rsp[0]
        for cycle in range(12):
            for index in (0, cycle % 8, 7):
                await until_ready(ctx, table)
                for entry in range(8):
                    await write(ctx, table, entry, open_entry)
                ctx.set(clear, 1)
                await ctx.tick()
                ctx.set(clear, 0)
                ctx.set(lookup.look, 1)
                ctx.set(lookup.dst_phys_acc_id, index)
                for _ in range(cycle):
                    await ctx.tick()
                    assert ctx.get(lookup.denied)
                counts = ctx.get(table.config.ready)
                assert counts == (cycle >= 8)
                await write(ctx, table, index, open_entry)
                assert ctx.get(lookup.denied), "the lookup in the cycle of the write sees what stood there before"
                for _ in range(10):
                    await ctx.tick()
                    assert ctx.get(lookup.denied) == (not counts)
                for entry in range(8):
                    assert (await read(ctx, table, entry) == open_entry) == (counts and entry == index)

    run(dut, bench)
