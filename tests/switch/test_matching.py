"""Parts of the matcher: choices in turn, grants that stay within what is free, and who is accepted."""

import random
from itertools import product

import pytest
from amaranth.hdl import Const, Module
from amaranth.sim import Simulator

from support.switch.bench import run
from ualink.switch.matching.accept import Accept
from ualink.switch.matching.grant import Grant
from ualink.switch.matching.matcher import Matcher
from ualink.switch.matching.turns import above, first_of, lowest

WIDTH = 4


def test_choices():
    """Of all numbers of four bits: the lowest one, the places above it, the first one in a round robin."""
    shown = []

    async def bench(ctx):
        for requests, first in product(range(1 << WIDTH), repeat=2):
            shown.append([ctx.get(choice) for choice in choices(requests, first)])

    def choices(requests, first):
        requests, first = Const(requests, WIDTH), Const(first, WIDTH)
        return lowest(requests), above(requests), first_of(requests, first)

    simulator = Simulator(Module())
    simulator.add_testbench(bench)
    simulator.run()
    for (requests, first), (low, over, chosen) in zip(product(range(1 << WIDTH), repeat=2), shown, strict=True):
        least = requests & -requests
        ahead = requests & first
        assert low == least
        assert over == (sum(1 << n for n in range(WIDTH) if 1 << n > least) if requests else 0)
        assert chosen == ((ahead & -ahead) or least)


class Crowd:
    """Pairs with something to send whenever ``likely``, in front of a ``Matcher``; items have ``beats`` or no data."""

    def __init__(self, matcher, seed):
        self.matcher, self.random = matcher, random.Random(f"crowd {seed}")
        self.pairs = list(product(range(matcher.ingresses), range(matcher.egresses)))
        self.items = dict.fromkeys(self.pairs)  # (beats less one, or None; cycle since which it waits)
        self.accepted = dict.fromkeys(self.pairs, 0)
        self.longest = dict.fromkeys(self.pairs, 0)
        self.beats = [0] * matcher.egresses
        self.cycle = 0
        self.hostile = False

    async def step(self, ctx, next_item, room):
        """One cycle: ``next_item(pair)`` is what comes next, or False for nothing; ``room`` of each egress port."""
        matcher = self.matcher
        ctx.set(matcher.room, room)
        ctx.set(matcher.data_room, room)
        for n in range(matcher.ingresses):
            mine = [self.items[n, k] for k in range(matcher.egresses)]
            ctx.set(
                matcher.with_data[n], sum((one is not None and one[0] is not None) << k for k, one in enumerate(mine))
            )
            ctx.set(matcher.without[n], sum((one is not None and one[0] is None) << k for k, one in enumerate(mine)))
            ctx.set(matcher.more[n], self.random.getrandbits(matcher.egresses) if self.hostile else ~0)
            for k, one in enumerate(mine):
                ctx.set(matcher.beats[n][k], (one and one[0]) or 0)
        accepts = [ctx.get(accept) for accept in matcher.accept]
        for k in range(matcher.egresses):
            self.beats[k] += sum(ctx.get(hold) >> k & 1 for hold in matcher.hold)
        await ctx.tick()
        self.cycle += 1
        for pair in self.pairs:
            n, k = pair
            if accepts[n] >> k & 1:
                assert self.items[pair] is not None
                self.longest[pair] = max(self.longest[pair], self.cycle - self.items[pair][1])
                self.items[pair] = None
                self.accepted[pair] += 1
            if self.items[pair] is None:
                found = next_item(pair)
                self.items[pair] = None if found is False else (found, self.cycle)


@pytest.mark.req("SW-039", "SW-040", "SW-041")
@pytest.mark.parametrize(("ingresses", "egresses", "patience"), [(4, 2, None), (3, 3, 5), (8, 4, 16)])
@pytest.mark.parametrize("kinds", [(0,), (3,), (None, 3), (None, 0, 1, 2, 3)])
def test_nobody_waits_longer_than_the_bound(ingresses, egresses, patience, kinds):
    """Crowds of all sizes, with egress ports that stand still for a while; a wait counts while its port moves."""
    matcher = Matcher(ingresses, egresses, patience)
    crowd = Crowd(matcher, f"{ingresses} {egresses} {kinds}")
    crowd.hostile = True  # what is said of items behind is wrong

    async def bench(ctx):
        rng = crowd.random
        eager = {}

        def next_item(pair):
            return rng.choice(kinds) if rng.random() < eager[pair] else False

        for _ in range(12):
            eager = {pair: rng.choice([0.0, 0.2, 1.0, 1.0]) for pair in crowd.pairs}
            room = rng.choice([2**egresses - 1, rng.getrandbits(egresses) | 1])
            crowd.items = {pair: item and (item[0], crowd.cycle) for pair, item in crowd.items.items()}
            for _ in range(80):
                await crowd.step(ctx, next_item, room)
                for pair, item in crowd.items.items():
                    if item and room >> pair[1] & 1:
                        assert crowd.cycle - item[1] <= matcher.bound, pair

    run(matcher, bench)
    assert all(crowd.accepted.values())


