"""Event counters in segments: the count is true in every cycle, over every carry and around the end."""

import random

import pytest
from amaranth.sim import Simulator

from ualink.checks import ConfigError
from ualink.lib.event_counter import EventCounter


@pytest.mark.req("DL-178")
@pytest.mark.parametrize(("width", "segment"), [(9, 3), (8, 3), (6, 6), (5, 1)])
def test_count_is_true_in_every_cycle(width, segment):
    """Events in neighbouring cycles and apart, for more than one turn of the whole counter."""
    dut = EventCounter(width, segment)
    rng = random.Random(width)

    async def bench(ctx):
        history = [0, 0]
        cycle = 0
        while history[-1] < (1 << width) + 40:
            happens = rng.random() < (0.5, 1)[cycle // 64 % 2]
            ctx.set(dut.event, happens)
            history.append(history[-1] + happens)
            await ctx.tick()
            assert ctx.get(dut.count) == history[-2] % (1 << width)
            cycle += 1

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("segment", [0, 9, True, "4"])
def test_refuses_segment(segment):
    with pytest.raises(ConfigError, match="segment is"):
        EventCounter(8, segment)
