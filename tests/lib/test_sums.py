"""Sums of several numbers are what Python says."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from ualink.lib.sums import total

WIDTH = 5


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_the_sum_is_that_of_all_terms_modulo_the_width(count):
    terms = [Signal(width) for width in (WIDTH, 2, WIDTH, 3, WIDTH + 2, 1)[:count]]
    m = Module()
    result = Signal(WIDTH + 1)
    m.d.comb += result.eq(total(m, terms, WIDTH, "sum"))
    rng = random.Random(count)

    async def bench(ctx):
        for n in range(600):
            values = [(1 << len(term)) - 1 if n < 2 else rng.randrange(1 << len(term)) for term in terms]
            for term, value in zip(terms, values):
                ctx.set(term, value)
            await ctx.delay(1e-9)
            assert ctx.get(result) == sum(values) % (1 << WIDTH)

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()
