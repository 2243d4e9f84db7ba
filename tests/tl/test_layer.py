"""Two transaction layers facing each other: every beat of four channels, both ways, arrives once and whole."""

import random
from collections import deque
from itertools import chain

import pytest

from support.tl.layer import LAYERS, SMALL, Side, arriving, check_beats, run_for, simulate, step, traffic
from support.tl.stimulus import CHANNELS

pytestmark = LAYERS


@pytest.mark.req(
    *("TL-001", "TL-002", "TL-024", "TL-026", "TL-031", "TL-036", "TL-042", "TL-076", "TL-077", "TL-085", "TL-101"),
    *("TL-104", "TL-146", "TL-151", "TL-157", "TL-163", "TL-164", "TL-173", "TL-177", "TL-181"),
    *("TL-182", "TL-214", "TL-217", "TL-219"),
)
@pytest.mark.parametrize("seed, valid, ready, stall", [(1, 1.0, 1.0, 0.0), (2, 0.6, 0.5, 0.3)])
def test_both_ways_at_once(seed, valid, ready, stall):
    rng = random.Random(seed)
    stimuli = [traffic(rng, 16) for _ in range(2)]
    total = sum(len(beats) for stimulus in stimuli for beats in arriving(stimulus).values())
    sides = []

    async def body(ctx, link):
        sides.extend(Side(end, rng, valid, ready) for end in link.ends)
        for side, stimulus in zip(sides, stimuli):
            side.waiting = stimulus.beats()
            ctx.set(side.end.online, 1)
        for _ in range(2000):
            ctx.set(link.stall, sum((rng.random() < stall) << n for n in range(2)))
            await step(ctx, sides)
            if sum(side.count() for side in sides) >= total:
                break

    simulate(body, SMALL, SMALL)
    for side, stimulus in zip(sides, stimuli[::-1]):
        check_beats(side.got, stimulus)


def rest_of_transfer(side, channel):
    """Beats of ``channel`` up to the end of the transfers that the layer has already begun."""
    beats = side.waiting[channel]
    if channel == "rd_rsp":
        rest = deque()
        while beats and beats[0]["num_beats"] and beats[0]["offset"]:
            rest.append(beats.popleft())
    elif channel == "orig_data":
        begun = len(beats) - sum(beat["num_beats"] + 1 for beat in side.waiting["req"] if beat["cmd"] & 0x20)
        rest = deque(list(beats)[:begun])
    else:
        rest = deque()
    side.offered[channel] = side.offered[channel] and bool(rest)
    return rest


async def clear_drop(ctx, sides):
    """Management clears Drop Mode at both ends."""
    for level in (1, 0):
        for side in sides:
            ctx.set(side.end.control.clear_drop, level)
        await run_for(ctx, sides, 1)


@pytest.mark.req("TL-221", "TL-219")
@pytest.mark.parametrize("blocked", [False, True])
def test_restart_of_both_ends(blocked):
    """The link is down for a while amid traffic; ``blocked``: one side takes no rest of a burst till long after."""
    rng = random.Random(3)
    before, after = ([traffic(rng, count) for _ in range(2)] for count in (12, 6))
    sides = []

    async def body(ctx, link):
        sides.extend(Side(end, rng, 1.0, 0.7) for end in link.ends)
        for side, stimulus in zip(sides, before):
            ctx.set(side.end.online, 1)
            side.waiting = stimulus.beats()
        await run_for(ctx, sides, 60)
        if blocked:
            burst = sides[0].end.rx_rd_rsp
            for _ in range(50):
                await run_for(ctx, sides, 1)
                if ctx.get(burst.valid) and ctx.get(burst.p.num_beats) and ctx.get(burst.p.offset):
                    break
            else:
                raise AssertionError("no burst to block")
            sides[0].blocked = CHANNELS
        await run_for(ctx, sides, 5)
        for side in sides:
            ctx.set(side.end.online, 0)
            # No more transfers from here on; the rest of those begun is still offered.
            side.waiting = {channel: rest_of_transfer(side, channel) for channel in CHANNELS}
        await run_for(ctx, sides, 10)
        await clear_drop(ctx, sides)
        for side in sides:
            ctx.set(side.end.online, 1)
        await run_for(ctx, sides, 40)
        assert [ctx.get(side.end.status.credits_ready) for side in sides] == [int(not blocked)] * 2
        sides[0].blocked = ()
        await run_for(ctx, sides, 40)
        for side, stimulus in zip(sides, after):
            assert not any(side.waiting.values()) and ctx.get(side.end.status.credits_ready)
            side.got = {channel: [] for channel in CHANNELS}
            side.waiting = stimulus.beats()
        await run_for(ctx, sides, 200)

    simulate(body, SMALL, SMALL)
    for side, stimulus in zip(sides, after[::-1]):
        check_beats(side.got, stimulus)


