"""The change of the UPLI clock: order against the executable model, refusals, aborts, links that go down, two ends."""

import random
from types import SimpleNamespace

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from support.dl.rate_change_bench import Bench, run
from ualink.config import ConfigError
from ualink.dl.rate.change import RateChange
from ualink.dl.rate.pacer import REFERENCE_RATE, Pacer
from ualink.dl.registers.firmware import FULL_RATE
from ualink_sim.model.dl.pacing import Accelerator, pacing_rate

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")


@pytest.mark.parametrize("ports", [0, 3, True, None])
def test_refuses_ports(ports):
    with pytest.raises(ConfigError, match=f"ports is {ports!r}"):
        RateChange(ports)


def in_order(trace):
    """Without the mutual order of what happens on its own time: the pace falls and rises around the first steps."""
    return [event for event in trace if event[0] != "pace"]


@pytest.mark.req("DL-048", "DL-050", "DL-109", "DL-112", "DL-116", "DL-117")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("patience", [1, 9])
def test_steps_in_the_order_of_the_standard(seed, patience):
    async def story(bench):
        model = Accelerator()
        for target in (REFERENCE_RATE, 20_000, 31_250, 3_126, 40_000):
            bench.trace.clear()
            await bench.start(target)
            await bench.until_idle()
            expected = list(model.change(target))
            assert in_order(bench.trace) == in_order(expected[:-1])
            if bench.trace[0] == ("pace", REFERENCE_RATE):
                # Before the Request, if it changes at all.
                assert bench.trace[:2] == expected[:2]
            assert (bench.read("done"), bench.read("failed")) == (1, 0)
            assert bench.read("pace") == bench.read("rate") == bench.clock == target
            assert bench.partners[0].partner_rate == target
            await bench.cycles(bench.rng.randrange(20))
        assert bench.sent == [10]

    run(story, seed=seed, patience=patience)


STEPS = ("ack", "reference", "program", "pll")


def stuck_at(bench, step):
    """What ``step`` waits for does not come until ``bench.stuck`` is cleared."""
    bench.stuck = True
    if step == "ack":
        bench.silent.add(0)
        return
    clocks = bench._clocks

    def run_clocks():
        to_reference = bench.read("use_reference") and not bench.read("on_reference")
        to_pll = bench.read("on_reference") and not bench.read("use_reference")
        here = {"reference": to_reference, "program": bench.read("pll_program"), "pll": to_pll}[step]
        bench.frozen = bench.stuck and here
        clocks()

    bench._clocks = run_clocks


@pytest.mark.req("DL-116", "DL-117")
@pytest.mark.parametrize("step", STEPS)
def test_no_step_without_the_one_before(step):
    async def story(bench):
        stuck_at(bench, step)
        await bench.start(20_000)
        await bench.cycles(400)
        assert bench.read("busy") and not bench.read("done") and not bench.read("failed")
        seen = [event[0] for event in bench.trace]
        steps = ["pace", "send", "ack", "reference", "program", "pll"]
        assert seen == steps[: steps.index(step)]
        assert bench.read("time_out") == 0
        assert bench.read("pace") == REFERENCE_RATE
        assert bench.read("use_reference") == (step in ("reference", "program"))

    run(story)


@pytest.mark.req("DL-116")
@pytest.mark.parametrize("step", STEPS)
def test_abort_in_each_step(step):
    """Before d the old rate, in d and e the reference clock, from f on the new rate; no clock is left half switched."""
    rate = {"ack": FULL_RATE, "reference": REFERENCE_RATE, "program": REFERENCE_RATE, "pll": 20_000}[step]

    async def story(bench):
        stuck_at(bench, step)
        await bench.start(20_000)
        await bench.cycles(200)
        await bench.abort()
        await bench.cycles(20)
        assert bench.read("busy") == (step in ("reference", "pll"))
        assert bench.read("use_reference") == (step in ("reference", "program"))
        bench.stuck = False
        bench.silent.clear()
        await bench.cycles(150)
        assert (bench.read("failed"), bench.read("done"), bench.read("busy")) == (1, 0, 0)
        assert bench.read("rate") == bench.read("pace") == bench.clock == rate
        assert bench.partners[0].partner_rate == rate and bench.read("partner_told")
        assert bench.read("use_reference") == bench.read("on_reference") == (rate == REFERENCE_RATE)

    run(story)


