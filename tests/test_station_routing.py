"""A station of four ports that face each other: which port, channel and interface a beat comes out of."""

import functools

import pytest
from amaranth.hdl import Value

import ualink.dl.links
import ualink.station
from support.few_buffers import FEW_BUFFERS
from support.shared_simulator import SharedSimulator
from support.station_wire import FlitLink, LoopedStation
from support.upli.pair import pack
from support.upli.wire import CHANNELS, WireRules, sample
from test_station import SilentLayer

PORTS = range(4)
READ, WRITE, MESSAGE = 0x03, 0x28, 0x2A
SOURCE, DESTINATION = 3, 900
TL = FEW_BUFFERS.tl.replace(requests_in_sight=2, responses_in_sight=2, catch_in_lines=True)
CONFIG = FEW_BUFFERS.replace(ports=4, tl=TL)
FACED = (2, 3, 0, 1)
"""The port that each port faces."""
pytestmark = pytest.mark.xdist_group("station-routing")


@functools.cache
def simulator():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ualink.dl.links, "DataLink", FlitLink)
        return SharedSimulator(LoopedStation(CONFIG))


class Device:
    """Before the station: ``waiting`` beats per channel and port are sent, what comes is in ``got``.

    A Request is answered on the port on which it came, whatever its address.
    """

    def __init__(self, looped, ports=PORTS):
        originator, completer = looped.originator, looped.completer
        self.ports = ports
        self.out = {name: getattr(originator, name) for name in ("req", "orig_data")}
        self.out |= {name: getattr(completer, name) for name in ("rd_rsp", "wr_rsp")}
        self.into = {name: getattr(completer, name) for name in ("req", "orig_data")}
        self.into |= {name: getattr(originator, name) for name in ("rd_rsp", "wr_rsp")}
        self.waiting = {(channel, port): [] for channel in CHANNELS for port in ports}
        self.got = {key: [] for key in self.waiting}
        self.offered = {}

    def ask(self):
        """The same Requests on every port, with tags and data that tell which."""
        for port in self.ports:
            for request, data in asked(port):
                self.waiting["req", port].append(request)
                self.waiting["orig_data", port] += data

    def answer(self, port, request):
        ids = {"src_phys_acc_id": request["dst_phys_acc_id"], "dst_phys_acc_id": request["src_phys_acc_id"]}
        same = {**ids, "tag": request["tag"], "vc": request["vc"]}
        if request["cmd"] == READ:
            beats = [{"num_beats": 1, "offset": n, "last": n, "data": request["tag"] << 8 | n} for n in range(2)]
            self.waiting["rd_rsp", port] += [same | beat for beat in beats]
        else:
            self.waiting["wr_rsp", port].append(same)

    def drive(self, ctx):
        for (channel, port), beats in self.waiting.items():
            stream = self.out[channel][port]
            self.offered[channel, port] = bool(beats)
            ctx.set(stream.valid, bool(beats))
            if beats:
                ctx.set(Value.cast(stream.payload), pack(channel, **beats[0]))
            ctx.set(self.into[channel][port].ready, 1)

    def collect(self, ctx):
        for (channel, port), beats in self.waiting.items():
            if self.offered[channel, port] and ctx.get(self.out[channel][port].ready):
                beats.pop(0)
            stream = self.into[channel][port]
            if ctx.get(stream.valid):
                beat = ctx.get(stream.payload)
                beat = {name: beat[name] for name, _ in beat.shape()}
                self.got[channel, port].append(beat)
                if channel == "req":
                    self.answer(port, beat)

    async def run(self, ctx, cycles, watched=()):
        for _ in range(cycles):
            self.drive(ctx)
            for rules, upli in watched:
                rules.step(sample(ctx, upli))
            self.collect(ctx)
            await ctx.tick()


def asked(port):
    """The Requests of a port, each with its data: a Read, a Write, and a message without an address."""
    same = {"src_phys_acc_id": SOURCE, "dst_phys_acc_id": DESTINATION, "vc": 1}
    data = [{"data": 1 << 8 * port | n << 500, "byte_en": 0xFFFF, "offset": n, "last": n, "vc": 1} for n in range(2)]
    tag = 16 * port
    return [
        (same | {"cmd": READ, "tag": tag, "addr": 0x3000, "len": 31, "attr": 0xFF}, []),
        (same | {"cmd": WRITE, "tag": tag + 1, "addr": 0x3000, "len": 19, "num_beats": 1}, data),
        (same | {"cmd": MESSAGE, "tag": tag + 2, "meta_data": 0xF0, "num_beats": 1}, data),
    ]


