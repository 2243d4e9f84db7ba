"""Room in the data memories: never more than there is, again in the second cycle after a place was left."""

import random

import pytest
from amaranth.hdl import ResetInserter, Signal

from support.tl.address import simulate
from ualink.tl.receive.data_room import DataRoom


@pytest.mark.parametrize("places, leave", [(1, 1), (2, 1), (5, 2)])
def test_room_is_what_is_left(places, leave):
    """A restart at any time, also in the cycle in which a place is left and in the two behind it."""
    restart = Signal()
    room = DataRoom(places, leave)
    rng = random.Random(places)
    seen = {"full": 0, "refilled": 0, "restarted": 0}

    async def bench(ctx):
        taken, late, restarted = 0, 0, 0
        for cycle in range(2_000):
            assert ctx.get(room.room) == (taken < places), f"cycle {cycle}"
            seen["full"] += taken == places
            take = taken < places and rng.random() < 0.6
            left = min(rng.choice((0, 0, 1, leave)), taken - late)
            again = rng.random() < 0.05 or (late > 0 and rng.random() < 0.1) or (restarted and rng.random() < 0.3)
            ctx.set(room.take, take)
            ctx.set(room.left, rng.choice((1, 2)) if left == 1 and leave == 2 else (1 << left) - 1)
            ctx.set(restart, again)
            seen["refilled"] += take and late > 0
            seen["restarted"] += again and (left > 0 or late > 0)
            taken, late, restarted = (0, 0, 1) if again else (taken + take - late, left, 0)
            await ctx.tick()

    simulate(ResetInserter(restart)(room), bench)
    assert all(seen.values()) or (places == 1 and not seen["refilled"]), seen
