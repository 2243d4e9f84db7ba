"""Which class of credit pays for a beat: the Pool for every VC, then the VC's own (UALink_200 §2.6)."""

import pytest

from support.upli.pair import Pair, simulate
from ualink.config import Credits
from upli.test_agents import CONFIG, READ, Feed, request

POOL, OWN = 1, 0
MANY = 7


@pytest.mark.req("UPLI-107", "UPLI-117", "UPLI-118", "UPLI-119", "UPLI-169")
@pytest.mark.parametrize("vc", range(4))
@pytest.mark.parametrize(
    ("credits", "classes"),
    [
        (Credits(pool=3), lambda vc: [POOL] * 3),
        (Credits(vc=(0, 2, 0, 0)), lambda vc: [OWN] * 2 * (vc == 1)),
        (Credits(pool=2, vc=(0, 0, 3, 1)), lambda vc: [POOL] * 2 + [OWN] * (0, 0, 3, 1)[vc]),
    ],
    ids=["Pool alone", "VC 1 alone", "both"],
)
def test_each_account_can_be_drained_and_no_further(credits, classes, vc):
    """While nothing is returned, as many Reads go out as the Pool and their VC have credits together."""
    pair = Pair(CONFIG.replace(req=credits), 1)
    feed = Feed(pair, [(pair.originator.req[0], [request(READ, vc=vc, tag=tag) for tag in range(MANY)])])

    async def bench(ctx):
        wire = await feed.watch(ctx, 30, take=False)
        beats = [seen.req for seen in wire if seen.req.vld]
        assert [beat.pool for beat in beats] == classes(vc)
        assert all(beat.vc == vc for beat in beats)

    simulate(pair, bench)


@pytest.mark.req("UPLI-118", "UPLI-121")
def test_returned_credits_pay_again_as_what_they_were():
    """A Pool of one and one credit of VC 3: whoever is back first pays next, and all Reads get through."""
    pair = Pair(CONFIG.replace(req=Credits(pool=1, vc=(0, 0, 0, 1))), 1)
    feed = Feed(pair, [(pair.originator.req[0], [request(READ, vc=3, tag=tag) for tag in range(MANY)])])

    async def bench(ctx):
        wire = await feed.watch(ctx, 60)
        beats = [seen.req for seen in wire if seen.req.vld]
        assert [beat.tag for beat in beats] == list(range(MANY))
        assert {beat.pool for beat in beats} == {POOL, OWN}

    simulate(pair, bench)
