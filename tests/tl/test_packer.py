"""The packing arbiter alone: footprints, rate-limit allowances, shares of the sectors, the data that fields owe."""

import random

import pytest
from amaranth.sim import Simulator

from tl_transmit import COMMANDS, read_response, request, request_field, response_field, write_response
from ualink.tl.packer import FC_PATIENCE, Packer
from ualink_sim.model.tl_fields import Credit, FlowControl, decode_control_half_flit


def simulate(body):
    dut = Packer()

    async def bench(ctx):
        await body(ctx, dut)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


def entry(control):
    """A field with the number of half-flits it owes, as the intakes give it."""
    return {"field": control.encode(), "job": {"half_flits": control.half_flits()}}


def show(ctx, dut, requests, responses, fc, allowances=(4, 8)):
    """Put fields in front of the packer; ``fc`` is a list of five fields or None."""
    for n, control in enumerate(requests):
        ctx.set(dut.requests[n], entry(control))
    for n, control in enumerate(responses):
        ctx.set(dut.responses[n], entry(control))
    ctx.set(dut.request_count, len(requests))
    ctx.set(dut.response_count, len(responses))
    for n, control in enumerate(fc):
        ctx.set(dut.fc[n].as_value(), control.encode() if control else 0)
    ctx.set(dut.fc_valid, sum(1 << n for n, control in enumerate(fc) if control))
    ctx.set(dut.request_allowance, allowances[0])
    ctx.set(dut.response_allowance, allowances[1])
    ctx.set(dut.pack, 1)


async def formed(ctx, dut):
    """What is taken in this cycle, the jobs, and the half-flit of the next cycle."""
    taken = ctx.get(dut.request_take), ctx.get(dut.response_take), ctx.get(dut.fc_take)
    jobs = [ctx.get(job.half_flits) for job in dut.jobs]
    await ctx.tick()
    ctx.set(dut.pack, 0)
    ctx.set(dut.control.ready, 1)
    half_flit = ctx.get(dut.control.p) if ctx.get(dut.control.valid) else None
    await ctx.tick()
    ctx.set(dut.control.ready, 0)
    return taken, jobs, half_flit


def fields(rng, requests, responses):
    made = [request_field(request(rng.choice(COMMANDS), beats=rng.randint(1, 4), rng=rng)[0]) for _ in range(requests)]
    answers = [
        response_field(read_response(rng.randint(1, 4), rng=rng) if rng.getrandbits(1) else write_response(rng=rng))
        for _ in range(responses)
    ]
    return made, answers


FC = [FlowControl(req_cmd=Credit(n + 1, n - 1 if n else None)) for n in range(5)]


@pytest.mark.req(
    *("TL-008", "TL-010", "TL-012", "TL-013", "TL-014", "TL-023", "TL-038", "TL-130", "TL-131", "TL-134", "TL-145")
)
def test_random_choices():
    rng = random.Random(1)

    async def body(ctx, dut):
        for _ in range(300):
            requests, responses = fields(rng, rng.randint(0, 4), rng.randint(0, 4))
            fc = [control if rng.random() < 0.3 else None for control in FC]
            allowances = rng.randint(1, 4), rng.randint(1, 8)
            show(ctx, dut, requests, responses, fc, allowances)
            (request_take, response_take, fc_take), jobs, half_flit = await formed(ctx, dut)
            assert request_take <= min(allowances[0], len(requests))
            assert response_take <= min(allowances[1], len(responses))
            if half_flit is None:
                assert not requests and not responses and not any(fc)
                continue
            placed = decode_control_half_flit(half_flit.data.to_bytes(32, "little"))
            assert [f for _, f in placed if f.is_request] == requests[:request_take]
            assert [f for _, f in placed if f.is_response] == responses[:response_take]
            sent_fc = [f for _, f in placed if isinstance(f, FlowControl)]
            assert sent_fc == [f for n, f in enumerate(fc) if fc_take >> n & 1]
            owed = {sector: f.half_flits() for sector, f in placed}
            assert jobs == [owed.get(sector, 0) for sector in range(8)]
            assert half_flit.half_flits == sum(owed.values())
            assert (half_flit.requests, half_flit.responses) == (request_take, response_take)
            # Neither kind waits in vain: a Request always goes, Responses at the latest next time.
            assert request_take or not requests
            assert response_take or not responses or request_take == 2

    simulate(body)


@pytest.mark.req("TL-215")
def test_one_response_waits_for_two_requests_once():
    rng = random.Random(2)

    async def body(ctx, dut):
        for _ in range(3):
            requests, responses = fields(rng, 3, 1)
            show(ctx, dut, requests, responses, [None] * 5)
            assert (await formed(ctx, dut))[0][:2] == (2, 0)
            show(ctx, dut, requests, responses, [None] * 5)
            assert (await formed(ctx, dut))[0][:2] == (1, 1)

    simulate(body)


@pytest.mark.parametrize("waiting", [(2, 0), (4, 4), (0, 4)])
def test_flow_control_waits_for_a_bounded_number_of_half_flits(waiting):
    rng = random.Random(3)

    async def body(ctx, dut):
        skipped = 0
        for _ in range(20):
            show(ctx, dut, *fields(rng, *waiting), [FC[0], None, None, None, None])
            (request_take, response_take, fc_take), _, _ = await formed(ctx, dut)
            assert request_take + response_take
            skipped = 0 if fc_take else skipped + 1
            assert skipped <= FC_PATIENCE

    simulate(body)


@pytest.mark.req("TL-023")
def test_five_flow_control_fields_in_an_otherwise_empty_half_flit():
    async def body(ctx, dut):
        show(ctx, dut, [], [], FC)
        taken, _, half_flit = await formed(ctx, dut)
        assert taken == (0, 0, 0b11111)
        placed = decode_control_half_flit(half_flit.data.to_bytes(32, "little"))
        assert placed == list(enumerate(FC))

    simulate(body)