@pytest.mark.req("DL-116")
def test_pll_is_not_programmed_before_the_last_handshake_is_over():
    async def story(bench):
        await bench.start(20_000)
        while not bench.read("pll_ready"):
            await bench.cycle()
        # The clock generator goes on with everything but this.
        set_signal = bench.ctx.set
        bench.ctx = SimpleNamespace(
            get=bench.ctx.get,
            tick=bench.ctx.tick,
            set=lambda signal, value: signal is bench.dut.pll_ready or set_signal(signal, value),
        )
        await bench.until_idle()
        await bench.start(9_000)
        await bench.cycles(300)
        assert bench.read("on_reference") and not bench.read("pll_program") and bench.read("busy")
        bench.ctx.set = set_signal
        await bench.until_idle()
        assert bench.read("done") and bench.clock == 9_000

    run(story)


@pytest.mark.req("DL-110", "DL-114", "DL-115")
def test_a_switch_refuses():
    async def story(bench):
        bench.ctx.set(bench.dut.may_change, 0)
        await bench.start(20_000)
        await bench.cycles(100)
        assert (bench.read("failed"), bench.read("done"), bench.read("busy")) == (1, 0, 0)
        assert bench.trace == [] and bench.sent == [0]
        assert bench.read("pace") == bench.read("rate") == FULL_RATE
        assert bench.read("use_reference") == bench.read("pll_program") == bench.read("announce") == 0
        assert bench.read("partner_told") == 1

    run(story)


@pytest.mark.req("DL-051")
@pytest.mark.parametrize("target", [0, 3_124])
def test_refuses_rates_below_the_reference_clock(target):
    async def story(bench):
        await bench.start(target)
        await bench.cycles(50)
        assert (bench.read("failed"), bench.read("busy")) == (1, 0)
        assert bench.trace == []
        await bench.start(REFERENCE_RATE)
        assert bench.read("failed") == 0
        await bench.until_idle()
        assert bench.read("done")

    run(story)


def test_a_change_under_way_is_not_disturbed():
    async def story(bench):
        await bench.start(20_000)
        await bench.cycles(5)
        await bench.start(9_000)
        await bench.until_idle()
        assert bench.read("rate") == bench.clock == 20_000
        await bench.cycles(50)
        assert bench.sent == [2] and not bench.read("busy")

    run(story)


@pytest.mark.req("DL-117")
def test_silent_partner_is_reported_and_given_up():
    async def story(bench):
        bench.ctx.set(bench.dut.time_out_cycles, 100)
        bench.silent.add(0)
        await bench.start(20_000)
        await bench.cycles(80)
        assert not bench.read("time_out")
        await bench.cycles(40)
        assert bench.read("time_out") and bench.read("busy")
        await bench.abort()
        assert (bench.read("failed"), bench.read("busy"), bench.read("time_out")) == (1, 0, 0)
        assert bench.read("pace") == bench.read("rate") == bench.clock == FULL_RATE
        # It may have heard: it is told the rate that still holds.
        bench.silent.clear()
        await bench.cycles(100)
        assert bench.partners[0].partner_rate == FULL_RATE
        assert bench.sent == [2] and bench.read("partner_told") == 1
        await bench.start(20_000)
        await bench.until_idle()
        assert bench.read("done") and bench.clock == 20_000

    run(story)


def test_a_request_that_the_partner_never_took_is_sent_again():
    async def story(bench):
        bench.silent.add(0)
        await bench.start(20_000)
        await bench.cycles(60)
        await bench.abort()
        bench.wires[0].clear()
        bench.silent.clear()
        await bench.cycles(100)
        assert bench.sent == [1] and not bench.read("partner_told")
        await bench.abort()
        await bench.cycles(60)
        assert bench.sent == [2] and bench.read("partner_told")

    run(story)


