"""A switch of two stations that are but their UPLI agents, with traffic between them, of which all is kept."""

import random

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
        self.originator, self.completer = Originator(config.upli, 1), Completer(config.upli, 1)
        super().__init__({**members, **streams, "flip": In(1), "flip_rsp": In(1), "protocol": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.originator = originator = self.originator
        m.submodules.completer = completer = self.completer
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
    """A switch of two stations of one port; ``sent`` and ``got`` are beats by (station, channel), in order.

    ``rate`` : how often what arrives is taken; ``commands`` : of these are Requests, each as often as it is there.
    """

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.switch = Switch(CONFIG, StandIn)
        self.stations = self.switch._stations
        self.keys = [(n, channel) for n in range(2) for channel in CHANNEL_LAYOUTS]
        self.waiting = {key: [] for key in self.keys}
        self.sent = {key: [] for key in self.keys}
        self.got = {key: [] for key in self.keys}
        self.offered = dict.fromkeys(self.keys)
        self.number = 0
        self.rate, self.commands = 1.0, (READ, WRITE, WRITE)

    def simulate(self, body, design=None):
        """Run ``body`` on the switch, or on ``design``, which is made of it."""
        simulator = Simulator(design or self.switch)
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
                tag, cmd, more = self.tag(), self.rng.choice(self.commands), self.rng.randrange(4)
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
            if beats and beats[0] is not self.offered[n, channel]:
                self.offered[n, channel] = beats[0]
                ctx.set(stream.payload, {name: beats[0].get(name, 0) for name, _ in CHANNEL_LAYOUTS[channel]})
            ready = self.rate == 1 or self.rng.random() < self.rate
            ctx.set(getattr(self.stations[n], f"from_core_{channel}").ready, ready)
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
            if ctx.get(stream.valid) and ctx.get(stream.ready):
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
