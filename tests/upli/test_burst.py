"""The check of multi-beat transfers: right ones pass, each broken rule is reported in its cycle."""

import random

import pytest

from support.upli.pair import simulate
from ualink.upli.burst import BurstCheck


async def play(ctx, dut, cycles):
    """Feed (start, num_beats, vld, offset, last) per cycle, one port's after the other's; what ``error`` said in
    each."""
    errors = []
    for values in cycles:
        ctx.set(dut.known, 1)
        ctx.set(dut.locked, 1)
        for signal, value in zip((dut.start, dut.num_beats, dut.vld, dut.offset, dut.last), values, strict=True):
            ctx.set(signal, value)
        errors.append(ctx.get(dut.error))
        await ctx.tick()
    return errors


def transfer(num_beats):
    """One port's own slots of a right transfer."""
    return [
        (offset == 0, num_beats if not offset else 0, 1, offset, offset == num_beats) for offset in range(num_beats + 1)
    ]


IDLE = (0, 0, 0, 0, 0)


def _own(slots, ports):
    """``slots`` of port 0, with those of the other ports idle."""
    return [cycle for slot in slots for cycle in [slot, *[IDLE] * (ports - 1)]]


@pytest.mark.req("UPLI-302", "UPLI-303", "UPLI-304", "UPLI-306", "UPLI-301", "UPLI-377", "RAS-036", "UPLI-285")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_right_and_wrong(ports):
    rng = random.Random(ports)
    dut = BurstCheck(ports)

    async def bench(ctx):
        lanes = [[] for _ in range(ports)]
        for lane in lanes:
            while len(lane) < 40:
                lane += transfer(rng.randrange(4)) if rng.random() < 0.7 else [IDLE]
        right = [lanes[n % ports][n // ports] for n in range(40 * ports)]
        assert not any(await play(ctx, dut, right))
        await play(ctx, dut, [IDLE] * (4 * ports))

        begin, middle, end = (1, 2, 1, 0, 0), (0, 0, 1, 1, 0), (0, 0, 1, 2, 1)
        for slots, wrong_at in (
            ([(1, 0, 0, 0, 0)], 0),  # no data with the Request
            ([(1, 0, 1, 1, 1)], 0),  # the first offset is not 0
            ([(1, 0, 1, 0, 0)], 0),  # no Last
            ([(1, 1, 1, 0, 1), (0, 0, 1, 1, 1)], 0),  # Last too early
            ([begin, IDLE, end], 1),  # a gap
            # Without a beat, whatever the fields say: those of the beat that should be here, or of the one before.
            ([begin, (0, 0, 0, 1, 0), end], 1),
            ([begin, middle, (0, 0, 0, 2, 1)], 2),
            ([(1, 0, 0, 0, 1)], 0),
            ([(1, 2, 0, 0, 0)], 0),
            ([begin, (0, 0, 1, 2, 0), end], 1),  # an offset left out
            ([begin, (1, 0, 1, 1, 0), end], 1),  # a second transfer begins
            ([begin, middle, (0, 0, 1, 2, 0)], 2),  # no Last at the end
        ):
            errors = await play(ctx, dut, _own(slots, ports))
            assert [n for n, error in enumerate(errors) if error] == [wrong_at * ports], slots

    simulate(dut, bench)


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_what_is_lost_before_the_phase_is_known_may_be_of_any_port(ports):
    """The rest of a transfer whose first beat had wrong parity is no error of its own, whatever its port, until that
    port has a slot without a beat."""
    dut = BurstCheck(ports)

    async def bench(ctx):
        ctx.set(dut.upset, 1)
        await ctx.tick()
        ctx.set(dut.upset, 0)
        ctx.set(dut.known, 1)
        ctx.set(dut.locked, 1)
        for round_, lost in enumerate((True, True, False)):
            for port in range(ports):
                assert ctx.get(dut.lost) == (lost or port > 0)
                # In the second round port 0 has no beat.
                ctx.set(dut.vld, round_ != 1 or port > 0)
                ctx.set(dut.offset, 1)
                await ctx.tick()

    simulate(dut, bench)
