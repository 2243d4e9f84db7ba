"""The switch core against a scoreboard."""

import random

import pytest

from switch.traffic import RESPONSES, CoreBench


def straight(stations, ports):
    """Routes by which ID n is at port n, from everywhere."""
    return [{n: (0, n) for n in range(stations * ports)} for _ in range(stations)]


def random_routes(rng, stations, ports):
    """Tables of their own for each station, with Deny for some ports and no entry for some IDs."""
    return [
        {
            index: (rng.choice([0, 0, 0, rng.getrandbits(4)]), rng.randrange(stations * ports))
            for index in range(16)
            if rng.random() < 0.9
        }
        for _ in range(stations)
    ]


@pytest.mark.req(
    *("SW-003", "SW-004", "SW-008", "SW-010", "SW-011", "SW-019", "SW-020", "SW-021", "SW-022", "SW-023", "SW-026"),
    *("SW-028", "SW-044", "SW-047", "SW-048", "SW-050", "SW-051", "SW-052", "SW-054", "SW-058", "SW-059", "SW-061"),
    *("SW-064", "SW-065", "SW-076"),
)
@pytest.mark.parametrize(
    ("stations", "ports", "source_rate", "sink_rate"),
    [(4, 1, 1.0, 1.0), (4, 1, 0.6, 0.5), (2, 2, 1.0, 0.4), (2, 4, 0.9, 0.8)],
)
def test_random_traffic(stations, ports, source_rate, sink_rate):
    seed = f"{stations} {ports} {source_rate}"
    rng = random.Random(seed)
    bench = CoreBench(
        stations,
        ports,
        routes=random_routes(rng, stations, ports),
        seed=seed,
        source_rate=source_rate,
        sink_rate=sink_rate,
    )
    for ingress in range(bench.count):
        for _ in range(160 // bench.count):
            bench.request(ingress, rng.randrange(18), rng.choice([None, None, 1, 2, 3, 4]))
            bench.response("rd_rsp", ingress, rng.randrange(18), rng.choice([1, 1, 2, 3, 4]))
            bench.response("wr_rsp", ingress, rng.randrange(18))

    async def scenario(ctx):
        await bench.until(ctx, bench.finished, 4000)
        await ctx.tick().repeat(20)
        for port, denied in enumerate(bench.denied):
            status = bench.dut.deny[port]
            assert ctx.get(status.count) == len(denied)
            if denied:
                kind = ctx.get(status.kind).value
                assert (ctx.get(status.src_phys_acc_id), ctx.get(status.dst_phys_acc_id), kind) in denied

    bench.run(scenario)
    bench.check()
    assert sum(map(len, bench.denied)) > 10


@pytest.mark.req("SW-056", "SW-058", "SW-059")
def test_unprogrammed_tables_deny_everything():
    bench = CoreBench(2, 1, routes=[{}, {}])
    for ingress in range(2):
        for dst in range(20):
            bench.request(ingress, dst, [None, 1, 4][dst % 3])
            bench.response("rd_rsp", ingress, dst, 1 + dst % 4)
            bench.response("wr_rsp", ingress, dst)

    async def scenario(ctx):
        await bench.until(ctx, bench.finished, 300)
        await ctx.tick().repeat(10)
        assert [ctx.get(status.count) for status in bench.dut.deny] == [60, 60]

    bench.run(scenario)
    bench.check()


@pytest.mark.parametrize("channel", ["req", "orig_data", "rd_rsp", "wr_rsp"])
def test_latency(channel):
    """A single beat in an idle core takes three cycles from being accepted to being offered."""
    bench = CoreBench(2, 1, routes=straight(2, 1))
    if channel in RESPONSES:
        bench.response(channel, 0, 1)
    else:
        bench.request(0, 1, 1 if channel == "orig_data" else None)

    async def scenario(ctx):
        accepted = getattr(bench.dut, f"in_{channel.replace('orig_data', 'req')}")[0]
        offered = getattr(bench.dut, f"out_{channel}")[1]
        seen = []
        while not seen or not seen[-1][1]:
            _, _, *now = await ctx.tick().sample(accepted.valid & accepted.ready, offered.valid)
            seen.append(now)
        assert [now[0] for now in seen].index(1) + 3 == len(seen) - 1

    bench.run(scenario)


@pytest.mark.req("SW-029", "SW-031", "SW-037")
def test_stalled_egress_blocks_no_other():
    """While egress 1 takes nothing, all other pairs run on, those of the same ingress ports too, in all planes."""
    bench = CoreBench(4, 1, routes=straight(4, 1), seed=5)
    for ingress in range(4):
        for dst in (1, 0, 2, 3, 1, 0, 2, 3):
            bench.request(ingress, dst, [None, 2][dst % 2])
            bench.response("rd_rsp", ingress, dst, 2)
            bench.response("wr_rsp", ingress, dst)
    stalled = [bench.request_sinks[1], *(bench.response_sinks[channel][1] for channel in RESPONSES)]
    for sink in stalled:
        sink.rate = 0.0

    async def scenario(ctx):
        others = [key for key in bench.expected if key[1] != 1]
        await bench.until(ctx, lambda: not any(bench.outstanding(*key) for key in others), 400)
        assert not any(bench.received(kind, 1) for kind in ("req", *RESPONSES))
        for sink in stalled:
            sink.rate = 1.0
        await bench.until(ctx, bench.finished, 400)

    bench.run(scenario)
    bench.check()


@pytest.mark.req("SW-017", "SW-032", "SW-033", "SW-036")
@pytest.mark.parametrize("stalled", [("req",), RESPONSES, ("req", "wr_rsp"), ("req", "rd_rsp")])
def test_planes_are_independent(stalled):
    """With the planes in ``stalled`` full and standing still at every port, the others move everything they have."""
    bench = CoreBench(2, 2, routes=straight(2, 2), seed=6)
    for ingress in range(4):
        for n in range(20):
            bench.request(ingress, n % 4, [None, 1, 3][n % 3])
            bench.response("rd_rsp", ingress, n % 4, 1 + n % 4)
            bench.response("wr_rsp", ingress, n % 4)

    def sinks(kind):
        return bench.request_sinks if kind == "req" else bench.response_sinks[kind]

    for kind in stalled:
        for sink in sinks(kind):
            sink.rate = 0.0

    async def scenario(ctx):
        moving = [key for key in bench.expected if key[0] not in stalled]
        await bench.until(ctx, lambda: not any(bench.outstanding(*key) for key in moving), 800)
        assert not any(bench.received(kind, egress) for kind in stalled for egress in range(4))
        for kind in stalled:
            for sink in sinks(kind):
                sink.rate = 1.0
        await bench.until(ctx, bench.finished, 800)

    bench.run(scenario)
    bench.check()