@pytest.mark.req("UPLI-025", "UPLI-026", "UPLI-067", "UPLI-068", "UPLI-070", "UPLI-071", "UPLI-073", "UPLI-076")
@pytest.mark.req("UPLI-092", "UPLI-130", "UPLI-148")
def test_every_port_leads_to_the_one_that_it_faces_and_back():
    """Ports 0, 1, 2, 3 face 2, 3, 0, 1. A Request leaves on the link of its port and has the port of entry at the other
    end; its Response, which goes back there, comes in on the port on which the Request left. All in their slots."""

    async def bench(ctx, looped):
        device = Device(looped)
        released = {name: getattr(CONFIG.upli, name) for name in CHANNELS}
        near, far = WireRules(4, released), WireRules(4, released)
        device.ask()
        await device.run(ctx, 200, [(near, looped.station.upli_completer), (far, looped.station.upli_originator)])
        for port in PORTS:
            there, tag = FACED[port], 16 * port
            requests, data = far.beats["req"][there], far.beats["orig_data"][there]
            assert [(beat.port_id, beat.tag) for beat in requests] == [(there, tag + n) for n in range(3)]
            for beat, (sent, _) in zip(requests, asked(port)):
                assert {name: getattr(beat, name) for name in sent} == sent
            sent = [beat for _, beats in asked(port) for beat in beats]
            assert [beat.port_id for beat in data] == [there] * 4
            assert [{name: getattr(beat, name) for name in sent[0]} for beat in data] == sent
            for channel, tags in (("rd_rsp", [tag, tag]), ("wr_rsp", [tag + 1, tag + 2])):
                back = near.beats[channel][port]
                assert [(beat.port_id, beat.tag) for beat in back] == [(port, tag) for tag in tags]
                assert {beat.dst_phys_acc_id for beat in back} == {SOURCE}
            assert [beat.data for beat in near.beats["rd_rsp"][port]] == [tag << 8, tag << 8 | 1]
        for rules in (near, far):
            counts = {channel: sum(map(len, ports)) for channel, ports in rules.beats.items()}
            assert counts == {"req": 12, "orig_data": 16, "rd_rsp": 8, "wr_rsp": 8}

    simulator().run(bench)


@pytest.mark.req("UPLI-122")
def test_credits_of_each_interface_and_of_the_tl_are_loops_of_their_own():
    """Without a link UPLI is connected and released. With a link, but one interface not connected, the other interface
    goes on and the TL has all its credits, which it keeps for what waits until that interface is connected."""

    async def bench(ctx, looped):
        device, station = Device(looped), looped.station
        near, far = station.upli_completer, station.upli_originator

        def released(interface):
            return [ctx.get(getattr(interface, channel).credit.init_done) for channel in CHANNELS]

        def tl_ready():
            return [ctx.get(status.credits_ready) for status in station.tl_status]

        ctx.set(station.rs.local_fault, 0b1111)
        ctx.set(looped.completer.connect, 0)
        await device.run(ctx, 40)
        assert released(near) == [0b1111] * 4 and ctx.get(looped.originator.connected)
        # Who does not connect gives no credits to send to it.
        assert released(far)[:2] == [0, 0] and not ctx.get(looped.completer.connected)
        assert tl_ready() == [0] * 4
        ctx.set(station.rs.local_fault, 0)
        await device.run(ctx, 60)
        assert tl_ready() == [1] * 4 and not ctx.get(looped.completer.connected)
        device.ask()
        await device.run(ctx, 80)
        assert not any(device.waiting["req", port] for port in PORTS) and not any(device.got.values())
        assert released(near) == [0b1111] * 4 and tl_ready() == [1] * 4
        ctx.set(looped.completer.connect, 1)
        await device.run(ctx, 130)
        assert released(far) == [0b1111] * 4
        assert [len(device.got["wr_rsp", port]) for port in PORTS] == [2] * 4

    simulator().run(bench)


@pytest.mark.req("UPLI-053")
def test_nothing_goes_from_one_interface_to_the_other_but_through_the_tl(monkeypatch):
    """The TL takes everything and gives nothing: so does the station."""

    class Taking(SilentLayer):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            m.d.comb += [getattr(self, f"tx_{channel}").ready.eq(1) for channel in CHANNELS]
            return m

    monkeypatch.setattr(ualink.dl.links, "DataLink", FlitLink)
    monkeypatch.setattr(ualink.station, "TransactionLayer", Taking)

    async def bench(ctx, looped):
        device = Device(looped, range(1))
        device.ask()
        for request, _ in asked(0):
            device.answer(0, request)
        await device.run(ctx, 60)
        assert not any(device.waiting.values()), "all of it was sent"
        assert not any(device.got.values())

    SharedSimulator(LoopedStation(CONFIG.replace(ports=1))).run(bench)