@pytest.mark.req("SW-037", "SW-085")
@pytest.mark.parametrize("beats", [0, 3])
def test_everybody_to_everybody_is_a_whole_match_in_every_cycle(beats):
    """With something from everybody for everybody each egress port is sent a beat in every cycle."""
    matcher = Matcher(4, 4)
    crowd = Crowd(matcher, f"full {beats}")

    async def bench(ctx):
        for _ in range(200):
            await crowd.step(ctx, lambda pair: beats, 15)
        crowd.beats = [0] * 4
        crowd.accepted = dict.fromkeys(crowd.pairs, 0)
        for _ in range(320):
            await crowd.step(ctx, lambda pair: beats, 15)

    run(matcher, bench)
    assert min(crowd.beats) >= 0.98 * 320, crowd.beats


@pytest.mark.req("SW-037")
def test_one_pair_alone_sends_in_every_cycle():
    matcher = Matcher(4, 4)
    crowd = Crowd(matcher, "alone")
    found = {}

    async def bench(ctx):
        beats = 0

        def next_item(pair):
            return beats if pair == (2, 1) else False

        for beats in (0, 1, 3):
            for _ in range(12):
                await crowd.step(ctx, next_item, 15)
            crowd.beats = [0] * 4
            for _ in range(64):
                await crowd.step(ctx, next_item, 15)
            found[beats] = list(crowd.beats)

    run(matcher, bench)
    assert all(beats == [0, 64, 0, 0] for beats in found.values()), found


@pytest.mark.req("SW-039")
def test_a_turn_moves_when_a_grant_is_accepted_and_not_before():
    """The grant stays with ingress port 0 until it is accepted, and is offered to the next ones from then on."""
    grant = Grant(3, 100)
    shown = []

    async def bench(ctx):
        ctx.set(grant.without, 7)
        ctx.set(grant.free, 1)
        ctx.set(grant.move, 1)
        grants = [0, 0]
        for cycle in range(30):
            # From cycle 12 on what is granted is accepted: that is known two cycles after the grant was made.
            ctx.set(grant.started, grants[-1] if cycle >= 12 else 0)
            grants.append(ctx.get(grant.grant))
            await ctx.tick()
            shown.append(ctx.get(grant.grant))

    run(grant, bench)
    assert shown[:12] == [1] * 12
    assert all(4 <= shown[15:].count(1 << n) <= 6 for n in range(3)), shown


@pytest.mark.req("SW-039")
def test_of_several_grants_one_is_accepted_in_turn_and_a_pressing_one_first():
    accept = Accept(3)
    shown = []

    async def bench(ctx):
        ctx.set(accept.without, 7)
        ctx.set(accept.grants, 7)
        ctx.set(accept.move, 1)
        for cycle in range(24):
            ctx.set(accept.pressing, 4 if cycle >= 18 else 0)
            shown.append(ctx.get(accept.accept))
            await ctx.tick()

    run(accept, bench)
    assert [shown[:18].count(1 << k) for k in range(3)] == [6, 6, 6]
    assert shown[18:] == [4] * 6


@pytest.mark.req("UPLI-302")
def test_data_wait_for_both_ends_and_others_do_not():
    """An ingress port that reads four beats accepts no other data, but items without; nor while the egress is busy."""
    accept = Accept(2)

    async def bench(ctx):
        ctx.set(accept.beats[0], 3)
        ctx.set(accept.with_data, 1)
        ctx.set(accept.without, 2)
        ctx.set(accept.grants, 1)
        ctx.set(accept.grants_data, 1)
        ctx.set(accept.egress_busy, 1)
        assert ctx.get(accept.accept) == 0
        ctx.set(accept.egress_busy, 0)
        assert ctx.get(accept.accept) == 1
        await ctx.tick()
        for _ in range(3):
            assert ctx.get(accept.hold) == 1 and ctx.get(accept.held) == 1 and not ctx.get(accept.ends)
            ctx.set(accept.grants, 1)
            assert ctx.get(accept.accept) == 0
            ctx.set(accept.grants, 2)
            assert ctx.get(accept.accept) == 2
            await ctx.tick()
        assert ctx.get(accept.hold) == 1 and ctx.get(accept.held) == 0 and ctx.get(accept.ends)
        ctx.set(accept.grants, 1)
        assert ctx.get(accept.accept) == 1

    run(accept, bench)
