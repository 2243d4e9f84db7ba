"""Transmit credits of counters beside those of flags: the same in every cycle."""

import random

import pytest
from amaranth.sim import Simulator

from support.lockstep import Lockstep
from ualink.config import Credits, TLConfig
from ualink.tl.credit.credits import TransmitCredits
from ualink.tl.credit.lean_credits import LeanTransmitCredits, transmit_credits
from ualink.tl.internal import CREDIT_UPDATE_LAYOUT
from ualink_sim.model.tl.credits import BUCKETS, CLASSES

SMALL = TLConfig(**{name: Credits(pool=4) for name in CLASSES}, cmd_counter_bits=5, data_counter_bits=5)
CLAIMS = ("request", "read", "write")


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_a_configuration_says_which():
    assert type(transmit_credits(SMALL)) is TransmitCredits
    assert type(transmit_credits(SMALL.replace(lean=True))) is LeanTransmitCredits


@pytest.mark.parametrize("shared", [False, True])
def test_the_same_whatever_is_claimed_and_returned(shared):
    """Sessions with any initial release, few credits or many; claims in every order; at their end more comes back than
    was ever given, until the counters have told of it."""
    rng = random.Random(shared)
    beside = Lockstep(TransmitCredits(SMALL), LeanTransmitCredits(SMALL))
    inputs, outputs = beside.inputs, beside.outputs
    seen = dict.fromkeys(("granted", "refused", "pool", "own", "error"), 0)

    async def cycle(ctx, returns, told):
        update = CREDIT_UPDATE_LAYOUT.const(
            {
                "valid": bool(returns),
                **{
                    kind: {"pool": returns.get((kind, None), 0), "vc": [returns.get((kind, vc), 0) for vc in range(4)]}
                    for kind in CLASSES
                },
            }
        )
        ctx.set(inputs["update"], update.as_value().value)
        response = rng.choice(("read", "write", None))
        spent = []
        for name in CLAIMS:
            ctx.set(inputs[f"{name}.valid"], name == response or (name == "request" and rng.random() < 0.7))
            ctx.set(inputs[f"{name}.vc"], rng.randrange(4))
            ctx.set(inputs[f"{name}.beats"], rng.randrange(5))
            ctx.set(inputs[f"{name}.take"], 0)
        for name in CLAIMS:
            valid, granted, pool = (
                ctx.get(inputs[f"{name}.valid"]),
                ctx.get(outputs[f"{name}.granted"]),
                ctx.get(outputs[f"{name}.pool"]),
            )
            take = valid and granted and rng.random() < 0.9
            ctx.set(inputs[f"{name}.take"], take)
            seen["granted" if granted else "refused"] += valid
            if take:
                seen["pool" if pool else "own"] += 1
                kind, bucket = ("req" if name == "request" else "rsp"), None if pool else ctx.get(inputs[f"{name}.vc"])
                beats = 0 if name == "write" else ctx.get(inputs[f"{name}.beats"])
                spent += [(f"{kind}_cmd", bucket)] + [(f"{kind}_data", bucket)] * beats
        beside.check(ctx, told)
        fast, lean = (ctx.get(block.counts.as_value()) for block in beside.blocks)
        assert fast == lean, told
        await ctx.tick()
        return spent

    async def bench(ctx):
        for session in range(24):
            few = rng.choice((1, 3, 7))
            ctx.set(beside.clear, 1)
            await ctx.tick()
            ctx.set(beside.clear, 0)
            for name in ("peer_init_done", "peer_shared_data", "enable"):
                ctx.set(inputs[name], 0)
            for _ in range(3):
                await cycle(ctx, {(kind, b): rng.randint(0, few) for kind in CLASSES for b in BUCKETS}, session)
            ctx.set(inputs["peer_init_done"], 1)
            ctx.set(inputs["peer_shared_data"], shared)
            spent = []
            for n in range(45):
                ctx.set(inputs["enable"], rng.random() < 0.95)
                returns = {}
                for account in rng.sample(spent, min(len(spent), rng.randint(0, 4))):
                    if returns.get(account, 0) < 6:
                        spent.remove(account)
                        returned = ("rsp_data", None) if shared and account == ("req_data", None) else account
                        returned = rng.choice((account, returned))
                        returns[returned] = returns.get(returned, 0) + 1
                if n > 38:
                    returns[rng.choice(CLASSES), rng.choice(BUCKETS)] = 5
                spent += await cycle(ctx, returns, (session, n))
            seen["error"] += ctx.get(outputs["protocol_error"])

    simulator = Simulator(beside)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert all(seen.values()), seen
