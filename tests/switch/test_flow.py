"""What is counted of each port of the switch core besides its items: cycles in which they stood, fullest queues."""

import pytest

from support.switch.traffic import RESPONSES, SMALL, CoreBench

PLANES = ("req", *RESPONSES)
STRAIGHT = [{0: (0, 0), 1: (0, 1)}] * 2


@pytest.mark.req("SW-097")
def test_cycles_without_progress_are_counted_where_they_are_lost():
    """As many as a watcher of the streams sees, while sinks take half of what they could."""
    bench = CoreBench(2, 1, routes=STRAIGHT, seed=9, sink_rate=0.5)
    for n in range(100):
        bench.request(n & 1, n >> 1 & 1, [None, 1, 4][n % 3])
        bench.response("rd_rsp", n & 1, n >> 1 & 1, 1 + n % 4)
        for _ in range(2):
            bench.response("wr_rsp", n & 1, n >> 1 & 1)
    dut = bench.dut
    ways = {"in": "stalled_in", "out": "stalled_out"}
    watched = [(way, plane, n) for way in ways for plane in PLANES for n in range(2)]

    async def scenario(ctx):
        stood = dict.fromkeys(watched, 0)
        streams = [getattr(dut, f"{way}_{plane}")[n] for way, plane, n in watched]
        # Sources and sinks are at work from the cycle on that the tables are ready.
        while not bench.finished():
            _, _, *now = await ctx.tick().sample(*(stream.valid & ~stream.ready for stream in streams))
            for key, stands in zip(watched, now):
                stood[key] += stands
        await ctx.tick().repeat(10)
        for way, plane, n in watched:
            counted = ctx.get(getattr(dut.flow[n], f"{plane}_{ways[way]}"))
            assert counted == stood[way, plane, n] > 5, (way, plane, n)

    bench.run(scenario)


@pytest.mark.req("SW-097")
def test_the_fullest_queue_of_a_port_leaves_its_mark():
    """Egress 1 stands, and one more item after the other comes from port 0: the first leave their queue for the egress,
    the others stay, until no more fit. What port 1 sends to itself leaves marks of its own."""
    bench = CoreBench(2, 1, routes=STRAIGHT)
    marks = {"req": SMALL.req, "rd_rsp": SMALL.rd_rsp, "wr_rsp": SMALL.wr_rsp}
    left = {"req": 8, "rd_rsp": 5, "wr_rsp": 8}  # items that the egress takes while it sends none

    async def scenario(ctx):
        flow = bench.dut.flow

        def shown(port, channel):
            return ctx.get(getattr(flow[port], f"{channel}_high_water"))

        for sink in (bench.request_sinks[1], *(bench.response_sinks[channel][1] for channel in RESPONSES)):
            sink.rate = 0.0
        await ctx.tick().repeat(2)
        for number in range(1, 14):
            bench.request(0, 1, None)
            for channel in RESPONSES:
                bench.response(channel, 0, 1)
            await ctx.tick().repeat(12)
            for channel, depth in marks.items():
                assert shown(0, channel) == max(1, min(number - left[channel], depth)), (channel, number)
        assert [shown(1, channel) for channel in marks] == [0, 0, 0] and shown(0, "orig_data") == 0
        bench.request_sinks[1].rate = 1.0
        await ctx.tick().repeat(40)
        bench.request(1, 0, 4)
        await ctx.tick().repeat(20)
        assert [shown(n, "orig_data") for n in range(2)] == [0, 4]
        # A queue that has emptied keeps its mark.
        assert [shown(n, "req") for n in range(2)] == [SMALL.req, 1]

    bench.run(scenario)
