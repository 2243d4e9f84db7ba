"""Runs of a Requester: stopped, starved, started again, limited in rate and in number; tags and latencies."""

import pytest

from support.traffic.partner import DELAY, OTHER, OWN, SEED, Partner
from ualink.traffic.interface import ErrorKind
from ualink_sim.model.traffic import Pattern, Settings, least_of_bin, line_data, plans
from ualink_sim.model.upli.transactions import ALL_LANES

READS = Settings(read=256, size=0, own=OWN, first=OTHER, region=4)
RISE = 3
"""Cycles from a start to the first Request."""


@pytest.fixture
def partner():
    return Partner(tags=4)


def story_of(partner, settings, **more):
    """Decorates the story of a test, which begins after the clear that follows a reset."""

    def simulate(story):
        async def whole(ctx):
            partner.set(ctx, settings, **more)
            await partner.until(ctx, ~partner.dut.busy, 400)
            await story(ctx, partner.dut.statistics)

        partner.simulate(whole)

    return simulate


def test_stop_in_the_middle_and_start_again(partner):
    """What waits is still checked; the second run asks from the beginning."""
    dut = partner.dut

    @story_of(partner, READS, outstanding=4)
    async def story(ctx, statistics):
        ctx.set(dut.start, 1)
        await ctx.tick().repeat(RISE + 2)
        ctx.set(dut.start, 0)
        await ctx.tick()
        asked = len(partner.requests)
        assert 0 < asked < 5 and ctx.get(dut.outstanding)
        # A start while the first run drains is a run of its own, after it.
        ctx.set(dut.start, 1)
        waiting = True
        while waiting:
            *_, done, waiting = await ctx.tick().sample(dut.done, dut.outstanding)
            assert not done, "the end of the first run is not that of the second"
        assert len(partner.requests) == asked
        await ctx.tick().repeat(30)
        ctx.set(dut.start, 0)
        await partner.until(ctx, ~dut.busy, 100)
        again = [request.addr for request in partner.requests[asked:]]
        assert again == [64 * plan.line for plan, _ in zip(plans(READS), again)] and len(again) > asked
        assert ctx.get(statistics.counts.requests) == ctx.get(statistics.counts.responses) == len(partner.requests)
        assert ctx.get(statistics.first_error.kind) == ErrorKind.NONE


def test_stop_without_credits_and_clear_without_responses(partner):
    """Neither hangs: a Request that was never accepted is withdrawn, one that is never answered is forgotten."""
    dut = partner.dut

    @story_of(partner, READS, outstanding=4, time_out=0)
    async def story(ctx, statistics):
        partner.accepts = False
        ctx.set(dut.start, 1)
        await ctx.tick().repeat(40)
        assert ctx.get(dut.req.valid) and not ctx.get(statistics.counts.requests)
        ctx.set(dut.start, 0)
        await partner.until(ctx, ~dut.busy, 5)
        assert not partner.requests

        partner.accepts, partner.spoil = True, lambda number, beats: []
        ctx.set(dut.start, 1)
        await ctx.tick().repeat(100)
        assert len(partner.requests) == 4 == ctx.get(dut.outstanding)
        ctx.set(dut.start, 0)
        await ctx.tick().repeat(50)
        assert ctx.get(dut.busy)
        await partner.clear(ctx)
        assert not ctx.get(dut.outstanding) and not ctx.get(statistics.counts.requests) and not ctx.get(dut.busy)

        partner.forget()
        ctx.set(dut.settings.requests, 9)
        await partner.run(ctx)
        assert [request.tag for request in partner.requests][:4] == [0, 1, 2, 3]
        assert ctx.get(statistics.counts.responses) == 9
        assert ctx.get(statistics.first_error.kind) == ErrorKind.NONE


