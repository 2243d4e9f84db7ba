"""Two whole data links on a wire that loses flits: nothing is lost, doubled or out of order.

CI draws one run of losses; ``make soak`` (UALINK_SOAK=1) more.
"""

import os
import random
from itertools import pairwise

import pytest

from support.link_bench import CONFIG, DATA_LINKS, Bench
from ualink.phy.interface import TxKind
from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader, decode_header

pytestmark = DATA_LINKS

SEEDS = range(20) if os.environ.get("UALINK_SOAK") else (1,)
QUIET = 20
"""TL flits each way before anything is lost."""


def headers(end, since=0):
    """(slot number, header) of every DL flit sent from slot ``since`` on."""
    for n, slot in enumerate(end.slots[since:], since):
        if slot.kind == TxKind.DATA.value and len(slot.data) == 640:
            yield n, decode_header(slot.header)


def requests(end, since=0):
    return [(n, h.ack_req_seq) for n, h in headers(end, since) if isinstance(h, CommandHeader) and h.replay_request]


def replays(end, since=0):
    return [(n, h) for n, h in headers(end, since) if isinstance(h, ExplicitHeader) and h.replay]


def lossy(bench, losing, fate="lost"):
    """Flits of end a whose number counted from now is in ``losing`` do not arrive."""
    start = len(bench.a.slots)
    bench.fate = lambda end, number: fate if end is bench.a and number - start in losing else None
    return start


@pytest.mark.req("DL-119", "DL-123", "DL-124", "DL-126", "DL-128", "DL-130", "DL-131", "DL-140", "DL-160", "DL-161")
@pytest.mark.req("DL-004", "DL-146", "DL-154", "DL-162", "DL-163", "DL-178", "DL-180")
@pytest.mark.parametrize(("lost", "phase", "fate"), [(1, 0, "corrupt"), (1, 3, "lost"), (3, 5, "lost"), (7, 2, "lost")])
def test_one_burst(lost, phase, fate):
    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        await bench.exchange(ctx, QUIET)
        start = lossy(bench, range(2 + phase, 2 + phase + lost), fate)
        await bench.exchange(ctx, 100)
        assert b.status(ctx, "replays_requested") == 1 and a.status(ctx, "replays_accepted") == 1
        assert b.status(ctx, "crc_errors" if fate == "corrupt" else "lost_flits") == lost
        asked = requests(b)
        assert len(asked) == 3 and len({number for _, number in asked}) == 1
        assert all(second - first >= 4 for (first, _), (second, _) in pairwise(asked))
        first_replay = replays(a)[0][1]
        assert first_replay.flit_seq_no == asked[0][1]
        assert replays(a)[0][0] > start + 2 + phase

    Bench(latency=15).run(story)


@pytest.mark.req("DL-129", "DL-148")
@pytest.mark.parametrize("group", [1, 2])
def test_copies_of_a_request_start_one_replay(group):
    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        await bench.exchange(ctx, QUIET)
        lossy(bench, [4])
        await bench.exchange(ctx, 80)
        asked = requests(b)
        assert [second - first for (first, _), (second, _) in pairwise(asked)] in (
            [[1, 1], [1, 2], [2, 1]] if group == 1 else [[2, 2], [2, 3], [3, 2]]
        )
        assert a.status(ctx, "replays_accepted") == 1

    Bench(latency=15, control={"codeword_group": group}).run(story)


@pytest.mark.req("DL-119", "DL-128", "DL-138", "DL-155")
def test_all_requests_lost():
    """Only the repetition after Rx_replay_limit flit times gets the replay going."""

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        await bench.exchange(ctx, QUIET)
        lossy(bench, [4])
        lose_a = bench.fate
        lost = []

        def fate(end, number):
            if end is b and len(lost) < 12 and bench.asked:
                lost.append(number)
                return "lost"
            return lose_a(end, number)

        bench.asked = False
        bench.fate = fate
        for end in bench.ends:
            end.sent.clear()
            end.received.clear()
            end.to_send.extend((n, 0) for n in range(100))
        await bench.until(ctx, lambda: b.status(ctx, "rx_replay"))
        bench.asked = True
        await bench.until(ctx, lambda: all(len(end.received) == 100 for end in bench.ends))
        assert b.received == a.sent and a.received == b.sent
        assert b.status(ctx, "replays_requested") >= 2
        assert len(requests(b)) >= 6

    Bench(latency=15, control={"rx_replay_limit": 30}).run(story)


