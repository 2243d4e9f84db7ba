"""What is told of each port of the switch core besides its items: cycles in which they stood, fullest queues, what is
under way."""

import random

import pytest

from support.switch.traffic import RESPONSES, SMALL, CoreBench, straight
from ualink.upli.commands import has_orig_data

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


class Underway:
    """What is in the core by what its streams do, with ``routes`` that lead straight from ID to port."""

    def __init__(self, dut, count):
        self.items = {(plane, k): 0 for plane in PLANES for k in range(count)}
        self.streams = [
            (way, channel, n, getattr(dut, f"{way}_{channel}")[n])
            for channel in ("req", "orig_data", *RESPONSES)
            for way in ("in", "out")
            for n in range(count)
        ]

    def sampled(self):
        return [value for *_, stream in self.streams for value in (stream.valid & stream.ready, stream.payload)]

    def follow(self, values):
        """Beats count one each; those of data that a Request announces count with it."""
        moved = iter(values)
        for way, channel, n, _ in self.streams:
            moves, payload = next(moved), next(moved)
            if not moves or (channel, way) == ("orig_data", "in"):
                continue
            plane = "req" if channel == "orig_data" else channel
            beats = 1
            if channel == "req" and has_orig_data(payload.cmd):
                beats += payload.num_beats + 1
            if way == "in":
                self.items[plane, payload.dst_phys_acc_id] += beats
            else:
                self.items[plane, n] -= 1


@pytest.mark.req("SW-097")
@pytest.mark.parametrize(("seed", "ports_per_row"), [(0, 4), (1, 2)])
def test_what_is_in_the_core_is_told_of_until_it_has_left(seed, ports_per_row):
    """Whatever waits for room, for its data, for its turn: the bit of its egress port and kind is set from two cycles
    after it came until it has left, and four cycles later it is not."""
    bench = CoreBench(4, 1, routes=straight(4, 1), seed=seed, source_rate=0.6, ports_per_row=ports_per_row)
    dut = bench.dut
    rng = random.Random(f"under way {seed}")
    underway = Underway(dut, bench.count)
    shown = [(plane, k, getattr(dut.flow[k], f"{plane}_under_way")) for plane in PLANES for k in range(bench.count)]
    seen = {True: 0, False: 0}

    async def scenario(ctx):
        held = dict.fromkeys(underway.items, 0)  # cycles since it has something, or has nothing: negative
        for cycle in range(1500):
            if not cycle % 150:
                for _ in range(rng.randrange(16)):
                    bench.request(rng.randrange(4), rng.randrange(4), rng.choice([None, 1, 2, 4]))
                    bench.response("rd_rsp", rng.randrange(4), rng.randrange(4), 1 + rng.randrange(4))
                    bench.response("wr_rsp", rng.randrange(4), rng.randrange(4))
                for source in bench.sources["orig_data"]:
                    source.rate = rng.choice([0.05, 1.0])
                for sink in (
                    *bench.request_sinks,
                    *(sink for sinks in bench.response_sinks.values() for sink in sinks),
                ):
                    sink.rate = rng.choice([0.0, 0.3, 1.0])
            _, _, *values = await ctx.tick().sample(*underway.sampled(), *(bit for *_, bit in shown))
            bits = values[len(values) - len(shown) :]
            for (plane, k, _), bit in zip(shown, bits):
                since = held[plane, k]
                if since >= 2:
                    assert bit, (plane, k, cycle)
                if since <= -5:
                    assert not bit, (plane, k, cycle)
                seen[bool(bit)] += 1
            underway.follow(values[: len(values) - len(shown)])
            for key, items in underway.items.items():
                held[key] = max(held[key], 0) + 1 if items else min(held[key], 0) - 1

    bench.run(scenario)
    assert min(seen.values()) > 500
