"""The pacer against the executable model, and the bounds of its docstring counted in every window."""

import random
from itertools import accumulate

import pytest
from amaranth.hdl import EnableInserter, Signal
from amaranth.sim import Simulator

from ualink.dl.rate.pacer import REFERENCE_RATE, Pacer
from ualink.dl.registers.firmware import FULL_RATE
from ualink_sim.model.dl import pacing as dl_pacing

ALWAYS = (1.0, 1.0)


def run(ticks, *, offered=ALWAYS, limits=lambda tick: {}, seed=0, period=1):
    """Admissions of ``ticks`` slots, one slot in ``period`` cycles, as (went, offered, room, rate in force)."""
    rng = random.Random(seed)
    pacer = Pacer()
    slot = Signal(init=1)
    dut = pacer if period == 1 else EnableInserter(slot)(pacer)
    seen = []

    async def bench(ctx):
        number, offering = 0, False
        for tick in range(ticks):
            ctx.set(slot, 1)
            for name, value in limits(tick).items():
                ctx.set(getattr(pacer, name), value)
            offering = offering or rng.random() < offered[0]
            room = rng.random() < offered[1]
            ctx.set(pacer.flit_in.valid, offering)
            ctx.set(pacer.flit_in.p.data, number)
            valid = []
            for ready in (1 - room, room):
                ctx.set(pacer.flit_out.ready, ready)
                valid.append(ctx.get(pacer.flit_out.valid))
            assert valid[0] == valid[1], "valid depends on ready"
            went = bool(valid[1] and room)
            assert ctx.get(pacer.flit_in.ready) == ctx.get(pacer.flit_out.ready & pacer.admit)
            if went:
                assert ctx.get(pacer.flit_out.p.data) == number
                number += 1
            seen.append((went, offering, room, ctx.get(pacer.rate)))
            await ctx.tick()
            offering = offering and not went
            if period > 1:
                ctx.set(slot, 0)
                await ctx.tick().repeat(period - 1)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def agrees_with_model(seen):
    model = dl_pacing.Pacer()
    for tick, (went, offered, room, rate) in enumerate(seen):
        assert model.tick(offered and room, rate) == went, f"tick {tick}"


