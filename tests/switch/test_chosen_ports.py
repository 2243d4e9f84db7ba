"""A switch whose stations are one x4, two x2 or four x1, each by its own choice, while the others go on."""

from functools import cache

import pytest
from amaranth.hdl import Value

from support.shared_simulator import SharedSimulator
from support.switch.chosen_agents import ChosenAgents
from support.switch.device_bench import DeviceBench, empty
from support.upli.pair import pack
from ualink.bifurcation import QUIET_CYCLES
from ualink.config import Credits, StationConfig, SwitchConfig, SwitchDeviceConfig, UPLIConfig
from ualink.lib.ports_used import RESTART_CYCLES
from ualink.switch.switch import Switch

FEW = Credits(pool=4)
UPLI = UPLIConfig(req=FEW, orig_data=FEW, rd_rsp=FEW, wr_rsp=FEW, prompt_data=False)
STATION = StationConfig(ports=4, choosable_ports=True, upli=UPLI)
CONFIG = SwitchConfig(stations=2, route_entries=8, injection=True, station=STATION)
WRITE, CHANNELS = 0x28, ("req", "rd_rsp", "wr_rsp")
pytestmark = [
    pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable"),
    pytest.mark.xdist_group("switch-chosen-ports"),
]


class Bench:
    """Accelerator 4s + p is at port p of station s; ``seen`` are (channel, place, tag) of all that goes to a link."""

    def __init__(self, ctx, switch):
        self.ctx, self.switch, self.stations = ctx, switch, switch._stations
        self.waiting, self.seen, self.tag, self.slots = {}, [], 0, {}

    async def routes(self):
        ctx, route = self.ctx, self.switch.route
        while not ctx.get(route.ready):
            await ctx.tick()
        for station in range(2):
            for index in range(8):
                ctx.set(self.switch.route_station, station)
                ctx.set(route.index, index)
                to_station, to_port = divmod(index, 4)
                ctx.set(route.write_data, {"deny": 0, "egress_station": to_station, "egress_port": to_port})
                ctx.set(route.write, 1)
                await ctx.tick()
        ctx.set(route.write, 0)

    def send(self, source, destination):
        """A Write of two beats, a Read Response and a Write Response; their places behind the core, with their tag."""
        self.tag += 1
        same = {"tag": self.tag, "dst_phys_acc_id": 4 * destination[0] + destination[1], "src_phys_acc_id": 999}
        for channel in CHANNELS:
            more = {"req": {"cmd": WRITE, "num_beats": 1}, "rd_rsp": {"last": 1}, "wr_rsp": {}}[channel]
            self.waiting.setdefault((source, channel), []).append(pack(channel, **same, **more))
        data = [pack("orig_data", data=self.tag, offset=n, last=n) for n in range(2)]
        self.waiting.setdefault((source, "orig_data"), []).extend(data)
        return [(channel, destination, self.tag) for channel in CHANNELS]

    async def run(self, cycles):
        ctx = self.ctx
        for _ in range(cycles):
            for ((station, port), channel), beats in self.waiting.items():
                stream = getattr(self.stations[station], f"link_{channel}")[port]
                ctx.set(stream.valid, bool(beats))
                if beats:
                    ctx.set(Value.cast(stream.payload), beats[0])
                    if ctx.get(stream.ready):
                        beats.pop(0)
            for number, station in enumerate(self.stations):
                slot = ctx.get(station.slot)
                for side, channel in (("completer", "req"), ("originator", "rd_rsp"), ("originator", "wr_rsp")):
                    beat = getattr(getattr(station, f"upli_{side}"), channel)
                    if ctx.get(beat.vld):
                        port = ctx.get(beat.port_id)
                        self.seen.append((channel, (number, port), ctx.get(beat.tag)))
                        # A beat is on the pins a cycle after its slot.
                        last = ctx.get(self.switch.used[number]) - 1
                        assert port == (slot - 1) & last
            await ctx.tick()

    async def choose(self, ports):
        """Those of each station."""
        for choice, number in zip(self.switch.bifurcation, ports):
            self.ctx.set(choice.wanted, number >> 1)
        for _ in range(2 * QUIET_CYCLES):
            await self.run(1)
            restarts = any(self.ctx.get(station.restart) for station in self.stations)
            if [self.ctx.get(used) for used in self.switch.used] == list(ports) and not restarts:
                return
        raise AssertionError(f"not {ports}")

    def came(self, expected):
        assert sorted(self.seen) == sorted(expected)
        self.seen.clear()
        for agent in ("ingress", "egress"):
            for status in getattr(self.switch, f"{agent}_status"):
                assert not any(self.ctx.get(getattr(status, f"{kind}_error")) for kind in ("control", "protocol"))


@cache
def shared_simulator() -> SharedSimulator:
    return SharedSimulator(Switch(CONFIG, ChosenAgents))


def simulate(bench):
    async def testbench(ctx, switch):
        on = Bench(ctx, switch)
        await on.routes()
        await bench(ctx, on)

    shared_simulator().run(testbench)