def test_tags_lost_are_not_used_again(partner):
    """With all tags lost the run stands still, and a stop ends it."""
    dut = partner.dut

    @story_of(partner, READS, outstanding=4, time_out=30)
    async def story(ctx, statistics):
        lost = {1, 2, 5, 9}
        partner.spoil = lambda number, beats: [] if number in lost else beats
        ctx.set(dut.start, 1)
        await partner.until(ctx, dut.lost == 4, 600)
        tags = [request.tag for request in partner.requests]
        assert len({tags[number] for number in lost}) == 4
        for number in lost:
            assert tags[number] not in tags[number + 1 :]
        await ctx.tick().repeat(20)
        assert len(partner.requests) == len(tags) and ctx.get(statistics.counts.time_outs) == 4
        ctx.set(dut.start, 0)
        await partner.until(ctx, ~dut.busy, 10)


@pytest.mark.parametrize(
    ("rate", "outstanding", "most"), [(1 << 12, 4, 1 / 16), (45_000, 1, 1 / (DELAY + 2)), (0xC000, 4, None)]
)
def test_rate_and_requests_outstanding(rate, outstanding, most):
    """The smaller limit holds; with neither in the way tags come back as fast as Responses do."""
    partner = Partner(tags=4 if most else 16)
    dut = partner.dut
    asked = 24

    @story_of(partner, READS, outstanding=outstanding if most else 16, rate=rate, requests=asked)
    async def story(ctx, statistics):
        await partner.run(ctx)
        cycles = ctx.get(statistics.counts.cycles)
        expected = asked / (most or rate / (1 << 16))
        assert abs(cycles - expected) < DELAY + 10
        assert ctx.get(dut.statistics.counts.requests) == asked
        # A Response that comes DELAY cycles after its Request is matched one cycle later.
        for name in ("min", "max"):
            assert ctx.get(getattr(statistics, f"read_latency_{name}")) == DELAY + 1
        assert ctx.get(statistics.counts.read_latency_sum) == asked * (DELAY + 1)
        index = next(n for n in range(92) if least_of_bin(n) <= DELAY + 1 < least_of_bin(n + 1))
        ctx.set(dut.index, index)
        await ctx.tick()
        assert ctx.get(dut.count) == asked


def test_old_data_are_right_only_where_nothing_was_to_be_written(partner):
    """A verifying Read wants what a sparse Write has enabled to be new, the rest new or old; each byte for itself."""
    dut = partner.dut
    old = 77
    settings = Settings(
        pattern=Pattern.STRIDE, stride=1, size=0, read=0, write=256, sparse=True, own=OWN, first=OTHER, region=1
    )

    @story_of(partner, settings, requests=8, old_seed=old, outstanding=4)
    async def story(ctx, statistics):
        await partner.run(ctx)
        written = partner.written
        assert len(written) == 8 and all(0 < beat.byte_en < ALL_LANES for beat in written)
        # The memory has the old data wherever the Writes have left it alone.
        memory = partner.completer.memory
        for number, beat in enumerate(written):
            before = line_data(number, OTHER, old)
            new = line_data(number, OTHER, SEED)
            assert beat.data == new
            memory.lines[64 * number] = bytearray(
                new[lane] if beat.byte_en >> lane & 1 else before[lane] for lane in range(64)
            )
        ctx.set(dut.settings.verify, 1)
        await partner.run(ctx)
        assert ctx.get(statistics.first_error.kind) == ErrorKind.NONE
        # A Write that was lost: enabled bytes are old. A byte that is neither.
        memory.lines[64 * 3] = bytearray(line_data(3, OTHER, old))
        lost = sum(
            written[3].byte_en >> lane & 1
            for lane, (a, b) in enumerate(zip(line_data(3, OTHER, old), line_data(3, OTHER, SEED)))
            if a != b
        )
        await partner.run(ctx)
        assert ctx.get(statistics.counts.wrong_bytes) == lost > 8
        ctx.set(dut.settings.verify, 0)
        ctx.set(dut.settings.read, 256)
        await partner.run(ctx)
        assert ctx.get(statistics.counts.wrong_bytes) == lost
        memory.lines[64 * 5][60] ^= 0xFF
        await partner.run(ctx)
        neither = memory.lines[64 * 5][60] not in (line_data(5, OTHER, old)[60], line_data(5, OTHER, SEED)[60])
        assert ctx.get(statistics.counts.wrong_bytes) == lost + neither
        ctx.set(dut.settings.check, 0)
        await partner.run(ctx)
        assert ctx.get(statistics.counts.wrong_bytes) == lost + neither
