"""Agents of four ports of which one, two or all are used, beside agents that are built for so many.

CI looks at each number of ports and at each kind of credits; ``make soak`` (UALINK_SOAK=1) at each with each.
"""

import os

import pytest

from support.upli.chosen_pair import ChosenPair
from support.upli.lawful import LawfulTraffic
from support.upli.pair import Traffic, simulate
from ualink.config import ConfigError, Credits, UPLIConfig
from ualink.upli.calendar import check_ports

POOL = Credits(pool=5)
CONFIGS = {
    "pool": UPLIConfig(req=POOL, orig_data=Credits(pool=9), rd_rsp=Credits(pool=7), wr_rsp=POOL),
    "mixed": UPLIConfig(
        req=Credits(pool=2, vc=(1, 1, 1, 1)),
        orig_data=Credits(pool=3, vc=(1, 1, 1, 2)),
        rd_rsp=Credits(pool=2, vc=(2, 3, 2, 2)),
        wr_rsp=Credits(pool=1, vc=(0, 0, 1, 0)),
    ),
}
CONFIGS["lean"] = CONFIGS["mixed"].replace(prompt_data=False, lean=True)
WHOLE = bool(os.environ.get("UALINK_SOAK"))
PORTS = (1, 2, 4)
TRAFFIC = [(credits, ports) for credits in CONFIGS for ports in PORTS]
DISTURBED = [(credits, ports) for credits in ("mixed", "lean") for ports in PORTS]
SOME_TRAFFIC = [("pool", 1), ("pool", 2), ("mixed", 1), ("mixed", 4), ("lean", 2), ("lean", 4)]
SOME_DISTURBED = [("mixed", 1), ("mixed", 4), ("lean", 2)]
FLIPPED = (
    ("req", "vld"),
    ("req", "port_id"),
    ("req", "vld_parity"),
    ("orig_data", "port_id"),
    ("orig_data", "last"),
    ("orig_data", "data"),
    ("rd_rsp", "vld"),
    ("rd_rsp", "offset"),
    ("wr_rsp", "port_id"),
    ("req", "credit", "vld"),
    ("rd_rsp", "credit", "vld_parity"),
    ("orig_data", "credit", "pool"),
)


class Compared(LawfulTraffic):
    """The traffic of one that looks at both in every cycle."""

    cycle = 0

    async def finish(self, ctx):
        self.pair.check(ctx, self.cycle)
        self.cycle += 1
        await super().finish(ctx)


@pytest.mark.soak
@pytest.mark.req("UPLI-080", "UPLI-084", "SW-024")
@pytest.mark.parametrize(("credits", "ports"), TRAFFIC if WHOLE else SOME_TRAFFIC)
def test_traffic_is_that_of_agents_built_for_so_many(credits, ports):
    config = CONFIGS[credits]
    pair = ChosenPair(config, ports)
    traffic = Compared(pair, config, f"{ports} {credits}")

    async def bench(ctx):
        ctx.set(pair.skew, traffic.rng.randrange(ports))
        await pair.settle(ctx)
        await traffic.run(ctx, 120)
        traffic.take = 1.0
        await traffic.run(ctx, 30 * ports, more=False)
        assert all(len(beats) > 2 for beats in traffic.accepted.values())

    simulate(pair, bench)


class Disturbed(Traffic):
    """Wrong bits on the wire, and Drop Mode now and then: what is right is what the agents beside do."""

    cycle = 0

    async def finish(self, ctx):
        pair, rng = self.pair, self.rng
        for fault in pair.faults.values():
            ctx.set(fault, rng.getrandbits(576) if rng.random() < 0.02 else 0)
        if rng.random() < 0.05:
            ctx.set(pair.originator.drop, rng.random() < 0.3)
            ctx.set(pair.completer.drop, rng.random() < 0.3)
        pair.check(ctx, self.cycle)
        self.cycle += 1
        await super().finish(ctx)


@pytest.mark.soak
@pytest.mark.parametrize(("credits", "ports"), DISTURBED if WHOLE else SOME_DISTURBED)
def test_errors_and_drop_mode_are_those_of_agents_built_for_so_many(credits, ports):
    config = CONFIGS[credits]
    pair = ChosenPair(config, ports, FLIPPED)
    traffic = Disturbed(pair, config, f"{ports} {credits} faults", judge=False)

    async def bench(ctx):
        ctx.set(pair.skew, traffic.rng.randrange(ports))
        await pair.settle(ctx)
        errors = 0
        for _ in range(3):
            await traffic.run(ctx, 60)
            for agent in (pair.originator, pair.completer):
                errors += ctx.get(agent.errors.as_value()).bit_count()
            for fault in pair.faults.values():
                ctx.set(fault, 0)
            await traffic.reset(ctx)
        assert errors > 2

    simulate(pair, bench)


@pytest.mark.parametrize("ports", [1, 2])
def test_of_four_ports_some_can_be_used_of_fewer_not(ports):
    with pytest.raises(ConfigError, match=f"agent.ports is {ports}; it must be 4 for any number of them to be chosen"):
        check_ports("agent", ports, True)
