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


# Demanded by the rules of the wire in every cycle, or by the comparison of sent and received beats.
TDM = [f"UPLI-{number}" for number in ["081", "084", "085", "086", "087", "088", "089", "090"]]
CREDITS = [
    f"UPLI-{number}"
    for number in [
        "051",
        "065",
        "093",
        "094",
        "095",
        "103",
        "104",
        "105",
        "106",
        "108",
        "109",
        "111",
        "112",
        "115",
        "116",
        "117",
        "119",
        "120",
        "121",
        "169",
        "185",
        "241",
        "273",
        "289",
        "300",
        "305",
        "375",
        "376",
    ]
]
PARITY = [
    f"UPLI-{number}"
    for number in [
        "171",
        "172",
        "173",
        "174",
        "175",
        "243",
        "244",
        "245",
        "246",
        "247",
        "275",
        "276",
        "277",
        "278",
        "291",
        "292",
        "293",
        "294",
        "295",
        "296",
    ]
]
TRANSFERS = [
    f"UPLI-{number}"
    for number in [
        "138",
        "139",
        "155",
        "184",
        "235",
        "236",
        "285",
        "286",
        "288",
        "301",
        "302",
        "303",
        "304",
        "306",
        "307",
        "309",
        "310",
        "313",
        "351",
        "377",
    ]
]
RESET_AND_RAS = ["RST-018", "RST-019", "RST-030", "RST-037", "RAS-018", "RAS-031", "RAS-032", "RAS-033"]


@pytest.mark.req(*TDM, *CREDITS, *PARITY, *TRANSFERS, *RESET_AND_RAS)
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
