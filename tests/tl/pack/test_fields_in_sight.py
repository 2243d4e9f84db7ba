"""Fields in sight of the packer: forms leave first, contents a cycle behind them.

CI lets them come and go at three rates; ``make soak`` (UALINK_SOAK=1) at more.
"""

import os
import random

import pytest
from amaranth.sim import Simulator

from ualink.tl.format.half_flits import RESPONSE_FIELD_LAYOUT
from ualink.tl.pack.fields_in_sight import FieldsInSight

DEPTH, ALTERNATIVES = 6, 3
SOME = [(1, 1), (0.5, 0.5), (1, 0.05)]
RATES = [*SOME, (1, 0.5), (1, 0.2), (0.5, 1)] if os.environ.get("UALINK_SOAK") else SOME


def eligible(forms, limits):
    """How many of these forms, oldest first, may go together: no more than ``limits`` of either, and one at least."""
    used = [0, 0]
    for count, compressed in enumerate(forms):
        used[compressed] += 1
        if used[compressed] > max(1, limits[compressed]):
            return count
    return len(forms)


def held(forms, start, pairs):
    """How many Responses of these forms have room in so many pairs of sectors, from sector ``start`` on."""
    sector = start
    for count, compressed in enumerate(forms):
        sector = sector + 1 if compressed else (sector + 1) // 2 * 2 + 2
        if sector > 2 * pairs:
            return count
    return len(forms)


def run(cycles, *, come, take, seed=1):
    """Random arrivals and takes at these rates; the contents are those of the forms of the cycle before.

    Returns the number of forms in sight for each arrival without room, and how many fields have gone.
    """
    dut = FieldsInSight(RESPONSE_FIELD_LAYOUT, DEPTH, responses=True, alternatives=ALTERNATIVES)
    rng = random.Random(f"{seed} {come} {take}")
    refused, gone = [], 0

    async def bench(ctx):
        nonlocal gone
        waiting, before = [], []
        limits, next_limits, most, tags = (8, 8), (8, 8), DEPTH, 0
        for number in range(cycles):
            new = {"field": rng.getrandbits(64), "compressed": rng.getrandbits(1), "auth_tag": rng.getrandbits(64)}
            new["code"] = {name: rng.getrandbits(1) for name in ("low", "high", "auth_tag")}
            new["job"] = {"half_flits": number % 9, "num_beats": number % 4}
            offered = rng.random() < come
            ctx.set(dut.i.valid, offered)
            ctx.set(dut.i.payload, new)
            count = len(waiting)
            assert ctx.get(dut.valid) == (1 << count) - 1
            for form, entry in zip(dut.forms, waiting):
                form = ctx.get(form)
                assert (form.compressed, form.job.half_flits) == (entry["compressed"], entry["job"]["half_flits"])
            forms = [entry["compressed"] for entry in waiting]
            may = min(most, eligible(forms, limits), 4 if tags else DEPTH)
            assert ctx.get(dut.eligible) == (1 << may) - 1
            assert ctx.get(dut.tagged) == (ctx.get(dut.eligible) & 3 if tags else 0)
            for start in range(2):
                for pairs in range(start, 5):
                    # Nobody asks what would follow those in sight.
                    stack = ctx.get(dut.stacks[start][pairs])
                    room = held(forms, start, pairs)
                    assert stack & ((1 << count) - 1) == (1 << room if room < count else 0)
                    fit = ctx.get(dut.fits.high[pairs - 1] if start else dut.fits.low[pairs])
                    assert fit == (room >= may)
            # They hold from the next cycle but one on.
            limits, next_limits, tags = next_limits, (rng.randrange(5), rng.randrange(5)), rng.getrandbits(1)
            ctx.set(dut.authentication, tags)
            ctx.set(dut.limits, {"compressed": next_limits[1], "uncompressed": next_limits[0]})
            for content, entry in zip(dut.contents, before):
                content = ctx.get(content)
                assert (content.field, content.auth_tag) == (entry["field"], entry["auth_tag"])
                assert {name: content.code[name] for name in entry["code"]} == entry["code"]
            packs = rng.random() < take
            taken = rng.randint(0, count) if packs else 0
            # What is not chosen may be anything.
            chosen = rng.randrange(ALTERNATIVES)
            for n, sink in enumerate(dut.takes):
                ctx.set(sink, (1 << (taken if n == chosen else rng.randint(0, count))) - 1)
            ctx.set(dut.chosen, 2 << chosen if packs else 1)
            allowance, grows = rng.randint(max(1, taken), DEPTH), rng.getrandbits(1)
            ctx.set(dut.allowance, (1 << allowance) - 1)
            ctx.set(dut.grows, grows)
            most = allowance - taken + (packs or grows)
            ready = ctx.get(dut.i.ready)
            if offered and not ready:
                refused.append(count)
            before = list(waiting)
            del waiting[:taken]
            gone += taken
            if offered and ready:
                waiting.append(new)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return refused, gone


@pytest.mark.soak
@pytest.mark.parametrize("come, take", RATES)
def test_contents_are_those_of_the_forms_taken(come, take):
    refused, gone = run(1000, come=come, take=take)
    assert gone > 50
    # Nothing is refused but for want of room among the forms.
    assert refused == [DEPTH] * len(refused)


def test_a_field_comes_in_every_cycle_while_half_flits_go_on():
    """Taken at once, four at a time or one: there is always room for the next."""
    refused, gone = run(200, come=1, take=1)
    assert refused == [DEPTH] * len(refused)
    assert gone > 150
