"""Traffic through a whole switch core, with a scoreboard."""

import random
from collections import defaultdict
from functools import lru_cache

from support.shared_simulator import SharedSimulator
from support.switch.bench import RequestSink, ResponseSink, Source, pack, random_request, random_response, run
from ualink.config import StationConfig, SwitchConfig
from ualink.switch.core import QueueDepths, SwitchCore

RESPONSES = ("rd_rsp", "wr_rsp")
SMALL = QueueDepths(req=3, orig_data=5, rd_rsp=5, wr_rsp=2, shared=3)


@lru_cache(maxsize=4)
def shared_core(config, depths) -> SharedSimulator:
    """One for all benches of the same size."""
    return SharedSimulator(SwitchCore(config, voq_depth=depths))


def straight(stations, ports):
    """Routes by which ID n is at port n, from everywhere."""
    return [{n: (0, n) for n in range(stations * ports)} for _ in range(stations)]


def _beats(kind, items):
    return sum(1 + len(item[1]) if kind == "req" else len(item) for item in items)


class CoreBench:
    """A core of ``stations`` x ``ports``, sources and sinks on all its ports, and what the sinks shall receive.

    ``routes[station][id]`` is ``(deny, egress)``; an ID without a route is denied. The tables have ``entries``, rows
    of the core ``ports_per_row``.
    ``around`` makes ``dut`` of a core of its own, with its members and more; then ``simulated`` is ``dut``, or stands
    for it.
    """

    def __init__(
        self,
        stations,
        ports,
        *,
        routes,
        seed=0,
        source_rate=1.0,
        sink_rate=1.0,
        depths=SMALL,
        entries=16,
        ports_per_row=16,
        around=None,
    ):
        config = SwitchConfig(
            stations=stations, route_entries=entries, ports_per_row=ports_per_row, station=StationConfig(ports=ports)
        )
        self._shared = None if around else shared_core(config, depths)
        self.dut = self.simulated = around(SwitchCore(config, voq_depth=depths)) if around else self._shared.dut
        self.ports_per_station = ports
        self.count = stations * ports
        self.routes = routes
        self.random = random.Random(f"traffic {seed}")
        dut = self.dut
        everywhere = range(self.count)
        channels = ("req", "orig_data", *RESPONSES)
        self.sources = {
            channel: [
                Source(getattr(dut, f"in_{channel}")[n], f"{seed} {channel} {n}", source_rate) for n in everywhere
            ]
            for channel in channels
        }
        self.request_sinks = [
            RequestSink(dut.out_req[n], dut.out_orig_data[n], f"{seed} {n}", sink_rate) for n in everywhere
        ]
        self.response_sinks = {
            channel: [
                ResponseSink(channel, getattr(dut, f"out_{channel}")[n], f"{seed} {channel} {n}", sink_rate)
                for n in everywhere
            ]
            for channel in RESPONSES
        }
        # (kind, egress) -> ingress -> transfers in order; a request is (number, [numbers]), a response [numbers].
        self.expected = defaultdict(lambda: defaultdict(list))
        self.denied = [[] for _ in everywhere]

    def egress_of(self, ingress, dst):
        station, port = divmod(ingress, self.ports_per_station)
        deny, egress = self.routes[station].get(dst, (0b1111, 0))
        return None if deny >> port & 1 else egress

    def request(self, ingress, dst, beats, **fields):
        src = self.random.getrandbits(10)
        request, data = random_request(self.random, src, dst, beats)
        request |= fields
        item = pack("req", request), [pack("orig_data", beat) for beat in data]
        self.sources["req"][ingress].beats.append(item[0])
        self.sources["orig_data"][ingress].beats.extend(item[1])
        self._note("req", ingress, src, dst, item)

    def response(self, channel, ingress, dst, beats=1):
        src = self.random.getrandbits(10)
        item = [pack(channel, beat) for beat in random_response(self.random, channel, src, dst, beats)]
        self.sources[channel][ingress].beats.extend(item)
        self._note(channel, ingress, src, dst, item)

    def _note(self, kind, ingress, src, dst, item):
        egress = self.egress_of(ingress, dst)
        if egress is None:
            self.denied[ingress].append((src, dst, ("req", *RESPONSES).index(kind)))
        else:
            self.expected[kind, egress][ingress].append(item)

    def received(self, kind, egress):
        return (self.request_sinks if kind == "req" else self.response_sinks[kind])[egress].received

    def outstanding(self, kind, egress):
        """Beats of all channels of the plane that have not come yet."""
        items = [item for items in self.expected[kind, egress].values() for item in items]
        return _beats(kind, items) - _beats(kind, self.received(kind, egress))

    def finished(self):
        return not any(self.outstanding(*key) for key in list(self.expected)) and all(
            source.sent == len(source.beats) for sources in self.sources.values() for source in sources
        )

    def check(self):
        """Everything was delivered once, unchanged, at its egress and in the order of its pair."""
        for kind in ("req", *RESPONSES):
            for egress in range(self.count):
                per_ingress = {ingress: list(items) for ingress, items in self.expected[kind, egress].items()}
                for item in self.received(kind, egress):
                    heads = [ingress for ingress, items in per_ingress.items() if items and items[0] == item]
                    assert heads, f"{kind} at egress {egress} is not the next of any ingress"
                    per_ingress[heads[0]].pop(0)
                assert not any(per_ingress.values()), f"{kind} at egress {egress} is missing"

    async def program(self, ctx):
        dut = self.dut
        while not ctx.get(dut.route.ready):
            await ctx.tick()
        for station, routes in enumerate(self.routes):
            for index, (deny, egress) in routes.items():
                egress_station, egress_port = divmod(egress, self.ports_per_station)
                ctx.set(dut.route_station, station)
                ctx.set(dut.route.index, index)
                entry = {"deny": deny, "egress_station": egress_station, "egress_port": egress_port}
                ctx.set(dut.route.write_data, entry)
                ctx.set(dut.route.write, 1)
                await ctx.tick()
        ctx.set(dut.route.write, 0)

    async def until(self, ctx, condition, limit):
        """Let cycles go by until ``condition()``; their number."""
        for cycle in range(limit):
            if condition():
                return cycle
            await ctx.tick()
        raise AssertionError(f"not done after {limit} cycles")

    def run(self, scenario):
        """``scenario(ctx)`` after the tables are programmed, with sources and sinks at work; what it returns."""

        programmed = [False]
        returned = []

        async def main(ctx):
            await self.program(ctx)
            programmed[0] = True
            returned.append(await scenario(ctx))

        def gated(process):
            async def wait(ctx):
                while not programmed[0]:
                    await ctx.tick()
                await process(ctx)

            return wait

        sources = [source for sources in self.sources.values() for source in sources]
        sinks = [*self.request_sinks, *(sink for sinks in self.response_sinks.values() for sink in sinks)]
        self.simulate(main, background=[gated(s.process) for s in [*sources, *sinks]])
        return returned[0]

    def simulate(self, process, background):
        """From reset until ``process`` is done."""
        if self._shared:
            self._shared.run_all(process, background=background)
        else:
            run(self.simulated, process, background=background)
