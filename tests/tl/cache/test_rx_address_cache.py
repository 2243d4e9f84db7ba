"""Rx Address Cache: every use against a plain table, what it notices, and a proof of every sequence."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from support.tl.address import flip, shared, simulate
from support.tl.address_proofs import KNOWN, rx_invariants, table
from ualink.config import ConfigError
from ualink.tl.cache.rx_address_cache import RxAddressCache


def expect(ctx, dut, table, row, way):
    """The entry in use is what the table has."""
    assert not ctx.get(dut.mismatch)
    assert ctx.get(dut.known) == ((row, way) in table)
    if (row, way) in table:
        assert ctx.get(dut.region) == table[row, way]


@pytest.mark.req("TL-105", "TL-109", "TL-110", "TL-117", "TL-120", "TL-121", "TL-127", "TL-128", "TL-129", "TL-143")
@pytest.mark.parametrize("rows, ways, contexts", [(4, 4, 1), (1, 1, 1), (5, 3, 2), (2, 2, 4), (4, 4, 4)])
def test_every_use_sees_the_last_load(rows, ways, contexts):
    """A use or a load in every cycle; a load counts in the next."""
    dut = RxAddressCache(rows, ways)
    design, turn = shared(dut, contexts)
    rng = random.Random(rows * contexts)

    async def bench(ctx):
        tables = [{} for _ in range(contexts)]
        following = [0] * contexts
        at_once = 0
        last = [None] * contexts
        for cycle in range((600 + rows) * contexts):
            context = ctx.get(turn) if contexts > 1 else 0
            ready = cycle // contexts > rows
            assert ctx.get(dut.ready) == ready
            row, way = following[context], rng.randrange(ways)
            following[context] = rng.randrange(rows)
            ctx.set(dut.row, row)
            ctx.set(dut.way, way)
            ctx.set(dut.following_row, following[context])
            load, region = ready and rng.random() < 0.4, rng.getrandbits(37)
            ctx.set(dut.load, load)
            ctx.set(dut.load_region, region)
            if ready:
                expect(ctx, dut, tables[context], row, way)
                at_once += last[context] == (row, way)
            last[context] = None
            if load:
                tables[context][row, way] = region
                last[context] = row, way
            await ctx.tick()
        assert at_once > 5

    simulate(design, bench)


async def use(ctx, dut, row, way, load=None):
    """Ask for the row, then use the entry: region or None, mismatch."""
    ctx.set(dut.following_row, row)
    ctx.set(dut.load, 0)
    await ctx.tick()
    ctx.set(dut.row, row)
    ctx.set(dut.way, way)
    ctx.set(dut.load, load is not None)
    ctx.set(dut.load_region, load or 0)
    seen = ctx.get(dut.region) if ctx.get(dut.known) else None, ctx.get(dut.mismatch)
    await ctx.tick()
    ctx.set(dut.load, 0)
    return seen


@pytest.mark.req("TL-106", "TL-107", "TL-108")
def test_rows_and_ways_are_apart_up_to_the_last_of_1024():
    dut = RxAddressCache(1024, 4)

    async def bench(ctx):
        await ctx.tick().repeat(1025)
        entries = [(row, way) for row in (0, 1, 511, 512, 1022, 1023) for way in range(4)]
        for row, way in entries:
            assert await use(ctx, dut, row, way, (1 << 37) - 1 - 4 * row - way) == (None, 0)
        for row, way in entries:
            assert await use(ctx, dut, row, way) == ((1 << 37) - 1 - 4 * row - way, 0)

    simulate(dut, bench)


def test_nothing_is_known_after_the_sweep():
    """A memory comes up with anything in it."""
    dut = RxAddressCache(6, 2, 4)

    async def bench(ctx):
        rng = random.Random(1)
        for row in range(6):
            for bit in range(2 * 6):
                if rng.random() < 0.6:
                    flip(ctx, dut.storage, row, bit)
        ctx.set(dut.following_row, 5)
        for _ in range(7):
            assert not ctx.get(dut.ready)
            await ctx.tick()
        # Whatever was read ahead while the last row was being cleared.
        ctx.set(dut.row, 5)
        assert ctx.get(dut.ready) and not ctx.get(dut.known) and not ctx.get(dut.mismatch)
        for row in range(6):
            for way in range(2):
                assert await use(ctx, dut, row, way) == (None, 0)

    simulate(dut, bench)


@pytest.mark.req("TL-113", "TL-223")
def test_every_upset_of_the_entry_in_use_is_noticed():
    dut = RxAddressCache(2, 4)
    bits = 1 + 37 + 1

    async def bench(ctx):
        await ctx.tick().repeat(3)
        for way in range(4):
            await use(ctx, dut, 1, way, way * 0x123456789)
        await use(ctx, dut, 0, 0, 1)  # the Address CAM holds another entry now
        for bit in range(4 * bits):
            flip(ctx, dut.storage, 1, bit)
            for way in range(4):
                assert (await use(ctx, dut, 1, way))[1] == (way == bit // bits)
            flip(ctx, dut.storage, 1, bit)

    simulate(dut, bench)


class HoldsTheLastLoad(wiring.Component):
    """The cache against registers; uses and loads are free, and rows are announced one cycle ahead."""

    def __init__(self, broken: bool = False):
        self.broken = broken
        super().__init__({"following": In(1), "way": In(1), "load": In(1), "region": In(2)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = RxAddressCache(2, 2, 2)
        told = table("told")
        row = Signal()
        used = told[row << 1 | self.way]
        m.d.sync += row.eq(self.following & (not self.broken))
        m.d.comb += [
            dut.following_row.eq(self.following),
            dut.row.eq(row),
            dut.way.eq(self.way),
            dut.load.eq(self.load),
            dut.load_region.eq(self.region),
            Assume(dut.ready | ~self.load),
        ]
        with m.If(self.load):
            m.d.sync += used.eq(KNOWN | self.region)
        with m.If(dut.ready):
            m.d.comb += [
                Assert(dut.known == used[2]),
                Assert(~dut.mismatch),
                Assert(~dut.known | (dut.region == used[:2])),
            ]
        rx_invariants(m, dut, told)
        return m


@pytest.mark.req("TL-109", "TL-110", "TL-120", "TL-121", "TL-127", "TL-128", "TL-129", "TL-143")
def test_an_entry_is_always_the_last_that_was_loaded():
    prove(HoldsTheLastLoad(), mode="prove", depth=3)


def test_the_proof_sees_a_row_that_was_not_announced():
    with pytest.raises(AssertionError):
        prove(HoldsTheLastLoad(broken=True), mode="bmc", depth=8)


@pytest.mark.parametrize("rows, ways, bits", [(0, 4, 37), (1025, 4, 37), (4, 0, 37), (4, 5, 37), (4, 4, 0)])
def test_geometry_is_checked(rows, ways, bits):
    with pytest.raises(ConfigError, match="rx address cache"):
        RxAddressCache(rows, ways, bits)
