"""Originator and Completer back to back: what goes in comes out, by the rules of the wire.

CI draws traffic of one, two and four ports, and of four with all credits; ``make soak`` (UALINK_SOAK=1) of each with
each.
"""

import os

import pytest

from support.upli.pair import Pair, Traffic, simulate
from ualink.config import Credits, UPLIConfig
from ualink.upli.commands import ReqCmd

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
SLOW = POOL_ONLY.replace(prompt_data=False)
CONFIGS = {"pool": POOL_ONLY, "vc": VC_ONLY, "mixed": MIXED, "slow": SLOW, "lean": SLOW.replace(lean=True)}
CONFIGS["unhurried"] = MIXED.replace(unhurried=True)

EACH = [(credits, ports) for credits in CONFIGS for ports in (1, 2, 4)]
SOME = [(credits, ports) for credits, ports in EACH if ports == 4 or credits == "mixed"]


def _upli(*numbers):
    return [f"UPLI-{number:03}" for number in numbers]


# Demanded by the rules of the wire in every cycle, or by the comparison of sent and received beats.
TDM = _upli(81, *range(84, 91))
CREDITS = _upli(51, 65, 93, 94, 95, *range(103, 107), 108, 109, 111, 112, *range(115, 118), *range(119, 122))
SPENDING = _upli(169, 185, 241, 273, 289, 300, 305, 375, 376)
PARITY = _upli(*range(171, 176), *range(243, 248), *range(275, 279), *range(291, 297))
TRANSFERS = _upli(138, 139, 155, 184, 235, 236, 285, 286, 288, *range(301, 305), 306, 307, 309, 310, 313, 351, 377)
OTHERS = ["RST-018", "RST-030", "RST-037", "RAS-018", "RAS-031", "RAS-032", "RAS-033"]


@pytest.mark.req(*TDM, *CREDITS, *SPENDING, *PARITY, *TRANSFERS, *OTHERS)
@pytest.mark.soak
@pytest.mark.parametrize(("credits", "ports"), EACH if os.environ.get("UALINK_SOAK") else SOME)
def test_random_traffic(credits, ports):
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


@pytest.mark.parametrize(("kind", "buffers"), [({}, 10), ({"unhurried": True}, 11), ({"prompt_data": False}, 12)])
def test_few_buffers_keep_up_with_a_beat_in_every_cycle(kind, buffers):
    """Data buffers that are not prompt return credits two cycles later, unhurried ones one: so many more are there."""
    config = UPLIConfig(orig_data=Credits(pool=buffers), **kind)
    pair = Pair(config, 1)

    async def bench(ctx):
        sends, takes = pair.originator, pair.completer
        for stream in (takes.req[0], takes.orig_data[0]):
            ctx.set(stream.ready, 1)
        ctx.set(sends.req[0].payload, {"cmd": ReqCmd.WRITE, "num_beats": 3})
        for stream in (sends.req[0], sends.orig_data[0]):
            ctx.set(stream.valid, 1)
        sent = arrived = 0
        for cycle in range(120):
            ctx.set(sends.orig_data[0].payload, {"offset": sent % 4, "last": sent % 4 == 3})
            taken = ctx.get(sends.orig_data[0].ready)
            sent += taken
            assert taken or cycle < 40
            arrived += ctx.get(takes.orig_data[0].valid) and cycle >= 60
            await ctx.tick()
        assert arrived == 60

    simulate(pair, bench)
