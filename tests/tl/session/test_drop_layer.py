"""Two transaction layers of which one enters and leaves Drop Mode again and again: transfers arrive whole or not."""

import random
from collections import deque

import pytest

from support.tl.layer import LAYERS, SMALL, Side, arriving, run_for, simulate, step, traffic
from support.tl.stimulus import CHANNELS

pytestmark = LAYERS

EPISODES, COUNT = 3, 40


def numbered(rng, count):
    """Traffic whose transfers have their own tags: all beats of one have the same ``tag`` or stand behind it."""
    stimulus = traffic(rng, count, errors=0.0)
    for transfers in (stimulus.requests, stimulus.reads, stimulus.writes):
        for tag, transfer in enumerate(transfers):
            head = transfer[0] if isinstance(transfer, tuple) else transfer
            for beat in head if isinstance(head, list) else [head]:
                beat["tag"] = tag
    return stimulus


def check_whole(got, stimulus):
    """What came is part of ``stimulus``, in order, and every transfer in it has all of its beats."""
    tags = [beat["tag"] for beat in got["req"]]
    assert tags == sorted(set(tags))
    chosen = [stimulus.requests[tag] for tag in tags]
    reads = sorted({beat["tag"] for beat in got["rd_rsp"]})
    writes = [beat["tag"] for beat in got["wr_rsp"]]
    assert writes == sorted(set(writes))
    kept = type(stimulus)(chosen, [stimulus.reads[tag] for tag in reads], [stimulus.writes[tag] for tag in writes])
    for channel, expected in arriving(kept).items():
        names = expected[0] if expected else ()
        assert [{name: beat[name] for name in names} for beat in got[channel]] == expected, channel
    return len(tags), len(reads), len(writes)


@pytest.mark.req("TL-216", "RAS-045", "RAS-047", "RAS-052", "RAS-053", "RAS-054", "RAS-055")
@pytest.mark.parametrize("cause", ["control_error", "link_down"])
def test_transfers_arrive_whole_or_not_at_all(cause):
    rng = random.Random(cause)
    stimuli = [numbered(rng, COUNT) for _ in range(2)]
    sides = []

    async def body(ctx, link):
        sides.extend(Side(end, rng, 0.8, 0.8) for end in link.ends)
        first = sides[0].end

        async def run_for(cycles):
            for _ in range(cycles):
                await step(ctx, sides)

        async def link_state(up):
            for side in sides:
                ctx.set(side.end.online, up)
            await run_for(10)

        async def clear(end):
            ctx.set(end.control.clear_drop, 1)
            await run_for(1)
            ctx.set(end.control.clear_drop, 0)
            await run_for(1)

        for side, stimulus in zip(sides, stimuli):
            side.waiting = stimulus.beats()
        await link_state(1)
        for _ in range(EPISODES):
            await run_for(rng.randrange(30, 60))  # the first fields come some 40 cycles after the rise
            if cause == "link_down":
                await link_state(0)
                assert ctx.get(first.error), "the link stays down"
                await link_state(1)
            else:
                ctx.set(first.control_error, 1)
                await run_for(1)
                ctx.set(first.control_error, 0)
            await run_for(2)
            before = sum(map(len, sides[0].waiting.values()))
            await run_for(10)  # what was on its way, and a transfer that has begun, may still come
            late = sides[0].count()
            for _ in range(rng.randrange(5, 20)):
                await step(ctx, sides)
                assert ctx.get(first.status.dropping) and not ctx.get(first.tx_flit.valid)
            assert sides[0].count() == late, "dropped towards UPLI"
            assert sum(map(len, sides[0].waiting.values())) < before or not before, "accepted from UPLI"
            await clear(first)
            assert ctx.get(first.error) and ctx.get(first.status.dropping)
            await link_state(0)
            await clear(sides[1].end)
            assert not ctx.get(first.error) and ctx.get(first.status.dropping), "until the next session"
            await link_state(1)
            assert not ctx.get(first.status.dropping)
        for _ in range(40):
            await run_for(25)
            if not any(any(side.waiting.values()) for side in sides):
                break
        await run_for(60)
        assert not any(any(side.waiting.values()) for side in sides), "everything went somewhere"

    simulate(body, SMALL, SMALL)
    counts = [check_whole(side.got, stimulus) for side, stimulus in zip(sides, stimuli[::-1])]
    assert 0 < sum(counts[1]) < 3 * COUNT and sum(counts[0])


