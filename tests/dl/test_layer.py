"""Two whole data links back to back."""

import pytest

from link_bench import Bench


@pytest.mark.req("DL-001")
def test_clean():
    async def story(bench, ctx):
        await bench.bring_up(ctx)
        print("up after", bench.cycle)
        await bench.exchange(ctx, 60)
        print("done after", bench.cycle)

    Bench().run(story)
