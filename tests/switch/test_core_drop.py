"""Upset beats between the stations and the core of a switch: nothing of them crosses, and the core's agents drop."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.sim import Simulator

from ualink.config import Credits, StationConfig, SwitchConfig, UPLIConfig
from ualink.station import Station
from ualink.switch.flow import COUNTS, PLANES
from ualink.switch.switch import Switch
from ualink.upli.channels import CHANNEL_LAYOUTS, beat_stream
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

FEW = Credits(pool=8)
UPLI = UPLIConfig(req=FEW, orig_data=FEW, rd_rsp=FEW, wr_rsp=FEW)
CONFIG = SwitchConfig(stations=2, route_entries=8, station=StationConfig(ports=1, upli=UPLI))
WRITE, READ = 0x28, 0x03


class StandIn(wiring.Component):
    """A station that is only its two UPLI agents: beats go in and out of it where the TL would be; ``flip`` upsets the
    parity of a Request, ``flip_rsp`` of a Read Response, as they leave it; with ``protocol`` its RdRspLast along."""

    def __init__(self, config):
        members = dict(Station(config).signature.members)
        streams = {f"to_core_{c}": In(beat_stream(c)) for c in CHANNEL_LAYOUTS}
        streams |= {f"from_core_{c}": Out(beat_stream(c)) for c in CHANNEL_LAYOUTS}
        self.config = config
        super().__init__({**members, **streams, "flip": In(1), "flip_rsp": In(1), "protocol": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.originator = originator = Originator(self.config.upli, 1)
        m.submodules.completer = completer = Completer(self.config.upli, 1)
        connect(m, originator.upli, flipped(self.upli_originator))
        connect(m, flipped(self.upli_completer), completer.upli)
        m.d.comb += [
            self.upli_originator.req.parity.eq(originator.upli.req.parity ^ self.flip),
            self.upli_completer.rd_rsp.parity.eq(completer.upli.rd_rsp.parity ^ self.flip_rsp),
            self.upli_completer.rd_rsp.last.eq(completer.upli.rd_rsp.last ^ (self.flip_rsp & self.protocol)),
        ]
        for channel in ("req", "orig_data"):
            connect(m, flipped(getattr(self, f"to_core_{channel}")), getattr(originator, channel)[0])
            connect(m, getattr(completer, channel)[0], flipped(getattr(self, f"from_core_{channel}")))
        for channel in ("rd_rsp", "wr_rsp"):
            connect(m, flipped(getattr(self, f"to_core_{channel}")), getattr(completer, channel)[0])
            connect(m, getattr(originator, channel)[0], flipped(getattr(self, f"from_core_{channel}")))
        return m


class Bench:
    """A switch of two stations of one port; ``sent`` and ``got`` are beats by (station, channel), in order."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.switch = Switch(CONFIG, StandIn)
        self.stations = self.switch._stations
        self.keys = [(n, channel) for n in range(2) for channel in CHANNEL_LAYOUTS]
        self.waiting = {key: [] for key in self.keys}
        self.sent = {key: [] for key in self.keys}
        self.got = {key: [] for key in self.keys}
        self.number = 0

    def simulate(self, body):
        simulator = Simulator(self.switch)
        simulator.add_clock(1e-9)
        simulator.add_testbench(body)
        simulator.run()

    async def open_routes(self, ctx):
        route = self.switch.route
        while not ctx.get(route.ready):
            await ctx.tick()
        for station in range(2):
            for index in range(2):
                ctx.set(self.switch.route_station, station)
                ctx.set(route.index, index)
                ctx.set(route.write_data, {"deny": 0, "egress_station": index, "egress_port": 0})
                ctx.set(route.write, 1)
                await ctx.tick()
        ctx.set(route.write, 0)

    def refill(self):
        for n in range(2):
            other = {"src_phys_acc_id": n, "dst_phys_acc_id": 1 - n}
            if not self.waiting[n, "req"]:
                tag, cmd, more = self.tag(), self.rng.choice((READ, WRITE, WRITE)), self.rng.randrange(4)
                self.waiting[n, "req"].append(
                    {"cmd": cmd, "num_beats": more if cmd == WRITE else 0, "tag": tag, **other}
                )
                for k in range(more + 1 if cmd == WRITE else 0):
                    beat = {"data": tag << 8 | k | 1 << 300, "offset": k, "last": k == more, "byte_en": tag}
                    self.waiting[n, "orig_data"].append(beat)
            if not self.waiting[n, "rd_rsp"]:
                tag, more = self.tag(), self.rng.randrange(4)
                self.waiting[n, "rd_rsp"] += [
                    {
                        "tag": tag,
                        "num_beats": more,
                        "offset": k,
                        "last": k == more,
                        "data": tag << 8 | k | 1 << 300,
                        **other,
                    }
                    for k in range(more + 1)
                ]
            if not self.waiting[n, "wr_rsp"]:
                self.waiting[n, "wr_rsp"].append({"tag": self.tag(), **other})

    def tag(self):
        self.number += 1
        return self.number % 2048

    async def step(self, ctx, *, more=True, upset=None):
        """One cycle; ``upset`` (station, "req" or "rd_rsp"): the beat of that channel is upset if there is one, and
        True is returned."""
        if more:
            self.refill()
        for n, channel in self.keys:
            stream = getattr(self.stations[n], f"to_core_{channel}")
            beats = self.waiting[n, channel]
            ctx.set(stream.valid, bool(beats))
            if beats:
                ctx.set(stream.payload, {name: beats[0].get(name, 0) for name, _ in CHANNEL_LAYOUTS[channel]})
            ctx.set(getattr(self.stations[n], f"from_core_{channel}").ready, 1)
        hit = False
        for n, station in enumerate(self.stations):
            ctx.set(station.flip, 0)
            ctx.set(station.flip_rsp, 0)
            if upset == (n, "req"):
                hit = bool(ctx.get(station.upli_originator.req.vld))
                ctx.set(station.flip, hit)
            elif upset == (n, "rd_rsp"):
                beat = station.upli_completer.rd_rsp
                # The Last of a single beat is free.
                hit = bool(ctx.get(beat.vld) and (ctx.get(beat.num_beats) or not ctx.get(station.protocol)))
                ctx.set(station.flip_rsp, hit)
        for n, channel in self.keys:
            stream = getattr(self.stations[n], f"to_core_{channel}")
            if self.waiting[n, channel] and ctx.get(stream.ready):
                self.sent[n, channel].append(self.waiting[n, channel].pop(0))
            stream = getattr(self.stations[n], f"from_core_{channel}")
            if ctx.get(stream.valid):
                beat = ctx.get(stream.payload)
                self.got[n, channel].append({name: beat[name] for name, _ in CHANNEL_LAYOUTS[channel]})
        await ctx.tick()
        return hit

    def check(self):
        """Everything that arrived was sent to its station, in order and whole, or ends in poisoned beats; gives how
        many transfers of each (station, channel) did."""
        arrived = {}
        for n in range(2):
            sent = {beat["tag"]: beat for channel in ("req",) for beat in self.sent[1 - n, channel]}
            tags = [beat["tag"] for beat in self.got[n, "req"]]
            assert tags == [tag for tag in sent if tag in set(tags)], "in order, and none twice"
            data = list(self.got[n, "orig_data"])
            for tag in tags:
                if sent[tag]["cmd"] == WRITE:
                    self.whole(tag, [data.pop(0) for _ in range(sent[tag]["num_beats"] + 1)], "error")
            assert not data
            arrived[n, "req"] = len(tags)
            reads = list(self.got[n, "rd_rsp"])
            order = []
            while reads:
                order.append(reads[0]["tag"])
                burst = [reads.pop(0) for _ in range(reads[0]["num_beats"] + 1)]
                assert {beat["tag"] for beat in burst} == {order[-1]}
                self.whole(order[-1], burst, "data_error")
            assert order == sorted(set(order))
            arrived[n, "rd_rsp"] = len(order)
            writes = [beat["tag"] for beat in self.got[n, "wr_rsp"]]
            assert writes == sorted(set(writes))
            arrived[n, "wr_rsp"] = len(writes)
        return arrived

    def lost(self, ctx, dropped_in, dropped_out):
        """Items of each (station, channel) that came to the core and are in no count there, which is where the rest is:
        dropped where ``dropped_in`` says and nowhere else before the core, ``dropped_out`` behind it, or arrived."""
        lost, through = {}, dict.fromkeys(PLANES, 0)
        for n in range(2):
            for plane in PLANES:
                counts = {name: ctx.get(getattr(self.switch.flow[n], f"{plane}_{name}")) for name in COUNTS}
                firsts = [beats for beats in self.sent[n, plane] if not beats.get("offset")]
                lost[n, plane] = len(firsts) - counts["accepted"] - counts["dropped_in"]
                arrived = [beats for beats in self.got[n, plane] if plane != "rd_rsp" or not beats["offset"]]
                assert counts["forwarded"] == len(arrived) + counts["dropped_out"]
                assert (counts["dropped_in"] > 0) == ((n, plane) in dropped_in), (n, plane, counts)
                assert (counts["dropped_out"] > 0) == ((n, plane) in dropped_out), (n, plane, counts)
                through[plane] += counts["accepted"] - counts["forwarded"]
        assert not any(through.values()), "what entered has left"
        return {key: count for key, count in lost.items() if count}

    def whole(self, tag, beats, poison):
        poisoned = [beat[poison] for beat in beats]
        assert poisoned == sorted(poisoned), "once a transfer is cut, the rest is poison"
        for k, beat in enumerate(beats):
            assert (beat["offset"], beat["last"]) == (k, k == len(beats) - 1)
            assert beat["data"] == (0 if beat[poison] else tag << 8 | k | 1 << 300)