@pytest.mark.req("DL-119", "DL-140", "DL-155")
def test_first_replayed_flit_lost():
    async def story(bench, ctx):
        a = bench.a
        await bench.bring_up(ctx)
        await bench.exchange(ctx, QUIET)
        start = lossy(bench, [4])
        lose_one = bench.fate
        lost = []

        def fate(end, number):
            # The replay starts with the slot in which Tx_replay is seen, or with the one after it.
            if end is a and number > start + 4 and a.status(ctx, "tx_replay") and not lost:
                lost.extend((number, number + 1))
            return "lost" if end is a and number in lost else lose_one(end, number)

        bench.fate = fate
        await bench.exchange(ctx, 100)
        assert lost and replays(a)[0][0] in lost
        assert a.status(ctx, "replays_accepted") >= 2

    Bench(latency=15, control={"rx_replay_limit": 25}).run(story)


@pytest.mark.req("DL-139", "DL-142", "DL-165")
def test_forward_progress_is_owed_only_for_flits_that_are_held():
    """With a short time-out: a link in Up that owes no Ack stays up; one whose Acks are lost goes down."""
    time_out = 25

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        await bench.exchange(ctx, QUIET)
        assert a.status(ctx, "held") == b.status(ctx, "held") == 0
        start = len(a.slots)
        await bench.until(ctx, lambda: len(a.slots) > start + 3 * time_out)
        for end in bench.ends:
            assert end.status(ctx, "link_downs") == end.status(ctx, "forward_progress_time_outs") == 0
        bench.fate = lambda end, number: "lost" if end is b else None
        a.to_send.append((0, 0))
        await bench.until(ctx, lambda: a.status(ctx, "held") == 1)
        start = len(a.slots)
        await bench.until(ctx, lambda: a.status(ctx, "link_downs"))
        assert time_out - 2 <= len(a.slots) - start <= time_out + 2
        assert a.status(ctx, "forward_progress_time_outs") == 1

    Bench(latency=15, control={"tx_ack_time_out": time_out}).run(story)


@pytest.mark.soak
@pytest.mark.req("DL-119", "DL-123", "DL-122", "DL-156", "DL-180")
@pytest.mark.parametrize("seed", SEEDS)
def test_random_loss(seed):
    """Both directions lose and corrupt flits, alone and in bursts of up to eight, under stalls of all sides."""
    rng = random.Random(seed)
    bursts = {"a": 0, "b": 0}

    def fate(end, number):
        if bursts[end.name]:
            bursts[end.name] -= 1
            return "lost"
        x = rng.random()
        if x < 0.02:
            bursts[end.name] = rng.randrange(8)
            return "lost"
        if x < 0.05:
            return "corrupt"
        return "control" if x < 0.06 else None

    async def story(bench, ctx):
        await bench.bring_up(ctx)
        bench.fate = fate
        bench.a.ready, bench.b.ready = rng.choice([1, 0.8]), rng.choice([1, 0.8])
        bench.a.offer, bench.b.offer = rng.choice([1, 0.5]), rng.choice([1, 0.2])
        await bench.exchange(ctx, 150, limit=12000)
        for end in bench.ends:
            assert end.status(ctx, "link_downs") == 0
            assert end.status(ctx, "protocol_errors") == 0

    config = CONFIG.replace(replay_depth=rng.choice([4, 16, 64]))
    control = {"rx_replay_limit": 60, "codeword_group": rng.choice([1, 2, 4])}
    Bench(latency=rng.choice([5, 30, 80]), seed=seed, config=config, control=control).run(story)
