"""Port IDs on both sides of the core of a switch: those of entry towards it, those of the route table from it on."""

import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator

from support.switch.agents import Agents
from support.upli.pair import pack
from support.upli.wire import WireRules, sample
from ualink.config import Credits, StationConfig, SwitchConfig, UPLIConfig
from ualink.switch.switch import Switch
from ualink.upli.channels import CHANNEL_LAYOUTS

PORTS = 2
FEW = Credits(pool=4)
UPLI = UPLIConfig(req=FEW, orig_data=FEW, rd_rsp=FEW, wr_rsp=FEW, prompt_data=False)
CONFIG = SwitchConfig(stations=2, route_entries=32, station=StationConfig(ports=PORTS, upli=UPLI))
READ = 0x03


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.req("UPLI-072", "UPLI-075", "SW-013", "SW-014", "SW-018")
def test_port_ids_follow_the_routes():
    """Accelerator 31 is at station 1, port 0; accelerator 0 at station 0, port 1. What comes in by any port has its
    PortID before the core and that of the route behind it, Responses by their destination alike. Both interfaces of
    each station keep the rules of UPLI."""
    switch = Switch(CONFIG, Agents)
    stations = switch._stations
    places = {31: (1, 0), 0: (0, 1)}
    ends = [(station, port) for station in range(2) for port in range(PORTS)]
    seen = {"entry": [], "route": []}

    credits = {channel: FEW for channel in CHANNEL_LAYOUTS}
    rules = [(upli, WireRules(PORTS, credits)) for s in stations for upli in (s.upli_originator, s.upli_completer)]

    async def judge(ctx):
        while True:
            for upli, judged in rules:
                judged.step(sample(ctx, upli))
            await ctx.tick()

    def watch(ctx):
        for number, station in enumerate(stations):
            for channel, entry, route in (
                ("req", station.upli_originator, station.upli_completer),
                ("rd_rsp", station.upli_completer, station.upli_originator),
                ("wr_rsp", station.upli_completer, station.upli_originator),
            ):
                for name, interface in (("entry", entry), ("route", route)):
                    beat = getattr(interface, channel)
                    if ctx.get(beat.vld):
                        place = number, ctx.get(beat.port_id)
                        seen[name].append((channel, place, ctx.get(beat.tag), ctx.get(beat.dst_phys_acc_id)))

    async def bench(ctx):
        route = switch.route
        while not ctx.get(route.ready):
            await ctx.tick()
        for station in range(2):
            for index, (to_station, to_port) in places.items():
                ctx.set(switch.route_station, station)
                ctx.set(route.index, index)
                ctx.set(route.write_data, {"deny": 0, "egress_station": to_station, "egress_port": to_port})
                ctx.set(route.write, 1)
                await ctx.tick()
        ctx.set(route.write, 0)
        expected = {"entry": [], "route": []}
        waiting = {}
        for number, (end, dst) in enumerate((end, dst) for end in ends for dst in places):
            for channel in ("req", "rd_rsp", "wr_rsp"):
                beat = {"tag": number, "dst_phys_acc_id": dst, "src_phys_acc_id": 999}
                beat |= {"cmd": READ} if channel == "req" else {"last": 1} if channel == "rd_rsp" else {}
                waiting.setdefault((end, channel), []).append(pack(channel, **beat))
                expected["entry"].append((channel, end, number, dst))
                expected["route"].append((channel, places[dst], number, dst))
        for _ in range(80):
            for ((station, port), channel), beats in waiting.items():
                stream = getattr(stations[station], f"link_{channel}")[port]
                ctx.set(stream.valid, bool(beats))
                if beats:
                    ctx.set(Value.cast(stream.payload), beats[0])
                    if ctx.get(stream.ready):
                        beats.pop(0)
            watch(ctx)
            await ctx.tick()
        for name in seen:
            assert sorted(seen[name]) == sorted(expected[name])

    simulator = Simulator(switch)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.add_testbench(judge, background=True)
    simulator.run()
