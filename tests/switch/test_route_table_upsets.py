"""Upsets of route tables: nothing goes where nobody sent it, and the error that the standard names."""

import os
import random

import pytest
from amaranth.hdl import Value

from support.switch.bench import run
from support.switch.upsets import UpsetBench
from support.upsets import collect
from ualink.config import StationConfig, SwitchConfig
from ualink.switch.route_table import RouteTable, route_entry_layout

CAME_BY = {"req": "ingress", "rd_rsp": "egress", "wr_rsp": "egress"}
"""By plane the core's agent by which an item comes."""

BITS = 2 if os.environ.get("UALINK_SOAK") else 1
"""Of each copy of a table; ``make soak`` upsets twice as many."""


@pytest.mark.req("RAS-014")
@pytest.mark.parametrize(("stations", "ports"), [(3, 2), (16, 1)])
def test_each_bit_of_each_copy_is_seen_where_it_is_looked_up(stations, ports):
    """The lookups of that copy tell, while those of the others go on; what is written anew is right again."""
    depth = 4 * stations
    dut = RouteTable(SwitchConfig(stations=stations, route_entries=depth, station=StationConfig(ports=ports)))
    design, _, memories = collect(dut)
    layout, rng = route_entry_layout(stations), random.Random(stations)
    lookups = {f"table_{plane}_{n}": getattr(dut, f"lookup_{plane}")[n] for plane in CAME_BY for n in range(ports)}

    async def write(ctx, index, entry):
        ctx.set(dut.config.index, index)
        ctx.set(dut.config.write_data.as_value(), entry)
        ctx.set(dut.config.write, 1)
        await ctx.tick()
        ctx.set(dut.config.write, 0)

    async def told(ctx, index):
        """Which copies are wrong."""
        ctx.set(dut.config.index, index)
        for lookup in lookups.values():
            ctx.set(lookup.look, 1)
            ctx.set(lookup.dst_phys_acc_id, index)
        await ctx.tick()
        signals = {"table_config": dut.config.read_wrong, **{name: lookup.wrong for name, lookup in lookups.items()}}
        return {name for name, signal in signals.items() if ctx.get(signal)}

    async def bench(ctx):
        while not ctx.get(dut.config.ready):
            assert not await told(ctx, rng.randrange(depth)), "what stood there before the reset is nobody's fault"
        assert {place.path[-1] for place in memories} == {*lookups, "table_config"}
        for place in memories:
            for bit in range(place.bits):
                index = rng.randrange(depth)
                await write(ctx, index, rng.getrandbits(layout.size))
                assert not await told(ctx, index)
                row = Value.cast(place.rows[index])
                ctx.set(row, ctx.get(row) ^ 1 << bit)
                assert await told(ctx, index) == {place.path[-1]}
                assert not await told(ctx, (index + 1) % depth)
                await write(ctx, index, rng.getrandbits(layout.size))
                assert not await told(ctx, index)
        assert not await told(ctx, depth), "beyond the table nothing is stored"

    run(design, bench)


@pytest.mark.soak
@pytest.mark.req("RAS-014", "RAS-039")
@pytest.mark.parametrize("plane", CAME_BY)
def test_an_upset_of_an_entry_in_use_drops_and_misroutes_nothing(plane):
    """The agent by which items come in goes into Drop Mode, since nobody knows by which they would have left. When
    firmware has written the entry again and cleared it, all goes on."""
    bench = UpsetBench(f"route {plane}")
    before = CAME_BY[plane]

    async def body(ctx):
        await bench.open_routes(ctx)
        copies = [place for place in bench.tables if place.path[-1].startswith(f"table_{plane}_")]
        assert len(copies) == 2
        for place in copies:
            for bit in bench.rng.sample(range(place.bits), BITS):
                ingress, lost = await bench.route_episode(ctx, place, bit)
                assert bench.seen == {("dropping", before, ingress), ("upset", before, ingress, "control")}
                assert lost

    bench.simulate(body, bench.design)
