"""Fields in sight of the packer: forms leave first, contents stay until the half-flit that holds them goes on."""

import random

import pytest
from amaranth.sim import Simulator

from ualink.tl.format.half_flits import RESPONSE_FIELD_LAYOUT
from ualink.tl.pack.fields_in_sight import FieldsInSight

DEPTH = 4


def run(cycles, *, come, take, stall, seed=1):
    """Random arrivals, takes and stalls at these rates; every content is that of the field whose form was taken.

    Returns (forms in sight, fields taken and not gone) for each arrival without room, and how many fields have gone.
    """
    dut = FieldsInSight(RESPONSE_FIELD_LAYOUT, DEPTH)
    rng = random.Random(f"{seed} {come} {take} {stall}")
    refused, gone = [], []

    async def bench(ctx):
        waiting, packed = [], None
        for number in range(cycles):
            new = {"field": rng.getrandbits(64), "compressed": number & 1, "auth_tag": rng.getrandbits(64)}
            new["job"] = {"half_flits": number % 9, "num_beats": number % 4}
            offered = rng.random() < come
            ctx.set(dut.i.valid, offered)
            ctx.set(dut.i.payload, new)
            moves = rng.random() >= stall
            done = packed is not None and moves
            ctx.set(dut.done, done)
            count = len(waiting)
            assert ctx.get(dut.valid) == (1 << count) - 1
            for form, entry in zip(dut.forms, waiting):
                form = ctx.get(form)
                assert (form.compressed, form.job.half_flits) == (entry["compressed"], entry["job"]["half_flits"])
            if packed is not None:
                contents = [ctx.get(content) for content in dut.contents]
                for content, entry in zip(contents, packed):
                    assert (content.field, content.auth_tag) == (entry["field"], entry["auth_tag"])
            packs = (packed is None or done) and rng.random() < take
            taken = rng.randint(0, count) if packs else 0
            ctx.set(dut.take, (1 << taken) - 1)
            ready = ctx.get(dut.i.ready)
            if offered and not ready:
                refused.append((count, packed is not None and len(packed)))
            if done:
                packed = None
            if packs:
                packed = waiting[:taken]
                gone.extend(packed)
                del waiting[:taken]
            if offered and ready:
                waiting.append(new)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return refused, len(gone)


@pytest.mark.parametrize("come, take, stall", [(1, 1, 0), (1, 1, 0.5), (0.5, 0.5, 0.2), (1, 0.3, 0.8), (0.8, 1, 0.9)])
def test_contents_are_those_of_the_forms_taken(come, take, stall):
    refused, gone = run(600, come=come, take=take, stall=stall)
    assert gone > 50
    # Nothing is refused but for want of room: all forms in sight, or contents of all that have been taken and one more.
    assert all(count == DEPTH or (taken and count + taken == DEPTH + 1) for count, taken in refused)


def test_a_field_comes_in_every_cycle_while_half_flits_go_on():
    """Taken at once and gone a cycle later, four at a time or one: there is always room for the next."""
    refused, gone = run(200, come=1, take=1, stall=0)
    assert [count for count, _ in refused] == [DEPTH] * len(refused)
    assert gone > 150
