"""Credits of counters beside those of flags: the same in every cycle."""

import random

import pytest

from support.lockstep import Lockstep
from support.upli.pair import simulate
from ualink.config import UPLIConfig
from ualink.upli.credits import SenderCredits
from ualink.upli.lean_credits import LeanSenderCredits, sender_credits


@pytest.mark.parametrize(("ports", "generous"), [(1, 0.1), (1, 0.9), (2, 0.3), (4, 0.6)])
def test_the_same_at_any_rates(ports, generous):
    """Returns of any class, right and wrong ones, more than there can be; spends whenever they may be, and not."""
    rng = random.Random(f"{ports} {generous}")
    beside = Lockstep(SenderCredits(ports, 2), LeanSenderCredits(ports, 2))
    inputs, outputs = beside.inputs, beside.outputs

    async def bench(ctx):
        seen = dict.fromkeys(("overflow", "control_error", "available"), 0)
        only, spends = None, 0.5
        for cycle in range(1400 if generous == 0.9 else 500):
            if cycle % 50 == 0:
                # At first returns of all classes, in the end of one, so that its account runs over.
                only, spends = (None if cycle < 500 else 0 if cycle < 1000 else 3), rng.choice((0.1, 0.5, 1))
            ctx.set(beside.clear, cycle < 500 and rng.random() < 0.01)
            ctx.set(inputs["listen"], rng.random() < 0.98)
            ctx.set(inputs["credit.init_done"], 15 if rng.random() < 0.9 else rng.getrandbits(4))
            vld = sum((rng.random() < generous) << port for port in range(4))
            pool, ones = rng.getrandbits(4), 0
            if only is not None:
                pool = 15 if only == 0 else 0
            for port in range(4):
                vc = only - 1 if only else rng.randrange(4)
                number = rng.choice((0, 1, 2, 3, 3, 3))
                ctx.set(inputs[f"credit.port_vc.{port}"], vc)
                ctx.set(inputs[f"credit.port_num.{port}"], number)
                ones += vc.bit_count() + number.bit_count()
            ctx.set(inputs["credit.vld"], vld)
            ctx.set(inputs["credit.pool"], pool)
            ctx.set(inputs["credit.vld_parity"], vld.bit_count() % 2)
            ctx.set(inputs["credit.parity"], (pool.bit_count() + ones + (rng.random() < 0.02)) % 2)
            ctx.set(inputs["port"], cycle % ports)
            ctx.set(inputs["vc"], 1 << rng.randrange(4) if rng.random() < 0.9 else 0)
            ctx.set(inputs["spend"], bool(ctx.get(outputs["available"])) and rng.random() < spends)
            beside.check(ctx, cycle)
            for block in zip(*(block.accounts for block in beside.blocks)):
                for one, other in zip(*block):
                    assert ctx.get(one) == ctx.get(other)
            for name in seen:
                seen[name] += bool(ctx.get(outputs[name]))
            await ctx.tick()
        assert seen["available"] and seen["control_error"]
        assert seen["overflow"] or generous < 0.9

    simulate(beside, bench)


def test_a_configuration_says_which():
    assert type(sender_credits(UPLIConfig(), 2)) is SenderCredits
    assert type(sender_credits(UPLIConfig(lean=True), 2)) is LeanSenderCredits
