"""Which Requests are asked: the RTL and the model choose the same, and the shares are as the registers say."""

import random
from collections import Counter
from itertools import islice

import pytest
from amaranth.sim import Simulator

from ualink.traffic.planner import Planner
from ualink_sim.model.traffic import Command, Destinations, Pattern, Settings, plans, xorshift64


def planned(settings: list[Settings], count: int, pause: float = 0.2) -> list[list[tuple]]:
    """What the RTL plans for each of ``settings``, one run after the other."""
    planner, found, rng = Planner(), [], random.Random(1)

    async def story(ctx):
        for each in settings:
            for name, value in (vars(each) | {"base": each.base >> 2}).items():
                ctx.set(getattr(planner.settings, name), int(value))
            ctx.set(planner.restart, 1)
            await ctx.tick()
            ctx.set(planner.restart, 0)
            run = []
            while len(run) < count:
                ready = rng.random() > pause
                ctx.set(planner.plan.ready, ready)
                *_, valid, plan = await ctx.tick().sample(planner.plan.valid, planner.plan.payload)
                if ready and valid:
                    run.append((plan.command, plan.line, plan.beats + 1, plan.dst, plan.strict, plan.masked))
            found.append(run)

    simulator = Simulator(planner)
    simulator.add_clock(1e-9)
    simulator.add_testbench(story)
    simulator.run()
    return found


def expected(settings: Settings, count: int) -> list[tuple]:
    return [tuple(vars(plan).values()) for plan in islice(plans(settings), count)]


def at_random(rng: random.Random, pattern: int) -> Settings:
    return Settings(
        pattern=pattern,
        destinations=rng.randrange(3),
        skip_own=rng.random() < 0.5,
        verify=rng.random() < 0.3,
        sparse=rng.random() < 0.5,
        random_size=rng.random() < 0.5,
        size=rng.randrange(4),
        own=rng.randrange(8),
        first=rng.choice((0, 3, 1020)),
        count=rng.choice((1, 3, 8, 1024)),
        read=rng.choice((0, 64, 256)),
        write=rng.choice((0, 64, 256)),
        atomic=rng.choice((0, 32, 256)),
        base=rng.randrange(1 << 49) << 2,
        region=rng.randrange(32),
        hot_region=rng.randrange(6),
        hot_share=rng.randrange(257),
        stride=rng.randrange(1 << 32),
        seed=rng.randrange(1, 1 << 64),
    )


def test_rtl_plans_what_the_model_plans():
    """Each pattern many times, taken with pauses; a restart begins anew whatever was going on."""
    rng = random.Random(2)
    settings = [at_random(rng, n % 4) for n in range(48)]
    for each, run in zip(settings, planned(settings, 30), strict=True):
        assert run == expected(each, 30), each


def test_the_random_numbers_are_xorshift64():
    """Marsaglia, Xorshift RNGs, 2003: 13, 7, 17. From 1, worked out by hand to the first number."""
    assert xorshift64(1) == 1 << 0 | 1 << 13 | 1 << 6 | 1 << 17 | 1 << 30 | 1 << 23
    state, seen = 0x9E37_79B9_7F4A_7C15, set()
    for _ in range(20_000):
        seen.add(state)
        state = xorshift64(state)
    assert len(seen) == 20_000 and 0 not in seen


SAMPLE = 40_000


def shares(values) -> dict:
    counted = Counter(values)
    return {value: count / SAMPLE for value, count in counted.items()}


def test_shares_of_commands_sizes_and_destinations():
    """Within 1 %, of 40,000 Requests; the sequence is the RTL's, as ``test_rtl_plans_what_the_model_plans`` shows."""
    settings = Settings(
        pattern=Pattern.RANDOM,
        random_size=True,
        region=8,
        read=96,
        write=64,
        atomic=32,
        destinations=Destinations.RANDOM,
        first=10,
        count=5,
        skip_own=True,
        own=12,
    )
    run = list(islice(plans(settings), SAMPLE))
    for command, share in ((Command.READ, 96), (Command.WRITE, 64), (Command.ATOMIC, 32), (Command.WRITE_FULL, 64)):
        assert shares(plan.command for plan in run)[command] == pytest.approx(share / 256, abs=0.01)
    assert all(plan.beats == 1 for plan in run if plan.command == Command.ATOMIC)
    others = [plan.beats for plan in run if plan.command != Command.ATOMIC]
    for beats in (1, 2, 3, 4):
        assert others.count(beats) / len(others) == pytest.approx(1 / 4, abs=0.01)
    found = shares(plan.dst for plan in run)
    assert set(found) == {10, 11, 13, 14, 15}
    assert all(share == pytest.approx(1 / 5, abs=0.01) for share in found.values())


@pytest.mark.parametrize("share", [0, 64, 230, 256])
def test_share_of_the_hot_spot(share):
    """A Request is hot with hot_share of 256; of the others, the hot spot gets what falls on it by chance."""
    settings = Settings(pattern=Pattern.HOT_SPOT, size=0, region=10, hot_region=2, hot_share=share, base=1 << 30)
    lines = [plan.line - (1 << 30) for plan in islice(plans(settings), SAMPLE)]
    hot = sum(line < 16 for line in lines) / SAMPLE
    assert hot == pytest.approx(share / 256 + (1 - share / 256) * 16 / 4096, abs=0.01)
    assert all(0 <= line < 4096 for line in lines)
    if share == 0:
        assert len(set(lines)) > 4000


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_a_stream_reaches_every_line_in_order_and_no_block_is_crossed(size):
    settings = Settings(size=size, region=3, base=64)
    reached = []
    for plan in islice(plans(settings), (32, 16, 16, 8)[size]):
        assert plan.line % 4 + plan.beats <= 4
        reached += range(plan.line, plan.line + plan.beats)
    assert set(reached) == set(range(64, 64 + 32))
    assert reached[:2] == [64, 65] if size else reached[:1] == [64]


def test_strides_and_turns():
    settings = Settings(
        pattern=Pattern.STRIDE, stride=20, size=3, region=4, destinations=Destinations.ROUND_ROBIN, first=1022, count=3
    )
    run = list(islice(plans(settings), 5))
    assert [plan.line for plan in run] == [0, 20, 40, 60, 16]
    assert [plan.dst for plan in run] == [1022, 1023, 0, 1022, 1023]