@pytest.mark.req("DL-116")
@pytest.mark.parametrize("seed", range(40))
def test_abort_at_any_time_is_safe(seed):
    """``Bench.cycle`` checks throughout that no partner sends faster than the clock; then a change succeeds."""

    async def story(bench):
        rng = random.Random(seed)
        for _ in range(3):
            await bench.start(rng.choice([5_000, 20_000, 31_250]))
            await bench.cycles(rng.randrange(90))
            running = bench.read("busy")
            await bench.abort()
            if running:
                await bench.until_idle()
                assert bench.read("failed") != bench.read("done")
            await bench.cycles(rng.randrange(120))
        await bench.start(12_345)
        await bench.until_idle()
        assert bench.read("done") and bench.clock == bench.read("rate") == bench.partners[0].partner_rate == 12_345

    run(story, seed=seed)


@pytest.mark.parametrize("seed", range(20))
def test_partner_is_told_again_after_a_link_down(seed):
    async def story(bench):
        rng = random.Random(seed)
        await bench.start(8_000)
        await bench.cycles(rng.randrange(120))
        for _ in range(3):
            bench.set_link(0, 0)
            await bench.cycles(rng.randrange(1, 30))
            # Not before it is told may TL flits flow: channel 0 stays offline.
            assert not bench.read("partner_told") and not bench.read("announce")
            bench.set_link(0, 1)
            await bench.cycles(rng.randrange(60))
        await bench.until_idle()
        await bench.cycles(120)
        assert bench.read("partner_told") and bench.read("done")
        assert bench.partners[0].partner_rate == bench.clock == 8_000

    run(story, seed=seed)


@pytest.mark.req("DL-117")
@pytest.mark.parametrize("ports", [2, 4])
def test_one_clock_for_all_ports(ports):
    """Every partner whose link is up is waited for."""

    async def story(bench):
        late = ports - 1
        bench.silent.add(late)
        await bench.start(20_000)
        await bench.cycles(150)
        assert bench.clock == FULL_RATE and bench.read("announce") == 1 << late
        bench.silent.clear()
        await bench.until_idle()
        assert bench.clock == 20_000
        assert [partner.partner_rate for partner in bench.partners] == [20_000] * ports
        bench.set_link(late, 0)
        await bench.start(5_000)
        await bench.until_idle()
        assert bench.clock == 5_000 and bench.read("partner_told") == (1 << late) - 1
        bench.set_link(late, 1)
        await bench.cycles(100)
        assert bench.partners[late].partner_rate == 5_000
        assert bench.read("partner_told") == (1 << ports) - 1

    run(story, ports=ports)


@pytest.mark.req("DL-008", "DL-113", "DL-118")
@pytest.mark.parametrize("seed", range(6))
def test_both_ends_change_at_the_same_time(seed):
    """Two accelerators with their pacers: each waits for its own Ack only, and settles on the lower rate."""
    m = Module()
    duts = [RateChange(), RateChange()]
    pacers = [Pacer(), Pacer()]
    m.submodules.near, m.submodules.far = duts
    m.submodules.near_pacer, m.submodules.far_pacer = pacers
    for dut, pacer in zip(duts, pacers):
        m.d.comb += pacer.own_rate.eq(dut.pace)

    async def bench(ctx):
        rng = random.Random(seed)
        sides = [Bench(ctx, dut, seed=rng.random()) for dut in duts]
        for _ in range(3):
            targets = [rng.choice([3_125, 9_000, 20_000, 31_250]) for _ in sides]
            for side, target in zip(sides, targets):
                ctx.set(side.dut.target_rate, target)
                ctx.set(side.dut.change, 0)
            await ctx.tick()
            for side in sides:
                ctx.set(side.dut.change, 1)
            busy_together = 0
            for _ in range(400):
                for side in sides:
                    side._messages()
                    side._clocks()
                    assert side.partners[0].pace <= side.clock
                # The device that a bench keeps as the partner is this end: it heard what the other end told.
                for pacer, other in zip(pacers, sides[::-1]):
                    ctx.set(pacer.partner_rate, other.partners[0].partner_rate)
                await ctx.tick()
                busy_together += all(side.read("busy") for side in sides)
            assert busy_together > 5
            await ctx.tick().repeat(2)
            assert [side.read("done") for side in sides] == [1, 1]
            assert [side.clock for side in sides] == targets
            assert [ctx.get(pacer.rate) for pacer in pacers] == [pacing_rate(*targets)] * 2

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
