"""Tx Address Cache against the policy, request by request; what it forgets and notices; a proof of every sequence."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from support.tl.address import drive_tx_cache, flip, shared, simulate
from support.tl.address_proofs import KNOWN, table, tx_invariants
from ualink.config import ConfigError
from ualink.tl.cache.tx_address_cache import TxAddressCache


@pytest.mark.req("TL-092", "TL-094", "TL-095", "TL-105", "TL-109", "TL-112", "TL-124")
@pytest.mark.parametrize("rows, ways, contexts", [(4, 4, 1), (3, 2, 1), (1, 3, 1), (3, 3, 2), (4, 4, 4)])
def test_every_answer_is_that_of_the_policy(rows, ways, contexts):
    dut = TxAddressCache(rows, ways, 37)
    design, turn = shared(dut, contexts)
    regions = ways + 2

    async def bench(ctx):
        references = await drive_tx_cache(ctx, dut, turn, contexts, 700 * contexts, contexts, regions)
        for reference in references:
            assert min(reference.answers.values()) > 15

    simulate(design, bench)


async def look_up(ctx, dut, row, region, candidate=1):
    """One lookup and its answer: ("hit" | "load" | None, way, error)."""
    ctx.set(dut.lookup.p, {"row": row, "region": region, "candidate": candidate})
    ctx.set(dut.lookup.valid, 1)
    ctx.set(dut.answer.ready, 1)
    while not ctx.get(dut.lookup.ready):
        await ctx.tick()
    await ctx.tick()
    ctx.set(dut.lookup.valid, 0)
    await ctx.tick()
    assert ctx.get(dut.answer.valid)
    answer, error = ctx.get(dut.answer.p), ctx.get(dut.error)
    await ctx.tick()
    return "hit" if answer.hit else "load" if answer.load else None, answer.way, error


@pytest.mark.req("TL-106", "TL-111")
def test_rows_are_apart_up_to_the_last_of_1024():
    dut = TxAddressCache(1024, 1)

    async def bench(ctx):
        await ctx.tick().repeat(1024)
        rows = [0, 1, 511, 512, 1022, 1023]
        for row in rows:
            assert await look_up(ctx, dut, row, (1 << 37) - 1 - row) == ("load", 0, 0)
        for row in rows:
            assert await look_up(ctx, dut, row, (1 << 37) - 1 - row) == ("hit", 0, 0)

    simulate(dut, bench)


def test_every_bit_of_the_region_counts():
    dut = TxAddressCache(1, 1)

    async def bench(ctx):
        await ctx.tick()
        assert await look_up(ctx, dut, 0, 0) == ("load", 0, 0)
        for bit in range(37):
            assert (await look_up(ctx, dut, 0, 1 << bit))[0] is None
            assert (await look_up(ctx, dut, 0, 0))[0] == "hit"

    simulate(dut, bench)


@pytest.mark.req("TL-094", "TL-221")
def test_nothing_is_known_before_all_rows_are_swept():
    """A memory comes up with anything in it, and keeps what it holds when the logic is reset."""
    dut = TxAddressCache(8, 2, 4)

    async def bench(ctx):
        rng = random.Random(1)
        for row in range(8):
            for bit in range(2 * 9):
                if rng.random() < 0.6:
                    flip(ctx, dut.storage, row, bit)
        for _ in range(8):
            # Lookups that are accepted during the sweep, of rows that it has reached and of others.
            ctx.set(dut.lookup.p, {"row": rng.randrange(8), "region": rng.randrange(16), "candidate": 1})
            ctx.set(dut.lookup.valid, 1)
            ctx.set(dut.answer.ready, 1)
            assert not ctx.get(dut.answer.valid & (dut.answer.p.hit | dut.answer.p.load))
            assert not ctx.get(dut.error)
            await ctx.tick()
        for row in range(8):
            assert await look_up(ctx, dut, row, row) == ("load", 0, 0)

    simulate(dut, bench)


@pytest.mark.req("TL-109", "TL-110")
def test_one_lookup_per_cycle_answered_two_later():
    dut = TxAddressCache(2, 4, 8)

    async def bench(ctx):
        await ctx.tick().repeat(2)
        ctx.set(dut.answer.ready, 1)
        ctx.set(dut.lookup.valid, 1)
        hits = 0
        for n in range(200):
            ctx.set(dut.lookup.p, {"row": n // 3 % 2, "region": n % 3, "candidate": 1})
            assert ctx.get(dut.lookup.ready)
            assert ctx.get(dut.answer.valid) == (n > 1)
            hits += ctx.get(dut.answer.valid & dut.answer.p.hit)
            await ctx.tick()
        assert hits == 198 - 6

    simulate(dut, bench)


@pytest.mark.req("TL-109", "TL-110")
@pytest.mark.parametrize("behind", [1, 2, 3])
@pytest.mark.parametrize("stall", [0, 1, 2])
def test_a_load_is_seen_by_the_very_next_lookups(behind, stall):
    """``behind`` lookups later, whatever is between, and however long the answer of the load must wait."""
    dut = TxAddressCache(2, 4, 8)
    lookups = [(1, 9), *[(0, 5), (1, 7)][: behind - 1], (1, 9)]

    async def bench(ctx):
        await ctx.tick().repeat(2)
        answers, left = [], list(lookups)
        for cycle in range(12):
            row, region = left[0] if left else (0, 0)
            ctx.set(dut.lookup.p, {"row": row, "region": region, "candidate": 1})
            ctx.set(dut.lookup.valid, bool(left))
            ctx.set(dut.answer.ready, cycle >= 2 + stall)
            if ctx.get(dut.answer.valid & dut.answer.ready):
                answer = ctx.get(dut.answer.p)
                answers.append("hit" if answer.hit else "load" if answer.load else None)
            if ctx.get(dut.lookup.valid & dut.lookup.ready):
                left.pop(0)
            await ctx.tick()
        assert answers == ["load"] * behind + ["hit"]

    simulate(dut, bench)


@pytest.mark.req("TL-095")
@pytest.mark.parametrize("gap", [1, 2, 3, 5])
@pytest.mark.parametrize("stalled", [False, True])
def test_invalidations_are_never_lost(gap, stalled):
    """Two entries of four are forgotten, whatever the distance of the pulses and whatever waits; the others as well if
    the second one comes before the first is obeyed."""
    dut = TxAddressCache(4, 2, 8)

    async def bench(ctx):
        await ctx.tick().repeat(4)
        for row in range(4):
            for region in (5, 6):
                assert (await look_up(ctx, dut, row, region))[0] == "load"
        # A lookup of one of the rows waits all the time, or lookups of another row go on.
        ctx.set(dut.lookup.p, {"row": 1 if stalled else 3, "region": 5, "candidate": 1})
        ctx.set(dut.lookup.valid, 1)
        ctx.set(dut.answer.ready, not stalled)
        await ctx.tick().repeat(2)
        for row in (1, 2):
            ctx.set(dut.invalidate, 1)
            ctx.set(dut.invalidate_row, row)
            ctx.set(dut.invalidate_way, 0)
            await ctx.tick()
            ctx.set(dut.invalidate, 0)
            for _ in range(gap - 1):
                await ctx.tick()
        ctx.set(dut.lookup.valid, 0)
        assert ctx.get(dut.answer.valid & dut.answer.p.hit) or not stalled
        ctx.set(dut.answer.ready, 1)
        await ctx.tick().repeat(4)
        if gap > 2 and not stalled:
            assert (await look_up(ctx, dut, 0, 5))[0] == "hit"
            assert (await look_up(ctx, dut, 1, 6))[0] == "hit"
        else:
            await ctx.tick().repeat(4)
        assert (await look_up(ctx, dut, 1, 5))[0] == "load"
        assert (await look_up(ctx, dut, 2, 5))[0] == "load"

    simulate(dut, bench)


@pytest.mark.req("TL-113", "TL-223")
@pytest.mark.parametrize("ways", [1, 4])
def test_an_upset_is_noticed_and_nothing_is_loaded(ways):
    dut = TxAddressCache(2, ways, 6)
    bits = ways * (1 + 6 + 3 + 1)

    async def bench(ctx):
        await ctx.tick().repeat(2)
        for way in range(ways):
            assert await look_up(ctx, dut, 0, way + 3) == ("load", way, 0)
        for bit in range(bits):
            flip(ctx, dut.storage, 0, bit)
            before = ctx.get(dut.storage.data[0])
            for region in (3, 60):
                assert await look_up(ctx, dut, 0, region) == (None, 0, 1)
                assert not ctx.get(dut.error)
            assert ctx.get(dut.storage.data[0]) == before
            flip(ctx, dut.storage, 0, bit)
        for way in range(ways):
            assert (await look_up(ctx, dut, 0, way + 3)) == ("hit", way, 0)
        # What is not read is not looked at.
        flip(ctx, dut.storage, 0, 0)
        assert await look_up(ctx, dut, 0, 3, candidate=0) == (None, 0, 0)
        assert await look_up(ctx, dut, 1, 3) == ("load", 0, 0)

    simulate(dut, bench)


class AgreesWithPartner(wiring.Component):
    """The cache and what its loads leave in the partner; lookups, stalls, clears and invalidations are free."""

    def __init__(self, broken: bool = False):
        self.broken = broken
        super().__init__(
            {
                "valid": In(1),
                "row": In(1),
                "region": In(2),
                "candidate": In(1),
                "ready": In(1),
                "clear": In(1),
                "invalidate": In(1),
                "invalidate_row": In(1),
                "invalidate_way": In(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = TxAddressCache(2, 2, 2)
        partner = table("partner")
        for name in ("row", "region", "candidate"):
            m.d.comb += dut.lookup.p[name].eq(getattr(self, name))
        for name in ("clear", "invalidate", "invalidate_row", "invalidate_way"):
            m.d.comb += getattr(dut, name).eq(getattr(self, name))
        m.d.comb += [dut.lookup.valid.eq(self.valid), dut.answer.ready.eq(self.ready), Assume(self.invalidate_way < 2)]

        named = partner[(dut.asked.row << 1 | dut.answer.p.way)[:2]]
        taken = dut.answer.valid & dut.answer.ready
        with m.If(taken & dut.answer.p.load):
            m.d.sync += named.eq(KNOWN | dut.asked.region ^ (self.broken & dut.asked.row))
        with m.If(taken & dut.answer.p.hit):
            m.d.comb += Assert(named == (KNOWN | dut.asked.region))
        m.d.comb += [Assert(~(dut.answer.p.hit & dut.answer.p.load)), Assert(~dut.error)]
        tx_invariants(m, dut, partner)
        return m


@pytest.mark.req("TL-093", "TL-094", "TL-095", "TL-112", "TL-123", "TL-124", "TL-184")
def test_a_hit_is_always_what_the_partner_holds():
    prove(AgreesWithPartner(), mode="prove", depth=3)


def test_the_proof_sees_a_partner_that_holds_something_else():
    with pytest.raises(AssertionError):
        prove(AgreesWithPartner(broken=True), mode="bmc", depth=8)


@pytest.mark.parametrize(
    "rows, ways, bits", [(0, 4, 37), (1025, 4, 37), (True, 4, 37), (4, 0, 37), (4, 5, 37), (4, 4, 38)]
)
def test_geometry_is_checked(rows, ways, bits):
    with pytest.raises(ConfigError, match="tx address cache"):
        TxAddressCache(rows, ways, bits)
