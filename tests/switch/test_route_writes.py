"""Route writes in every cycle of the traffic that they concern (ruling C-08), against a plain list of what was sent."""

import random

import pytest

from support.switch.bench import pack, random_request, random_response
from support.switch.traffic import CoreBench

DST = 7
ENTRIES = (
    {"deny": 0b0000, "egress_station": 0, "egress_port": 0},
    {"deny": 0b0000, "egress_station": 1, "egress_port": 1},
    {"deny": 0b0010, "egress_station": 1, "egress_port": 0},  # port 1 is denied, port 0 goes on
    {"deny": 0b0001, "egress_station": 0, "egress_port": 1},
    {"deny": 0b1111, "egress_station": 1, "egress_port": 1},
)
TRAIN = (4, None, 2, 1)
"""Beats of the items of an episode: Requests and Read Responses; None is a Request without data, a response of 3."""
PORTS = (0, 1)
"""Ingress ports that send, both of station 0."""


def egress_of(entry, port):
    """Where ``entry`` sends what entered by ``port``; None: nowhere."""
    return None if entry["deny"] >> port & 1 else entry["egress_station"] * 2 + entry["egress_port"]


class Train:
    """The items that one ingress port sends in one plane in one episode, and how many were taken before a write."""

    def __init__(self, bench, rng, plane, port):
        self.plane, self.port = plane, port
        self.source = bench.sources[plane][port]
        self.begin = self.source.sent
        self.items, self.beats_before = [], []
        for beats in TRAIN:
            self.beats_before.append(len(self.source.beats))
            src = rng.getrandbits(10)
            if plane == "req":
                request, data = random_request(rng, src, DST, beats)
                item = pack("req", request), [pack("orig_data", beat) for beat in data]
                self.source.beats.append(item[0])
                bench.sources["orig_data"][port].beats.extend(item[1])
            else:
                count = (beats or 3) if plane == "rd_rsp" else 1
                item = [pack(plane, beat) for beat in random_response(rng, plane, src, DST, count)]
                self.source.beats.extend(item)
            self.items.append(item)

    def taken(self):
        """Items of which the first beat has been taken."""
        return sum(before < self.source.sent for before in self.beats_before)


@pytest.mark.req("SW-026", "SW-054", "SW-059", "SW-061", "SW-100", "SW-105")
def test_every_item_goes_whole_by_the_old_or_by_the_new_entry():
    """Both ports of station 0 send in all planes while the entry changes, 0 to 8 cycles after they began.

    Items taken before the write go by the old entry, those taken after it by the new one, each with all its beats to
    one egress or, denied, with all its beats nowhere and once into the log of its port. Only one that is taken
    at the very edge of the write may go either way. The write of
    the old entry into the other station's table, one cycle later, changes nothing here.
    """
    bench = CoreBench(2, 2, routes=[{}, {}])
    dut, rng = bench.dut, random.Random("writes")
    sinks = {"req": bench.request_sinks, **bench.response_sinks}

    async def write(ctx, station, entry):
        ctx.set(dut.route_station, station)
        ctx.set(dut.route.index, DST)
        ctx.set(dut.route.write_data, entry)
        ctx.set(dut.route.write, 1)
        await ctx.tick()
        ctx.set(dut.route.write, 0)

    def arrived():
        return {(plane, egress): len(sinks[plane][egress].received) for plane in sinks for egress in range(4)}

    async def episode(ctx, old, new, delay, sink_rate):
        for sink in (sink for of_plane in sinks.values() for sink in of_plane):
            sink.rate = sink_rate
        before, denied = arrived(), [ctx.get(dut.deny[port].count) for port in PORTS]
        trains = [Train(bench, rng, plane, port) for plane in sinks for port in PORTS]
        for _ in range(delay):
            await ctx.tick()
        await write(ctx, 0, new)
        # Sources count what an edge took after this process has seen that edge.
        by_old = [train.taken() for train in trains]
        await write(ctx, 1, old)
        by_either = [train.taken() for train in trains]
        await bench.until(ctx, bench.finished, 200)
        await ctx.tick().repeat(36 if sink_rate < 1 else 16)
        came = {key: sinks[key[0]][key[1]].received[count:] for key, count in before.items()}
        dropped = [0 for _ in PORTS]
        for train, first, last in zip(trains, by_old, by_either):
            possible = []
            assert last - first <= 1
            for border in range(first, last + 1):
                ways = [egress_of(old if n < border else new, train.port) for n in range(len(TRAIN))]
                got = {egress: [i for i in came[train.plane, egress] if i in train.items] for egress in range(4)}
                want = {egress: [i for i, way in zip(train.items, ways) if way == egress] for egress in range(4)}
                if got == want:
                    possible.append(ways.count(None))
            assert possible, (old, new, delay, train.plane, train.port, first, last)
            dropped[train.port] += possible[0]
        assert sum(map(len, came.values())) == len(trains) * len(TRAIN) - sum(dropped), "an item came twice"
        logged = [ctx.get(dut.deny[port].count) for port in PORTS]
        assert [now - then for now, then in zip(logged, denied)] == dropped

    async def scenario(ctx):
        await write(ctx, 0, ENTRIES[0])
        count = 0
        for delay in range(9):
            for sink_rate in (1.0, 0.5):
                await episode(ctx, ENTRIES[count % 5], ENTRIES[(count + 1) % 5], delay, sink_rate)
                count += 1

    bench.run(scenario)
