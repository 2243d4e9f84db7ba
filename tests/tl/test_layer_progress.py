"""Two transaction layers never stand still: least credits, credits of VCs only, Requests that wait for Responses."""

import random

import pytest

from support.tl.layer import LAYERS, SMALL, Side, arriving, check_beats, short, simulate, step, traffic
from support.tl.stimulus import READ, WRITE, read_response, request, write_response
from ualink.config import Credits

pytestmark = LAYERS

READS = (READ, 0x08, 0x0F)
PATIENCE = 100
"""Cycles without a single beat received at either end after which the link counts as stuck or finished."""


def credits(cmd, beats):
    return SMALL.replace(req_cmd=cmd, rsp_cmd=cmd, req_data=beats, rsp_data=beats)


LEAST = credits(Credits(pool=1), Credits(pool=4))
EVERY_VC = credits(Credits(vc=(1, 1, 1, 1)), Credits(vc=(4, 4, 4, 4)))
ONE_VC = credits(Credits(vc=(0, 0, 1, 0)), Credits(vc=(0, 0, 4, 0)))


class Server(Side):
    """Answers every Request that it takes, and takes one only while no answer waits to be sent.

    ``members`` are those of the answers that are not random; ``answers`` has the beats of those given, by channel.
    """

    def __init__(self, end, rng, valid, ready, members):
        super().__init__(end, rng, valid, ready)
        self.members = members
        self.answers = {"rd_rsp": [], "wr_rsp": []}
        self.amid_data = False

    def drive(self, ctx):
        self.starts = super().accepts("req") and not any(self.waiting[channel] for channel in self.answers)
        super().drive(ctx)

    def accepts(self, channel):
        if channel in ("req", "orig_data"):
            return self.starts or (channel == "orig_data" and self.amid_data)
        return super().accepts(channel)

    def received(self, channel, beat):
        super().received(channel, beat)
        if channel == "orig_data":
            self.amid_data = not beat["last"]
        elif channel == "req":
            common = {"rng": self.rng, "tag": beat["tag"], **self.members}
            if beat["cmd"] in READS:
                self.answer("rd_rsp", read_response(self.rng.randint(1, 4), **common))
            else:
                self.answer("wr_rsp", [write_response(**common)])

    def answer(self, channel, beats):
        self.answers[channel] += beats
        self.waiting[channel] += beats


async def until_quiet(ctx, sides, prepare=lambda cycle: None, patience=PATIENCE):
    """Run until nothing has been received for ``patience`` cycles; ``prepare(cycle)`` comes before each cycle."""
    quiet = cycle = 0
    while quiet < patience:
        received = sum(side.count() for side in sides)
        prepare(cycle)
        await step(ctx, sides)
        cycle += 1
        quiet = 0 if sum(side.count() for side in sides) > received else quiet + 1


@pytest.mark.req("TL-215", "TL-146", "TL-148", "TL-150")
@pytest.mark.parametrize("stalls", [(1.0, 1.0, 0.0), (0.4, 0.4, 0.3)], ids=["at full speed", "with stalls"])
@pytest.mark.parametrize(
    "configs, vcs",
    [
        pytest.param((LEAST, LEAST), (None, None), id="least credits"),
        # End 0 spends the credits of end 1, and the other way round.
        pytest.param((EVERY_VC, ONE_VC), (2, None), id="credits of VCs only"),
    ],
)
def test_requests_and_their_answers_both_ways(configs, vcs, stalls):
    """Each end takes a Request only if no answer of its own waits, so Requests wait for Responses all the time."""
    valid, ready, stall = stalls
    rng = random.Random(f"{vcs} {stalls}")
    members = [{} if vc is None else {"vc": vc} for vc in vcs]
    stimuli = [traffic(rng, 12, **fixed) for fixed in members]
    for stimulus, fixed in zip(stimuli, members):
        stimulus.requests += [request(cmd, beats=4, rng=rng, **fixed) for cmd in (READ, WRITE)]
        stimulus.reads.clear()
        stimulus.writes.clear()
    sides = []

    async def body(ctx, link):
        sides.extend(Server(end, rng, valid, ready, fixed) for end, fixed in zip(link.ends, members))
        for side, stimulus in zip(sides, stimuli):
            side.waiting = stimulus.beats()
            ctx.set(side.end.online, 1)

        def prepare(cycle):
            ctx.set(link.stall, sum((rng.random() < stall) << n for n in range(2)))

        await until_quiet(ctx, sides, prepare)

    simulate(body, *configs)
    for side, partner, stimulus in zip(sides, sides[::-1], stimuli[::-1]):
        answers = {channel: [short(beat) for beat in beats] for channel, beats in partner.answers.items()}
        expected = {**arriving(stimulus), **answers}
        for channel, beats in expected.items():
            assert [{name: beat[name] for name in beats[0]} for beat in side.got[channel]] == beats, channel


@pytest.mark.req("TL-215", "SW-015", "SW-016")
@pytest.mark.parametrize(
    "blocked, moving",
    [(("req", "orig_data"), ("rd_rsp", "wr_rsp")), (("rd_rsp", "wr_rsp"), ("req", "orig_data"))],
)
def test_one_kind_does_not_move_and_the_other_does(blocked, moving):
    """All credits of the blocked kind are spent and its transmitters are stuck; it goes on when it may."""
    rng = random.Random(7)
    stimuli = [traffic(rng, 14) for _ in range(2)]
    sides = []

    async def body(ctx, link):
        sides.extend(Side(end, rng, 1.0, 1.0) for end in link.ends)
        for side, stimulus in zip(sides, stimuli):
            side.waiting, side.blocked = stimulus.beats(), blocked
            ctx.set(side.end.online, 1)
        await until_quiet(ctx, sides)
        for side, stimulus in zip(sides, stimuli[::-1]):
            sent = arriving(stimulus)
            assert all(len(side.got[channel]) == len(sent[channel]) for channel in moving)
            assert not side.count(*blocked) and side.waiting[blocked[0]]
            side.blocked = ()
        await until_quiet(ctx, sides)

    simulate(body, SMALL, SMALL)
    for side, stimulus in zip(sides, stimuli[::-1]):
        check_beats(side.got, stimulus)


@pytest.mark.req("TL-215")
def test_a_read_burst_that_stalls_delays_and_does_not_stop():
    """Its owed data hold up the flits behind them; all that waited goes on when the beats come."""
    rng = random.Random(8)
    stimuli = [traffic(rng, 6, errors=0) for _ in range(2)]
    sides = []

    async def body(ctx, link):
        sides.extend(Side(end, rng, 1.0, 1.0) for end in link.ends)
        for side, stimulus in zip(sides, stimuli):
            side.waiting = stimulus.beats()
            ctx.set(side.end.online, 1)

        def prepare(cycle):
            for n, side in enumerate(sides):
                # Often no beat but the first, for as long as everything else takes to come to a stand.
                beats = side.waiting["rd_rsp"]
                amid = beats and beats[0]["num_beats"] and beats[0]["offset"]
                side.held = {"rd_rsp"} if amid and (cycle + 20 * n) % 80 < 60 else set()

        await until_quiet(ctx, sides, prepare)

    simulate(body, LEAST, LEAST)
    for side, stimulus in zip(sides, stimuli[::-1]):
        check_beats(side.got, stimulus)