@pytest.mark.req("SW-024", "SW-025", "SW-064", "SW-067", "UPLI-084")
def test_each_station_has_the_ports_of_its_choice():
    """From every port to every other one, in the slots of each station; what is routed to a port that is not there is
    denied and logged, and stands in nobody's way."""

    async def bench(ctx, on):
        denied = [0] * 8
        for ports in ((4, 1), (1, 2), (2, 4)):
            await on.choose(ports)
            places = [(station, port) for station, number in enumerate(ports) for port in range(number)]
            expected = [beat for source in places for destination in places for beat in on.send(source, destination)]
            for station, port in places:
                for absent in ((0, 3), (1, 1)):
                    if absent not in places:
                        on.send((station, port), absent)
                        denied[4 * station + port] += len(CHANNELS)
            await on.run(180)
            on.came(expected)
            assert [ctx.get(log.count) for log in on.switch.deny] == denied

    simulate(bench)


@pytest.mark.req("SW-025", "SW-026")
def test_a_choice_disturbs_no_other_station():
    """Station 1 gets another number: not while a link is up, nor while a Request waits at it; then what goes there is
    denied, what goes on between the others is not, and afterwards it has its new ports."""

    async def bench(ctx, on):
        ctx.set(on.stations[1].up, 1)
        ctx.set(on.switch.bifurcation[1].wanted, 0)
        await on.run(2 * QUIET_CYCLES)
        assert ctx.get(on.switch.used[1]) == 4
        expected = [beat for destination in ((1, 3), (0, 2)) for beat in on.send((0, 0), destination)]
        ctx.set(on.stations[1].holds, 1 << 3)
        await on.run(40)
        on.came(expected)
        ctx.set(on.stations[1].up, 0)
        await on.run(2 * QUIET_CYCLES)
        assert ctx.get(on.switch.used[1]) == 4 and ctx.get(on.switch.bifurcation[1].pending)
        ctx.set(on.stations[1].holds, 0)
        expected = []
        for n in range(12):
            on.send((0, n % 4), (1, 0))
            expected += on.send((0, n % 4), (0, n % 4))
        await on.run(3 * QUIET_CYCLES)
        assert ctx.get(on.switch.used[1]) == 1
        on.came(expected)
        expected = on.send((0, 1), (1, 0)) + on.send((1, 0), (0, 2))
        await on.run(80)
        on.came(expected)

    simulate(bench)


@pytest.mark.req("SW-079")
def test_a_choice_waits_for_an_item_that_is_injected():
    """One towards the core, which moves nothing else of the station: the wait begins anew, and the item arrives."""

    async def bench(ctx, on):
        injection = on.switch.injection[1]
        for name, value in {"dst_phys_acc_id": 2, "tag": 77, "cmd": 0x03}.items():
            ctx.set(injection.item[name], value)
        ctx.set(on.switch.injection_allowed, 1)
        ctx.set(injection.enable, 1)
        ctx.set(on.switch.bifurcation[1].wanted, 0)
        await on.run(QUIET_CYCLES - 10)
        ctx.set(injection.inject, 1)
        await on.run(1)
        while not ctx.get(injection.injected):
            await on.run(1)
        ctx.set(injection.inject, 0)
        await on.run(QUIET_CYCLES - 5)
        assert ctx.get(on.switch.used[1]) == 4
        await on.run(10)
        assert ctx.get(on.switch.used[1]) == 1
        on.came([("req", (0, 2), 77)])
        await on.run(RESTART_CYCLES)
        expected = on.send((0, 1), (1, 0)) + on.send((1, 0), (0, 2))
        await on.run(80)
        on.came(expected)

    simulate(bench)


@pytest.mark.req("SW-025", "SW-067")
def test_each_station_has_a_register_of_its_own():
    """Another number comes into force at station 1 alone, with its event and interrupt; a code that is none is
    refused."""
    config = SwitchDeviceConfig(bus="native", clock_hz=1_000_000, switch=CONFIG.replace(injection=False))
    bench = DeviceBench(config, ChosenAgents, empty)

    async def story(ctx):
        async def shown(station):
            fields = ("wanted", "in_force", "pending", "links_down")
            return [await bench.read(ctx, f"station_{station}_station", "bifurcation", field) for field in fields]

        await bench.ready(ctx)
        assert await shown(0) == await shown(1) == [2, 2, 0, 1]
        assert not await bench.write(ctx, "station_1_interrupts", "station_mask", changed=1)
        ctx.set(bench.agents[1].up, 1)
        assert not await bench.write(ctx, "station_1_station", "bifurcation", wanted=1)
        await ctx.tick().repeat(2 * QUIET_CYCLES)
        assert await shown(1) == [1, 2, 1, 0]
        assert await bench.lines(ctx) == (0, 0)
        ctx.set(bench.agents[1].up, 0)
        await ctx.tick().repeat(2 * QUIET_CYCLES)
        assert await shown(1) == [1, 1, 0, 1]
        assert await shown(0) == [2, 2, 0, 1]
        assert await bench.lines(ctx) == (1, 0b10)
        assert not await bench.write(ctx, "station_1_station", "events", changed=1)
        assert await bench.lines(ctx) == (0, 0)
        assert await bench.write(ctx, "station_1_station", "bifurcation", wanted=3)
        assert await bench.read(ctx, "station_1_station", "events", "config_error")
        assert await shown(1) == [1, 1, 0, 1]

    bench.run(story)