@pytest.mark.req("TL-216", "TL-086", "TL-221", "RAS-052", "RAS-053", "RAS-054", "RAS-055")
def test_drop_mode():
    """After a control error all beats from UPLI are taken and dropped, and none comes out; when it is left, the link
    has to go down and then carries whole transfers again."""
    rng = random.Random(4)
    before, dropped, after = ([traffic(rng, 8) for _ in range(2)] for _ in range(3))
    sides = []

    async def body(ctx, link):
        sides.extend(Side(end, rng, 1.0, 1.0) for end in link.ends)
        for side, stimulus in zip(sides, before):
            ctx.set(side.end.online, 1)
            side.waiting = stimulus.beats()
        await run_for(ctx, sides, 30)
        first = sides[0].end
        # A transmitter that has flits to send when Drop Mode begins.
        ctx.set(link.stall, 1)
        await run_for(ctx, sides, 20)
        assert ctx.get(first.tx_flit.valid)
        ctx.set(link.stall, 0)
        ctx.set(first.control_error, 1)
        await run_for(ctx, sides, 1)
        ctx.set(first.control_error, 0)
        # What comes meanwhile still belongs to a session without tags, and is followed as such.
        ctx.set(first.control.authentication, 1)
        for _ in range(40):
            assert ctx.get(first.status.dropping) and not ctx.get(first.tx_flit.valid)
            await step(ctx, sides)
        ctx.set(first.control.authentication, 0)
        assert ctx.get(first.status.dropping) and not ctx.get(first.error)
        assert ctx.get(first.status.drop_cause.control_error)
        sides[0].got = {channel: [] for channel in CHANNELS}
        sides[0].waiting = dropped[0].beats()
        for _ in range(60):
            await step(ctx, sides)
            assert not ctx.get(first.tx_flit.valid)
        assert not any(sides[0].waiting.values()) and not any(sides[0].got.values())
        await clear_drop(ctx, sides)
        await run_for(ctx, sides, 3)
        assert ctx.get(first.error) and ctx.get(first.status.dropping)
        assert not ctx.get(first.status.drop_cause.as_value())
        for side in sides:
            ctx.set(side.end.online, 0)
            side.waiting = {channel: rest_of_transfer(side, channel) for channel in CHANNELS}
        await run_for(ctx, sides, 12)
        # The other end saw a Link Down: its link stays down until it is told.
        assert [ctx.get(side.end.error) for side in sides] == [0, 1]
        await clear_drop(ctx, sides)
        assert not ctx.get(sides[1].end.error)
        for side in sides:
            ctx.set(side.end.online, 1)
        await run_for(ctx, sides, 80)
        for side, stimulus in zip(sides, after):
            assert not any(side.waiting.values()) and ctx.get(side.end.status.credits_ready)
            side.got = {channel: [] for channel in CHANNELS}
            side.waiting = stimulus.beats()
        await run_for(ctx, sides, 200)
        assert not ctx.get(first.status.dropping)

    simulate(body, SMALL, SMALL)
    for side, stimulus in zip(sides, after[::-1]):
        check_beats(side.got, stimulus)


@pytest.mark.req("RAS-106", "UPLI-381")
def test_isolate_from_the_link_is_dropped():
    """Write Responses of status 1111b that a partner sends are dropped and counted, more of them than there are
    credits; a Read Response may have that code, and all else arrives."""
    rng = random.Random(6)
    stimulus = traffic(rng, 24)
    isolating = range(0, 24, 2)
    for n in isolating:
        stimulus.writes[n]["status"] = 15
        for beat in stimulus.reads[n]:
            beat["status"] = 15
    sides = []

    async def body(ctx, link):
        sides.extend(Side(end, rng, 1.0, 1.0) for end in link.ends)
        for side in sides:
            ctx.set(side.end.online, 1)
            side.waiting = stimulus.beats()
        await run_for(ctx, sides, 500)
        for side in sides:
            assert not any(side.waiting.values())
            assert ctx.get(side.end.status.isolates) == len(isolating) > SMALL.rsp_cmd.total

    simulate(body, SMALL, SMALL)
    stimulus.writes = [beat for beat in stimulus.writes if beat["status"] != 15]
    for side in sides:
        check_beats(side.got, stimulus)


@pytest.mark.req("TL-046", "TL-047", "TL-213", "SW-075")
def test_authentication_changes_with_the_link_only():
    """Turned on amid traffic it changes nothing; after the next link down all tags arrive."""
    rng = random.Random(5)
    untagged, tagged = ([traffic(rng, 8, auth_tag=rng.getrandbits(64)) for _ in range(2)] for _ in range(2))
    sides, found = [], []

    async def body(ctx, link):
        sides.extend(Side(end, rng, 1.0, 1.0) for end in link.ends)
        for stimuli in (untagged, tagged):
            for side in sides:
                ctx.set(side.end.online, 1)
            # Dropping ends with the cycle in which the link rises.
            await run_for(ctx, sides, 1)
            for side, stimulus in zip(sides, stimuli):
                side.got = {channel: [] for channel in CHANNELS}
                side.waiting = stimulus.beats()
            await run_for(ctx, sides, 60)
            for side in sides:
                ctx.set(side.end.control.authentication, 1)
            await run_for(ctx, sides, 220)
            found.append([side.got for side in sides])
            for side in sides:
                ctx.set(side.end.online, 0)
            await run_for(ctx, sides, 5)
            await clear_drop(ctx, sides)

    simulate(body, SMALL, SMALL)
    for got, stimulus in zip(found[0], untagged[::-1]):
        for beats in (got["req"], got["rd_rsp"], got["wr_rsp"]):
            assert beats and not any(beat["auth_tag"] for beat in beats)
        requests, bursts = (req for req, _ in stimulus.requests), chain.from_iterable(stimulus.reads)
        for beat in chain(requests, bursts, stimulus.writes):
            beat["auth_tag"] = 0
        check_beats(got, stimulus)
    for got, stimulus in zip(found[1], tagged[::-1]):
        check_beats(got, stimulus)