@pytest.mark.req("RAS-083", "RAS-109", "RAS-058", "RAS-110", "RAS-111", "RAS-082", "RAS-043", "SW-097")
@pytest.mark.parametrize(("channel", "kind"), [("req", "control"), ("rd_rsp", "control"), ("rd_rsp", "protocol")])
def test_nothing_of_an_upset_beat_crosses(channel, kind):
    """Episode after episode without a reset: one beat towards the core is upset, the agent that met it drops both ways
    until it is cleared, and all transfers arrive again after that."""
    bench = Bench(channel)
    side = "ingress" if channel == "req" else "egress"

    async def body(ctx):
        switch = bench.switch
        dropping = getattr(switch, f"{side}_dropping")
        others = [*switch.ingress_dropping, *switch.egress_dropping]
        await bench.open_routes(ctx)
        ctx.set(bench.stations[0].protocol, kind == "protocol")
        for _ in range(3):
            for _ in range(25 + bench.rng.randrange(8)):
                await bench.step(ctx)
            assert not any(ctx.get(level) for level in others)
            before = bench.number
            while not await bench.step(ctx, upset=(0, channel)):
                pass
            for _ in range(25):
                await bench.step(ctx)
            shown = getattr(switch, f"{side}_status")[0]
            assert ctx.get(getattr(shown, f"{kind}_error"))
            assert ctx.get(dropping[0]) and sum(ctx.get(level) for level in others) == 1
            lately = {key: len(beats) for key, beats in bench.got.items()}
            for _ in range(15):
                await bench.step(ctx)
            stopped = (1, "req") if channel == "req" else (1, "rd_rsp")
            assert len(bench.got[stopped]) == lately[stopped], "nothing crosses any more"
            back = (0, "wr_rsp") if channel == "req" else (0, "req")
            assert len(bench.got[back]) == lately[back], "in neither direction"
            assert bench.number > before + 20, "what is for a port that drops does not wait"
            ctx.set(getattr(switch, f"{side}_clear")[0], 1)
            await bench.step(ctx)
            ctx.set(getattr(switch, f"{side}_clear")[0], 0)
        marks = {key: len(beats) for key, beats in bench.sent.items()}
        for _ in range(60):
            await bench.step(ctx)
        for _ in range(60):
            await bench.step(ctx, more=False)
        bench.marks = marks
        requests, responses = {(0, "req")}, {(0, "rd_rsp"), (0, "wr_rsp")}
        ways = (requests, responses) if channel == "req" else (responses, requests)
        lost = bench.lost(ctx, *ways)
        # Nobody knows what a beat was whose control parity is wrong. Of a transfer it is the first that counts.
        upset = {(0, channel): 3} if kind == "control" else {}
        assert lost == upset or (channel == "rd_rsp" and lost.items() <= {((0, channel), n) for n in (1, 2)})

    bench.simulate(body)
    arrived = bench.check()
    assert all(arrived.values())
    # What was sent from a while after the last clear on has arrived, all of it.
    for n in range(2):
        late = [beat["tag"] for beat in bench.sent[1 - n, "req"][bench.marks[1 - n, "req"] + 4 :]]
        assert late and late == [beat["tag"] for beat in bench.got[n, "req"]][-len(late) :]
