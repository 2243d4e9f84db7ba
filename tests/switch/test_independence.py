"""Who waits for whom in the switch core when queues are full (UALink_200 §10.4, ruling SW-035).

A pair of ports waits for another only when both have the same ingress port and the same kind, and the queue of the
other pair is full. The standard permits that much among all ports of a station. Everything else keeps its pace: its
deliveries are compared with those of a run in which nothing is stalled. Other kinds keep it to the cycle; within the
kind it may be another's turn, because more has been sent before.
"""

import pytest

from support.switch.traffic import RESPONSES, SMALL, CoreBench, straight

KINDS = ("read", "write", *RESPONSES)
STALLED = 3
"""The egress port that takes nothing of one kind."""


def send(bench, kind, ingress, dst):
    """An item of ``kind``: Reads have no data, Writes and Read Responses three beats."""
    if kind in RESPONSES:
        bench.response(kind, ingress, dst, 3 if kind == "rd_rsp" else 1)
    else:
        bench.request(ingress, dst, 3 if kind == "write" else None)


def plane(kind):
    return kind if kind in RESPONSES else "req"


def sinks(bench, kind):
    return bench.response_sinks[kind] if kind in RESPONSES else bench.request_sinks


TURNS = 6
"""Cycles by which an item of the stalled kind may leave later, because it is another's turn."""


class Episode:
    """Traffic through a core that has just been reset; it ends with an empty core."""

    def __init__(self, shape, flooders, ports_per_row):
        self.bench = CoreBench(*shape, routes=straight(*shape), ports_per_row=ports_per_row)
        self.flooders = flooders

    async def flood(self, ctx, kind):
        """Stall egress ``STALLED`` for ``kind`` and let the flooders send to it until they stand still."""
        sources = [self.bench.sources[plane(kind)][ingress] for ingress in self.flooders]
        sinks(self.bench, kind)[STALLED].rate = 0.0
        taken = [source.sent for source in sources]
        for ingress in self.flooders:
            for _ in range(30):
                send(self.bench, kind, ingress, STALLED)
        await ctx.tick().repeat(50)
        before = [source.sent for source in sources]
        await ctx.tick().repeat(10)
        # The queues are full indeed: with more to send, nothing has been taken for long.
        assert [source.sent for source in sources] == before
        assert all(0 < now - then < 30 for now, then in zip(before, taken))

    async def deliveries(self, ctx, kind, stalled):
        """When each item came that must not depend on whether ``kind`` is stalled, by plane and egress."""
        bench = self.bench
        if stalled:
            await self.flood(ctx, kind)
        everywhere = [(name, egress) for name in ("req", *RESPONSES) for egress in range(bench.count)]
        count = {key: len(bench.received(*key)) for key in everywhere}
        begin = bench.request_sinks[0].cycle
        for turn in range(bench.count):
            for ingress in range(bench.count):
                dst = (ingress + turn) % bench.count
                for other in ("read" if turn % 2 else "write", *RESPONSES):
                    if plane(other) != plane(kind) or (ingress not in self.flooders and dst != STALLED):
                        send(bench, other, ingress, dst)
        await ctx.tick().repeat(50)
        times = {}
        for name, egress in everywhere:
            if (name, egress) != (plane(kind), STALLED):
                assert not bench.outstanding(name, egress)
                of_sink = sinks(bench, name)[egress].times
                times[name, egress] = [time - begin for time in of_sink[count[name, egress] :]]
        sinks(bench, kind)[STALLED].rate = 1.0
        await bench.until(ctx, bench.finished, 300)
        return times


@pytest.mark.req("SW-017", "SW-029", "SW-031", "SW-032", "SW-033", "SW-034", "SW-036")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "flooders", "ports_per_row"),
    [((4, 1), (0, 1), 16), ((2, 2), (0, 2), 16), ((4, 1), (0, 1), 2)],
    ids=["x4 stations", "one port of each 2 x x2 station", "in two rows"],
)
def test_full_queues_stop_no_pair_of_another_ingress_port_or_kind(shape, flooders, ports_per_row, kind):
    """Egress 3 takes nothing of one kind, and the ``flooders`` stand still because of it, all in full queues.

    As without: that kind from the other ingress ports to the other egress ports, those of the stations of
    flooders and of egress 3 included; Responses from everywhere to everywhere while Requests stand, and the other way;
    and what enters by port 3 while nothing leaves by it.
    """

    def deliveries(stalled):
        episode = Episode(shape, flooders, ports_per_row)

        async def scenario(ctx):
            await ctx.tick().repeat(2)  # sources and sinks have begun
            return await episode.deliveries(ctx, kind, stalled)

        times = episode.bench.run(scenario)
        episode.bench.check()
        return times

    undisturbed, disturbed = deliveries(False), deliveries(True)
    assert sum(map(len, undisturbed.values())) >= 32 + 6
    for (name, egress), times in undisturbed.items():
        late = [now - then for now, then in zip(disturbed[name, egress], times, strict=True)]
        assert all(abs(cycles) <= (TURNS if name == plane(kind) else 0) for cycles in late), (name, egress, late)


@pytest.mark.req("SW-035", "SW-037")
def test_an_ingress_port_waits_for_a_full_queue_and_no_earlier():
    """The permitted head-of-line blocking: a queue and the egress hold ``fit`` items for egress 3.

    What comes behind them passes; what comes behind one more waits until egress 3 moves. The egress takes two Writes
    of four beats, and two more do not fit into the five places of the queue: Writes behind them wait, Reads go on.
    """
    bench = CoreBench(4, 1, routes=straight(4, 1))

    async def behind(ctx, kind, items, passed):
        """``items`` are (destination, beats) from port 0; ``passed`` those that leave while egress 3 stands."""
        before = [len(bench.received(plane(kind), egress)) for egress in range(4)]
        sinks(bench, kind)[3].rate = 0.0
        for dst, beats in items:
            if kind == "req":
                bench.request(0, dst, beats)
            else:
                bench.response(kind, 0, dst, beats)
        await ctx.tick().repeat(60)
        after = [len(bench.received(plane(kind), egress)) for egress in range(4)]
        assert [now - then for now, then in zip(after, before)] == passed, (kind, items)
        sinks(bench, kind)[3].rate = 1.0
        await bench.until(ctx, bench.finished, 80)

    async def scenario(ctx):
        for kind, beats, fit in (
            ("req", None, SMALL.req + 11),
            ("req", 1, SMALL.req + 9),
            ("wr_rsp", 1, SMALL.wr_rsp + 10),
            ("rd_rsp", 1, SMALL.rd_rsp + 9),
        ):
            others = [(1, beats), (2, beats), (0, beats)]
            await behind(ctx, kind, [(3, beats)] * fit + others, [1, 1, 1, 0])
            await behind(ctx, kind, [(3, beats)] * (fit + 1) + others, [0, 0, 0, 0])
        await behind(ctx, "req", [(3, 4)] * 4 + [(1, None), (2, None), (0, 1), (1, None)], [0, 1, 1, 0])

    bench.run(scenario)
    bench.check()