def assert_bounds(went, rate, *, saturated):
    """Every window of every length, at one rate."""
    sums = [0, *accumulate(went)]
    for n in range(1, len(went) + 1):
        counts = [sums[at + n] - sums[at] for at in range(len(went) - n + 1)]
        assert max(counts) <= -(-n * rate // FULL_RATE)
        if saturated:
            assert min(counts) >= n * rate // FULL_RATE - 1


RATES = (3_125, 3_126, 4_000, 10_417, 15_625, 15_626, 20_000, 30_664, 31_249)


@pytest.mark.req("DL-008", "DL-050", "DL-051", "DL-108")
@pytest.mark.parametrize("rate", RATES)
def test_bounds_at_one_rate(rate):
    for offered in (ALWAYS, (0.3, 0.7), (0.02, 1)):
        seen = run(400, offered=offered, limits=lambda tick: {"partner_rate": rate})
        agrees_with_model(seen)
        assert_bounds([went for went, *_ in seen[1:]], rate, saturated=offered == ALWAYS)


@pytest.mark.req("DL-008", "DL-050", "DL-051", "DL-108")
@pytest.mark.parametrize("rate", [3_125, 15_626, 31_249, FULL_RATE])
def test_ticks_that_are_told(rate):
    """A flit goes in any cycle of its tick, and no other until the next."""
    rng = random.Random(rate)
    dut = Pacer(told=True)
    seen = []

    async def bench(ctx):
        ctx.set(dut.partner_rate, rate)
        await ctx.tick()
        offering = False
        for _ in range(300):
            cycles = rng.randrange(1, 6)
            room_from = rng.choice([None, *range(cycles)])
            offering = offering or rng.random() < 0.8
            ctx.set(dut.flit_in.valid, offering)
            went = 0
            for cycle in range(cycles):
                ctx.set(dut.tick, cycle == cycles - 1)
                # Room for more than one flit.
                ctx.set(dut.flit_out.ready, room_from is not None and cycle >= room_from)
                went += ctx.get(dut.flit_out.valid & dut.flit_out.ready)
                await ctx.tick()
            assert went < 2
            seen.append((bool(went), offering, room_from is not None, rate))
            offering = offering and not went

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    agrees_with_model(seen)
    assert_bounds([went for went, *_ in seen], rate, saturated=False)


@pytest.mark.req("DL-114")
@pytest.mark.parametrize("limits", [{}, {"partner_rate": 31_250}, {"pace": 65_535, "partner_rate": 40_000}])
def test_full_rate_passes_every_flit_at_once(limits):
    seen = run(200, offered=(0.6, 0.8), limits=lambda tick: limits)
    assert all(went == (offered and room) for went, offered, room, _ in seen)
    assert sum(went for went, *_ in seen) > 60


@pytest.mark.req("DL-051")
@pytest.mark.parametrize("rate", [0, 1, 3_124])
def test_no_rate_is_below_the_reference_clock(rate):
    seen = run(200, limits=lambda tick: {"partner_rate": rate})
    agrees_with_model(seen)
    assert sum(went for went, *_ in seen) == 1 + 199 * REFERENCE_RATE // FULL_RATE + 1


@pytest.mark.req("DL-008", "DL-111", "DL-118")
def test_lowest_limit_counts_from_the_next_tick_on():
    """A switch that leaves its own limits alone follows its partner; nothing else makes it faster than that."""
    rng = random.Random(3)
    plan = [
        {
            name: rng.choice((3_125, 8_000, 15_625, 20_000, 31_250, 50_000))
            for name in ("pace", "own_rate", "partner_rate")
        }
        if not rng.randrange(7)
        else {}
        for _ in range(600)
    ]
    in_force = {"pace": FULL_RATE, "own_rate": FULL_RATE, "partner_rate": FULL_RATE}
    rates = [FULL_RATE]
    for change in plan:
        in_force |= change
        rates.append(dl_pacing.pacing_rate(*in_force.values()))
    seen = run(len(plan), offered=(0.9, 0.9), limits=lambda tick: plan[tick])
    assert [rate for *_, rate in seen] == rates[:-1]
    agrees_with_model(seen)


@pytest.mark.req("DL-118")
def test_change_takes_effect_both_ways():
    seen = run(300, limits=lambda tick: {"partner_rate": FULL_RATE if tick < 100 or tick >= 200 else REFERENCE_RATE})
    went = [went for went, *_ in seen]
    assert all(went[:101])
    assert sum(went[101:201]) in (10, 11)
    assert all(went[211:]) and sum(went[201:211]) >= 9


def test_a_pause_saves_up_one_flit():
    """The accumulator stands at the first flit and less than one tick's rate beyond it."""
    seen = run(400, offered=(0.01, 1), limits=lambda tick: {"partner_rate": 6_250})
    agrees_with_model(seen)
    pacer = Pacer()

    async def bench(ctx):
        ctx.set(pacer.partner_rate, 6_250)
        ctx.set(pacer.flit_in.valid, 1)
        ctx.set(pacer.flit_out.ready, 1)
        for _ in range(3):
            await ctx.tick().repeat(30)
            ctx.set(pacer.flit_in.valid, 0)
            await ctx.tick().repeat(100)
            ctx.set(pacer.flit_in.valid, 1)
            went = [bool((await ctx.tick().sample(pacer.flit_in.ready))[2]) for _ in range(11)]
            assert went == [tick % 5 == 0 for tick in range(11)]

    simulator = Simulator(pacer)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


def test_offered_flit_stays_when_the_rate_falls():
    pacer = Pacer()

    async def bench(ctx):
        ctx.set(pacer.flit_in.valid, 1)
        for tick in range(20):
            assert ctx.get(pacer.flit_out.valid)
            ctx.set(pacer.partner_rate, 0 if tick > 5 else FULL_RATE)
            await ctx.tick()

    simulator = Simulator(pacer)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.req("DL-052")
@pytest.mark.parametrize("period", [1, 2, 4])
def test_ticks_are_the_slots_of_the_port(period):
    """512 bits in each, in every second, in every fourth cycle: 512, 256, 128 bits a cycle, one arithmetic."""
    width = {1: 512, 2: 256, 4: 128}[period]
    gigabits = 800 // period
    rate = dl_pacing.normalised_rate(clock_hz=625_000_000, width=width, gigabits=gigabits)
    assert rate == 12_500
    seen = run(250, limits=lambda tick: {"partner_rate": rate}, period=period)
    went = [went for went, *_ in seen[1:]]
    agrees_with_model(seen)
    assert_bounds(went, rate, saturated=True)
    assert abs(sum(went) - 100) <= 1
