"""Multiplexers of one-hot choices."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from ualink.lib.select import select_from, select_one


@pytest.mark.parametrize("places", [2, 3, 5, 8])
def test_every_place_is_reached(places):
    unit, width = 3, 7
    m = Module()
    chosen, value = Signal(places), Signal(unit * (places - 1) + width)
    slid, picked = Signal(width), Signal(width)
    m.d.comb += [
        slid.eq(select_from(chosen, value, unit, width)),
        picked.eq(select_one(chosen, (value[unit * n :][:width] for n in range(places)))),
    ]
    rng = random.Random(places)

    async def bench(ctx):
        for place in list(range(places)) * 20:
            bits = rng.getrandbits(len(value))
            ctx.set(chosen, 1 << place)
            ctx.set(value, bits)
            assert ctx.get(slid) == ctx.get(picked) == bits >> (unit * place) & (1 << width) - 1
        ctx.set(chosen, 0)
        assert ctx.get(picked) == 0

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
