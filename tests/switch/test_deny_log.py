"""Deny log: saturating count, last item, clear."""

import random

import pytest
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.switch.deny_log import DenyLog


@pytest.mark.parametrize("bits", [0, 1, -3, True, None])
def test_refuses_counter_bits(bits):
    with pytest.raises(ConfigError, match=f"{bits!r}"):
        DenyLog(bits)


@pytest.mark.req("SW-059")
@pytest.mark.parametrize("clear_rate", [0.0, 0.05, 0.3])
def test_counts_and_shows_the_last(clear_rate):
    dut = DenyLog(counter_bits=5)
    rng = random.Random(clear_rate)

    async def bench(ctx):
        count, last = 0, None
        for _ in range(200):
            assert ctx.get(dut.status.count) == count
            if last is not None:
                seen = dut.status.src_phys_acc_id, dut.status.dst_phys_acc_id, dut.status.kind
                assert (ctx.get(seen[0]), ctx.get(seen[1]), ctx.get(seen[2]).value) == last
            clear = rng.random() < clear_rate
            ctx.set(dut.status.clear, clear)
            if clear:
                count = 0
            for kind, denied in enumerate(dut.denied):
                valid, src, dst = rng.random() < 0.3, rng.getrandbits(10), rng.getrandbits(10)
                ctx.set(denied.valid, valid)
                ctx.set(denied.src_phys_acc_id, src)
                ctx.set(denied.dst_phys_acc_id, dst)
                if valid:
                    count, last = min(31, count + 1), (src, dst, kind)
            await ctx.tick()
        assert clear_rate or count == 31

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
