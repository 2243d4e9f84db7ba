"""What the receive buffer hands on: accepted flits, whole, in order and in time."""

import random

import pytest
from amaranth.sim import Simulator

from support.tl.flits import byte_parity
from ualink.dl.flit.receive_buffer import ReceiveBuffer

UNHURRIED = pytest.mark.parametrize("unhurried", [False, True])


def run(bench, dut):
    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.req("DL-156", "DL-180")
@pytest.mark.parametrize(("delay", "unhurried"), [(1, False), (2, False), (9, False), (1, True), (2, True), (8, True)])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_random(delay, unhurried, gaps):
    """Verdicts ``delay`` cycles after the last beats, slots back to back or with gaps."""
    dut = ReceiveBuffer(unhurried=unhurried)
    rng = random.Random(delay)

    async def bench(ctx):
        verdicts, expected = {}, {}
        slot = []
        for cycle in range(500):
            index = len(slot)
            valid = rng.random() >= gaps
            ctx.set(dut.rx.valid, valid)
            if valid:
                slot.append(rng.getrandbits(512))
                ctx.set(dut.rx.p.data, slot[-1])
                ctx.set(dut.rx.p.first, index == 0)
                ctx.set(dut.rx.p.last, index == 9)
                if index == 9:
                    verdicts[cycle + delay] = rng.random() < 0.7
                    if verdicts[cycle + delay]:
                        for n, beat in enumerate(slot):
                            expected[cycle + delay + 2 + n] = (beat, n == 0, n == 9)
                    slot = []
            ctx.set(dut.accept, verdicts.get(cycle, 0))
            assert ctx.get(dut.beat.valid) == (cycle in expected)
            if cycle in expected:
                p = dut.beat.p
                assert (ctx.get(p.data), ctx.get(p.first), ctx.get(p.last)) == expected[cycle]
            await ctx.tick()
        assert len(expected) > 200

    run(bench, dut)


@pytest.mark.req("DL-156", "DL-180")
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_random_in_steps(n, gaps):
    """Beats ``n`` cycles apart or more, verdicts early and as late as may be, control slots of one beat in between."""
    rng = random.Random(n)
    for delay in (1, n + 1, 8 * n - 1):
        dut = ReceiveBuffer(n)

        async def bench(ctx, delay=delay, dut=dut):
            verdicts, expected = {}, {}
            slot, wait = [], 0
            control = quiet = False
            for cycle in range(130 * n):
                # Two last beats are eight beats apart or more.
                if not slot and not wait and not control and rng.random() < 0.3:
                    control, quiet = True, 7 * n
                index = len(slot)
                valid = not wait and rng.random() >= gaps and not quiet
                wait = n - 1 if valid else max(wait - 1, 0)
                quiet = max(quiet - 1, 0)
                ctx.set(dut.rx.valid, valid)
                ctx.set(dut.rx.p.data, rng.getrandbits(512))
                if valid:
                    slot.append(ctx.get(dut.rx.p.data))
                    ctx.set(dut.rx.p.first, index == 0)
                    ctx.set(dut.rx.p.last, index == 9 or control)
                    if control:
                        control, slot = False, []
                    elif index == 9:
                        verdicts[cycle + delay] = rng.random() < 0.8
                        if verdicts[cycle + delay]:
                            for k, beat in enumerate(slot):
                                expected[cycle + delay + 1 + n * k] = (beat, k == 0, k == 9)
                        slot = []
                ctx.set(dut.accept, verdicts.get(cycle, 0))
                assert ctx.get(dut.beat.valid) == (cycle in expected)
                if cycle in expected:
                    p = dut.beat.p
                    assert (ctx.get(p.data), ctx.get(p.first), ctx.get(p.last)) == expected[cycle]
                    assert ctx.get(p.parity) == byte_parity(expected[cycle][0])
                await ctx.tick()
            assert len(expected) > 30

        run(bench, dut)


@UNHURRIED
def test_flush_and_broken_slots(unhurried):
    """A flush stops the flit being handed on; a slot that begins anew counts from its second beginning."""
    dut = ReceiveBuffer(unhurried=unhurried)

    async def bench(ctx):
        async def beats(values):
            for n, value in enumerate(values):
                ctx.set(dut.rx.valid, 1)
                ctx.set(dut.rx.p.data, value)
                ctx.set(dut.rx.p.first, n == 0)
                ctx.set(dut.rx.p.last, n == 9)
                await ctx.tick()
            ctx.set(dut.rx.valid, 0)

        async def judge():
            ctx.set(dut.accept, 1)
            await ctx.tick()
            ctx.set(dut.accept, 0)
            await ctx.tick()

        await beats(range(10))
        await judge()
        await ctx.tick().repeat(3)
        assert ctx.get(dut.beat.valid)
        ctx.set(dut.flush, 1)
        await ctx.tick()
        ctx.set(dut.flush, 0)
        assert not ctx.get(dut.beat.valid)
        await beats(range(50, 56))
        await beats(range(70, 80))
        await judge()
        for n in range(70, 80):
            assert ctx.get(dut.beat.valid) and ctx.get(dut.beat.p.data) == n
            await ctx.tick()
        assert not ctx.get(dut.beat.valid)

    run(bench, dut)


@pytest.mark.req("DL-156", "DL-180")
@pytest.mark.parametrize("cycle", range(13))
@UNHURRIED
def test_flush_in_every_cycle_of_a_flit_that_is_handed_on(cycle, unhurried):
    """``cycle`` cycles after it was accepted, in which another comes in: nothing of it comes after that, and the next
    flit to be accepted comes whole."""
    dut = ReceiveBuffer(unhurried=unhurried)

    async def bench(ctx):
        async def slot(base, seen=None, flush_at=None):
            for n in range(10):
                ctx.set(dut.rx.valid, 1)
                ctx.set(dut.rx.p.data, base + n)
                ctx.set(dut.rx.p.first, n == 0)
                ctx.set(dut.rx.p.last, n == 9)
                await step(seen, n == flush_at)
            ctx.set(dut.rx.valid, 0)

        async def step(seen=None, flush=False):
            ctx.set(dut.flush, flush)
            if seen is not None and ctx.get(dut.beat.valid):
                seen.append((ctx.get(dut.beat.p.data), ctx.get(dut.beat.p.first), ctx.get(dut.beat.p.last)))
            await ctx.tick()
            ctx.set(dut.accept, 0)

        seen = []
        await slot(100)
        ctx.set(dut.accept, 1)
        await slot(200, seen, cycle)
        for n in range(10, 14):
            await step(seen, n == cycle)
        assert seen == [(100 + n, n == 0, n == 9) for n in range(min(max(cycle - 1, 0), 10))]
        assert not ctx.get(dut.beat.valid) and not ctx.get(dut.fault)
        seen.clear()
        await slot(300, seen)
        ctx.set(dut.accept, 1)
        for _ in range(14):
            await step(seen)
        assert seen == [(300 + n, n == 0, n == 9) for n in range(10)]

    run(bench, dut)