@pytest.mark.req("TL-216", "RAS-053", "RAS-054")
def test_a_beat_taken_while_dropping_is_not_told_arrives():
    """Beats that are offered in every cycle around the rise of the link that ends Drop Mode."""
    rng = random.Random(7)
    stimulus = traffic(rng, 9, errors=0.0)
    sides, found = [], []

    async def body(ctx, link):
        sides.extend(Side(end, rng, 1.0, 1.0) for end in link.ends)
        first, second = sides

        async def both(name, level):
            for side in sides:
                ctx.set(getattr(side.end, name) if name == "online" else side.end.control.clear_drop, level)
            await run_for(ctx, sides, 6 if name == "online" else 1)

        await both("online", 1)
        for offset in range(-4, 5):
            await both("online", 0)
            await both("clear_drop", 1)
            await both("clear_drop", 0)
            request, data = stimulus.requests.pop()
            offered = {"req": [request], "orig_data": data, "wr_rsp": [stimulus.writes.pop()]}
            dropped, second.got = set(), {channel: [] for channel in CHANNELS}
            for cycle in range(-4, 60):
                for side in sides:
                    ctx.set(side.end.online, cycle >= 0)
                if cycle == offset:
                    first.waiting |= {channel: deque(beats) for channel, beats in offered.items()}
                told = ctx.get(first.end.status.dropping)
                before = {channel: len(first.waiting[channel]) for channel in offered}
                await step(ctx, sides)
                taken = {channel for channel in ("req", "wr_rsp") if len(first.waiting[channel]) < before[channel]}
                dropped |= taken if told else set()
            assert not any(first.waiting.values())
            arrived = {channel: len(second.got[channel]) for channel in offered}
            whole = {channel: len(beats) for channel, beats in offered.items()}
            assert arrived["wr_rsp"] == (0 if "wr_rsp" in dropped else 1), offset
            assert (arrived["req"], arrived["orig_data"]) == (
                (0, 0) if "req" in dropped else (1, whole["orig_data"])
            ), offset
            found.append(dropped)

    simulate(body, SMALL, SMALL)
    assert found == [{"req", "wr_rsp"}] * 5 + [set()] * 4, "dropping ends with the cycle in which the link rises"


@pytest.mark.req("TL-216", "RAS-053", "RAS-054")
@pytest.mark.parametrize("blocked", ["req", "orig_data"])
@pytest.mark.parametrize("beats", [1, 3])
def test_a_transfer_half_of_which_has_left_is_finished(blocked, beats):
    """Of a Request and its first beat one has been taken, in the cycles before, when Drop Mode begins."""
    rng = random.Random(5)
    transfers = [(head, data) for head, data in traffic(rng, 60, errors=0.0).requests if len(data) == beats]
    other = {"req": "orig_data", "orig_data": "req"}[blocked]
    sides = []

    async def body(ctx, link):
        sides.extend(Side(end, rng, 1.0, 1.0) for end in link.ends)
        first, second = sides
        for later in range(4):
            for side in sides:
                ctx.set(side.end.control.clear_drop, 1)
                ctx.set(side.end.online, 0)
            await run_for(ctx, sides, 4)
            for side in sides:
                ctx.set(side.end.control.clear_drop, 0)
                ctx.set(side.end.online, 1)
            await run_for(ctx, sides, 12)
            head, data = transfers.pop()
            first.got = {channel: [] for channel in CHANNELS}
            first.blocked = (blocked,)
            second.waiting |= {"req": deque([head]), "orig_data": deque(data)}
            for _ in range(60):
                await step(ctx, sides)
                if first.count(other):
                    break
            await run_for(ctx, sides, later)
            assert first.count(other) == 1 and not first.count(blocked)
            ctx.set(first.end.control_error, 1)
            await run_for(ctx, sides, 1)
            ctx.set(first.end.control_error, 0)
            await run_for(ctx, sides, 6)
            assert ctx.get(first.end.status.dropping) and first.count() == 1
            first.blocked = ()
            await run_for(ctx, sides, 10)
            assert [beat["tag"] for beat in first.got["req"]] == [head["tag"]], later
            assert [beat["data"] for beat in first.got["orig_data"]] == [beat["data"] for beat in data], later

    simulate(body, SMALL, SMALL)
