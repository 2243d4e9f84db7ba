"""The request egress against the traffic that would starve with one round robin for all Requests."""

import pytest
from amaranth.sim import Simulator

from ualink.switch.request_egress import RequestEgress
from ualink.upli.commands import ReqCmd


@pytest.mark.req("SW-039", "SW-040", "SW-041")
def test_two_writers_share_beside_a_reader():
    """Queues 0 and 2 have Requests with 4 beats, queue 1 Reads: the writers take turns, reads fill the rest."""
    dut = RequestEgress(3)
    requests, beats = [], []

    async def bench(ctx):
        sent = [0, 0, 0]
        for n, (req, orig_data) in enumerate(zip(dut.queues_req, dut.queues_orig_data, strict=True)):
            ctx.set(req.valid, 1)
            ctx.set(req.payload.cmd, ReqCmd.READ.value if n == 1 else ReqCmd.WRITE.value)
            ctx.set(req.payload.src_phys_acc_id, n)
            ctx.set(orig_data.valid, n != 1)
        ctx.set(dut.req.ready, 1)
        ctx.set(dut.orig_data.ready, 1)
        for _ in range(80):
            for n, orig_data in enumerate(dut.queues_orig_data):
                ctx.set(orig_data.payload.end, sent[n] % 4 == 3)
                ctx.set(orig_data.payload.beat.data, n)
            for n, orig_data in enumerate(dut.queues_orig_data):
                sent[n] += ctx.get(orig_data.valid & orig_data.ready)
            await ctx.tick()
            assert ctx.get(dut.req.valid)
            requests.append(ctx.get(dut.req.payload.src_phys_acc_id))
            assert ctx.get(dut.orig_data.valid)
            beats.append(ctx.get(dut.orig_data.payload.data))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert [n for n in requests if n != 1] == [0, 2] * 10
    assert beats == ([0] * 4 + [2] * 4) * 10
    assert requests.count(1) == 60
