"""The data of every line: RTL as the model has it, and no two lines alike."""

import random

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.sim import Simulator

from ualink.traffic.line_data import difference_state, line_state, line_words, write_lanes
from ualink_sim.model import traffic


class Lines(Elaboratable):
    """The function in hardware."""

    def __init__(self):
        self.line, self.dst, self.seed, self.other = Signal(51), Signal(10), Signal(32), Signal(32)
        self.data, self.before, self.lanes = Signal(512), Signal(512), Signal(64)

    def elaborate(self, platform):
        m = Module()
        state = line_state(m, self.line, self.dst, self.seed, "line")
        either = difference_state(m, self.seed ^ self.other, "either")
        m.d.comb += [
            self.data.eq(line_words(state)),
            self.before.eq(line_words(state ^ either)),
            self.lanes.eq(write_lanes(state)),
        ]
        return m


def test_rtl_gives_the_data_of_the_model():
    dut, rng = Lines(), random.Random(3)

    async def story(ctx):
        for n in range(40):
            line = (1 << n) if n < 30 else rng.randrange(1 << 51)
            dst, seed, other = rng.randrange(1024), rng.randrange(1 << 32), rng.randrange(1 << 32)
            for signal, value in ((dut.line, line), (dut.dst, dst), (dut.seed, seed), (dut.other, other)):
                ctx.set(signal, value)
            await ctx.delay(1e-9)
            expected = int.from_bytes(traffic.line_data(line, dst, seed), "little")
            before = int.from_bytes(traffic.line_data(line, dst, other), "little")
            assert ctx.get(dut.data) == expected
            assert ctx.get(dut.before) == before
            assert ctx.get(dut.lanes) == traffic.write_lanes(line, dst, seed)

    simulator = Simulator(dut)
    simulator.add_testbench(story)
    simulator.run()


def test_no_two_lines_accelerators_or_seeds_have_the_same_data():
    """Not even turned by some bytes, so that a line in the wrong place or a word in the wrong lane is seen."""
    lines = [traffic.line_data(line, dst, seed) for line in range(300) for dst in (0, 1, 5) for seed in (1, 2)]
    words = {data[at : at + 8] for data in lines for at in range(0, 64, 8)}
    assert len(words) == 8 * len(lines)


def test_bits_are_even():
    """From one line to the next a quarter of the bits change, and about half of all bits are ones."""
    ones = changed = 0
    for line in range(400):
        data = int.from_bytes(traffic.line_data(line, 3, 1), "little")
        changed += (data ^ int.from_bytes(traffic.line_data(line + 1, 3, 1), "little")).bit_count()
        ones += data.bit_count()
    assert 0.2 < changed / 400 / 512 < 0.6
    assert 0.4 < ones / 400 / 512 < 0.6


def test_classes_of_latency():
    assert [traffic.bin_of(n) for n in range(10)] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]
    assert traffic.bin_of((1 << 24) - 1) == traffic.BINS - 1
    for number in range(traffic.BINS):
        assert traffic.bin_of(traffic.least_of_bin(number)) == number
        if number:
            assert traffic.bin_of(traffic.least_of_bin(number) - 1) == number - 1
