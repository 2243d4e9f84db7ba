"""Originator and Completer back to back: what goes in comes out, by the rules of the wire."""

import pytest

from ualink.config import Credits, UPLIConfig
from upli_pair import Pair, Traffic, simulate

POOL_ONLY = UPLIConfig(req=Credits(pool=3), orig_data=Credits(pool=6), rd_rsp=Credits(pool=5), wr_rsp=Credits(pool=2))
VC_ONLY = UPLIConfig(
    req=Credits(vc=(1, 2, 1, 3)),
    orig_data=Credits(vc=(4, 5, 4, 9)),
    rd_rsp=Credits(vc=(5, 4, 4, 4)),
    wr_rsp=Credits(vc=(1, 1, 2, 1)),
    init_done_qualification=5,
)
MIXED = UPLIConfig(
    req=Credits(pool=2, vc=(1, 1, 1, 1)),
    orig_data=Credits(pool=3, vc=(1, 1, 1, 2)),
    rd_rsp=Credits(pool=2, vc=(2, 3, 2, 2)),
    wr_rsp=Credits(pool=1, vc=(0, 0, 1, 0)),
)
CONFIGS = {"pool": POOL_ONLY, "vc": VC_ONLY, "mixed": MIXED}


@pytest.mark.req(
    "UPLI-051",
    "UPLI-065",
    "UPLI-081",
    "UPLI-084",
    "UPLI-085",
    "UPLI-086",
    "UPLI-087",
    "UPLI-088",
    "UPLI-089",
    "UPLI-090",
)
@pytest.mark.req(
    "UPLI-093",
    "UPLI-094",
    "UPLI-095",
    "UPLI-097",
    "UPLI-098",
    "UPLI-103",
    "UPLI-104",
    "UPLI-105",
    "UPLI-106",
    "UPLI-107",
)
@pytest.mark.req(
    "UPLI-108",
    "UPLI-109",
    "UPLI-111",
    "UPLI-112",
    "UPLI-115",
    "UPLI-116",
    "UPLI-117",
    "UPLI-119",
    "UPLI-120",
    "UPLI-121",
)
@pytest.mark.req(
    "UPLI-138",
    "UPLI-139",
    "UPLI-155",
    "UPLI-169",
    "UPLI-171",
    "UPLI-172",
    "UPLI-173",
    "UPLI-174",
    "UPLI-175",
    "UPLI-184",
)
@pytest.mark.req(
    "UPLI-185",
    "UPLI-232",
    "UPLI-235",
    "UPLI-236",
    "UPLI-241",
    "UPLI-243",
    "UPLI-244",
    "UPLI-245",
    "UPLI-246",
    "UPLI-247",
)
@pytest.mark.req(
    "UPLI-273",
    "UPLI-275",
    "UPLI-276",
    "UPLI-277",
    "UPLI-278",
    "UPLI-285",
    "UPLI-286",
    "UPLI-288",
    "UPLI-289",
    "UPLI-291",
)
@pytest.mark.req(
    "UPLI-292",
    "UPLI-293",
    "UPLI-294",
    "UPLI-295",
    "UPLI-296",
    "UPLI-300",
    "UPLI-301",
    "UPLI-302",
    "UPLI-303",
    "UPLI-304",
)
@pytest.mark.req(
    "UPLI-305",
    "UPLI-306",
    "UPLI-307",
    "UPLI-309",
    "UPLI-310",
    "UPLI-311",
    "UPLI-313",
    "UPLI-351",
    "UPLI-375",
    "UPLI-376",
)
@pytest.mark.req("UPLI-377")
@pytest.mark.req("RST-018", "RST-019", "RST-030", "RST-037", "RAS-018", "RAS-031", "RAS-032", "RAS-033")
@pytest.mark.parametrize("ports", [1, 2, 4])
@pytest.mark.parametrize("credits", CONFIGS)
def test_random_traffic(ports, credits):
    config = CONFIGS[credits]
    pair = Pair(config, ports)
    traffic = Traffic(pair, config, f"{ports} {credits}")

    async def bench(ctx):
        ctx.set(pair.skew, traffic.rng.randrange(ports))
        await traffic.run(ctx, 120)
        traffic.take = 1.0
        await traffic.run(ctx, 30 * ports, more=False)
        assert not any(traffic.pending.values())
        assert all(len(beats) > 2 for beats in traffic.accepted.values())
        traffic.check_order(complete=True)
        assert not any(traffic.rules.in_use.values())
        for agent in (pair.originator, pair.completer):
            assert ctx.get(agent.connected)
            assert not ctx.get(agent.errors.as_value())

    simulate(pair, bench)
