"""Upsets of all that a switch core and its agents hold, one after the other: none leaves as good."""

import pytest

from support.switch.upsets import UpsetBench


@pytest.mark.soak
@pytest.mark.req("RAS-030", "RAS-039", "RAS-040")
@pytest.mark.parametrize("seed", range(8))
def test_no_upset_leaves_as_good(seed):
    """Of anything in the core, or in an agent before it, that is wide enough for a beat."""
    bench = UpsetBench(seed)
    shown = 0

    async def body(ctx):
        nonlocal shown
        await bench.open_routes(ctx)
        for _ in range(40):
            await bench.episode(ctx, bench.rng.choice(bench.places))
            shown += bool(bench.seen)

    bench.simulate(body, bench.design)
    assert shown > 10
