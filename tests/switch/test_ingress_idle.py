"""An ingress of the request plane in which nothing is, and whose register of where things go an upset strikes."""

import random

import pytest
from amaranth.sim import Simulator

from support.switch.bench import coded, pack, random_request
from support.upsets import collect
from ualink.switch.request_ingress import RequestIngress


@pytest.mark.req("RAS-009", "RAS-014")
def test_what_has_left_does_not_leave_again_where_an_upset_leads():
    """Neither the Request that is still in the register, nor a beat that stands before the ingress as its own."""
    ingress = RequestIngress(3)
    design, registers, _ = collect(ingress)
    (where,) = (register.signal for register in registers if register.path[-1] == "steered_where")
    request, beats = random_request(random.Random(5), 0, 0, 1)
    went = []

    async def bench(ctx):
        ctx.set(ingress.steered_req.ready, 7)
        ctx.set(ingress.steered_orig_data.ready, 7)
        ctx.set(ingress.req.payload.as_value(), coded("req", pack("req", request)))
        ctx.set(ingress.orig_data.payload.as_value(), coded("orig_data", pack("orig_data", beats[0])))
        for cycle in range(16):
            ctx.set(ingress.req.valid, cycle == 0)
            ctx.set(ingress.orig_data.valid, cycle in (2, 12))
            if cycle == 12:
                assert ctx.get(where) == 0
                ctx.set(where, 4)
            went.append((ctx.get(ingress.steered_req.valid), ctx.get(ingress.steered_orig_data.valid)))
            assert ctx.get(ingress.orig_data.ready) == (cycle == 2)
            await ctx.tick()

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert went == [(1, 1) if cycle == 2 else (0, 0) for cycle in range(16)]
