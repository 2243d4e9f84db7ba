"""Single-bit upsets in two whole data links under traffic: found, or without effect, and the link starts anew."""

import random

import pytest

from support.link_bench import CONFIG, DATA_LINKS, Bench
from support.upsets import Memory, flip
from ualink.dl.interface import LinkState

pytestmark = DATA_LINKS

PROTECTED = ("packer", "transmit", "receive_buffer", "unpacker", "containment")
CERTAIN = (("packer", "state", "q"), ("unpacker", "state", "q"))
"""Registers in which no upset stays without effect: one for each direction."""
UPSETS = 4


def protected(place):
    """Above the replay function: not the scheduler of its headers."""
    return place.path[1] in PROTECTED and "scheduler" not in place.path


@pytest.mark.req("DL-179", "DL-181", "DL-182", "DL-177")
@pytest.mark.parametrize("seed", range(2))
def test_random_upsets(seed):
    rng = random.Random(seed)
    found = []

    async def story(bench, ctx):
        places = [place for place in bench.places if protected(place)]
        chosen = [next(place for place in places if place.path[1:] == path) for path in CERTAIN]
        chosen += rng.sample(places, UPSETS - len(chosen))
        for place in chosen:
            await bench.bring_up(ctx)
            for end in bench.ends:
                end.sent.clear()
                end.received.clear()
                end.marked = 0
                end.to_send.extend((rng.getrandbits(512), rng.getrandbits(2)) for _ in range(40))
            await bench.step(ctx, rng.randrange(45, 65))
            where = flip(ctx, rng, place, rng.randrange(20) if isinstance(place, Memory) else None)
            downs = [end.status(ctx, "link_downs") for end in bench.ends]
            await bench.step(ctx, 40)
            for end, other in (bench.ends, bench.ends[::-1]):
                assert end.received == other.sent[: len(end.received)], where
            if all(end.status(ctx, "link_state") == LinkState.UP for end in bench.ends):
                await bench.until(ctx, lambda: all(len(end.received) == 40 for end in bench.ends))
            else:
                found.append(where)
                for end, before in zip(bench.ends, downs, strict=True):
                    await bench.until(ctx, lambda end=end, before=before: end.status(ctx, "link_downs") > before)
                for end in bench.ends:
                    end.to_send.clear()
                    end.withdraw(ctx)
            for end, other in (bench.ends, bench.ends[::-1]):
                assert end.received == other.sent[: len(end.received)], where

        await bench.bring_up(ctx)
        for end in bench.ends:
            end.marked = 0
        await bench.exchange(ctx, 10)

    Bench(latency=5, seed=seed, config=CONFIG.replace(replay_depth=4)).run(story)
    assert len(found) >= len(CERTAIN)
