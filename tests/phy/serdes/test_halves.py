"""Words and half words between a clock and its half, at every phase of the two."""

import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.phy.serdes.halves import JoinHalves, SplitWords

WIDTH = 16
FAST = 1e-6


def simulate(dut, phase, *benches):
    module = Module()
    module.submodules.dut = dut
    module.domains += [ClockDomain("slow", reset_less=True), ClockDomain("fast", reset_less=True)]
    simulator = Simulator(module)
    simulator.add_clock(FAST, domain="fast", phase=FAST / 2)
    simulator.add_clock(2 * FAST, domain="slow", phase=FAST / 2 + phase * FAST)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("phase", (0.01, 0.3, 0.5, 0.99, 1.01, 1.5, 1.99))
def test_words_are_split_in_order(phase):
    dut = SplitWords(WIDTH, slow="slow", fast="fast")
    seen = []

    async def bench(ctx):
        for word in range(60):
            await ctx.tick("slow")
            ctx.set(dut.word, (2 * word + 1 << WIDTH // 2 | 2 * word) & 0xFFFF)

    async def listen(ctx):
        for _ in range(110):
            await ctx.tick("fast")
            seen.append(ctx.get(dut.half))

    simulate(dut, phase, bench, listen)
    settled = seen[20:]
    assert settled == list(range(settled[0], settled[0] + len(settled)))


@pytest.mark.parametrize("phase", (0.01, 0.3, 0.5, 0.99, 1.01, 1.5, 1.99))
def test_halves_are_joined_in_order(phase):
    dut = JoinHalves(WIDTH, slow="slow", fast="fast")
    seen = []

    async def bench(ctx):
        for half in range(120):
            await ctx.tick("fast")
            ctx.set(dut.half, half)

    async def listen(ctx):
        for _ in range(55):
            await ctx.tick("slow")
            word = ctx.get(dut.word)
            seen.extend((word & 0xFF, word >> 8))

    simulate(dut, phase, bench, listen)
    settled = seen[20:]
    assert settled == list(range(settled[0], settled[0] + len(settled)))


def ages(reads, written):
    """Of each register that is read: time since it was written, once the clocks have met; in fast cycles."""
    settled = list(reads.items())[20:]
    assert len(settled) > 20
    return [at - written[value] for value, at in settled]


# Times in fast cycles: fast edge n comes at n, slow edge n at ``phase`` + 2 n. A register is replaced after four.


@pytest.mark.parametrize("phase", (0.01, 0.3, 0.5, 0.99, 1.01, 1.5, 1.99))
def test_a_register_is_split_between_two_and_three_cycles_after_it_was_written(phase):
    dut = SplitWords(WIDTH, slow="slow", fast="fast")
    written, reads = {}, {}

    async def bench(ctx):
        for word in range(60):
            ctx.set(dut.word, (2 * word + 1 << WIDTH // 2 | 2 * word) & 0xFFFF)
            await ctx.tick("slow")
            written[2 * word] = written[2 * word + 1] = phase + 2 * word

    async def listen(ctx):
        for edge in range(110):
            await ctx.tick("fast")
            # A word is read as one: its low half leaves a cycle later, its high half after that.
            half = ctx.get(dut.half)
            reads.setdefault(half, edge - 1 - half % 2)

    simulate(dut, phase, bench, listen)
    assert all(2 <= age <= 3 for age in ages(reads, written))


@pytest.mark.parametrize("phase", (0.01, 0.3, 0.5, 0.99, 1.01, 1.5, 1.99))
def test_a_register_is_joined_between_one_and_three_cycles_after_it_was_written(phase):
    dut = JoinHalves(WIDTH, slow="slow", fast="fast")
    written, reads = {}, {}

    async def bench(ctx):
        for half in range(120):
            ctx.set(dut.half, half)
            await ctx.tick("fast")
            written[half] = half

    async def listen(ctx):
        for edge in range(55):
            await ctx.tick("slow")
            # Its high half made the word whole.
            reads.setdefault(ctx.get(dut.word) >> WIDTH // 2, phase + 2 * edge)

    simulate(dut, phase, bench, listen)
    assert all(1 <= age <= 3 for age in ages(reads, written))


@pytest.mark.parametrize("width", (0, 3, True, "40"))
def test_width_is_even(width):
    with pytest.raises(ConfigError, match="width is"):
        SplitWords(width, slow="slow", fast="fast")
