"""Items that firmware injects at a station of a switch, among those of full traffic."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from support.switch.bench import pack
from support.switch.coding import with_code, without_code
from support.switch.traffic import CoreBench
from ualink.lib.contract import contract, stays_on_offer
from ualink.lib.forward import forward_member
from ualink.switch.injection.interface import InjectionSignature, ItemKind, Towards
from ualink.switch.injection.station_injection import StationInjection
from ualink.upli.channels import CHANNEL_LAYOUTS

READ, WRITE = 0x03, 0x28
INJECTED = 100
"""Stands for an ingress port whose items are those injected towards the core; the next for one of those towards the
link, which overtake them."""


class InjectedCore(wiring.Component):
    """A core with injection at its station 0, of one port."""

    def __init__(self, core):
        self._core, self._injection = core, StationInjection(1)
        super().__init__(
            {**core.signature.members, "control": In(InjectionSignature()), "allowed": In(1)},
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = core = self._core
        m.submodules.injection = injection = self._injection
        m.d.comb += injection.allowed.eq(self.allowed)
        forward_member(m, injection, "control", self.control)
        for name in core.signature.members:
            if not name.startswith(("in_", "out_")):
                forward_member(m, core, name, getattr(self, name))
        for channel in CHANNEL_LAYOUTS:
            ways = [getattr(injection, f"{end}_{channel}")[0] for end in ("link_in", "core_out", "core_in", "link_out")]
            into, out = getattr(core, f"in_{channel}"), getattr(core, f"out_{channel}")
            with_code(m, channel, flipped(getattr(self, f"in_{channel}")[0]), ways[0])
            without_code(m, ways[1], into[0])
            with_code(m, channel, out[0], ways[2])
            without_code(m, ways[3], flipped(getattr(self, f"out_{channel}")[0]))
            for way in (ways[1], ways[3]):
                # A beat may be offered ahead of its Request, and taken back.
                if channel != "orig_data":
                    contract(m, stays_on_offer(way), f"{channel} stays on offer {way is ways[1]}")
            for n in range(1, len(into)):
                connect(m, flipped(getattr(self, f"in_{channel}")[n]), into[n])
                connect(m, out[n], flipped(getattr(self, f"out_{channel}")[n]))
        return m


def beats_of(kind, item):
    """What leaves of ``item``: of a Request itself and its beats, of a Response its beats."""
    common = {name: item[name] for name in ("src_phys_acc_id", "dst_phys_acc_id", "tag", "vc", "auth_tag")}
    data = sum(item["data"] << 32 * n for n in range(16))
    if kind == ItemKind.WRITE_RESPONSE:
        return [pack("wr_rsp", common | {"status": item["status"]})]
    if kind == ItemKind.READ_RESPONSE:
        beat = common | {"status": item["status"], "num_beats": 0, "data": data, "offset": 0, "last": 1}
        return [pack("rd_rsp", beat | {"data_error": item["error"]})]
    bears = item["cmd"] >> 5 & 1
    request = common | {name: item[name] for name in ("cmd", "len", "attr", "meta_data", "asi", "addr")}
    beat = {"data": data, "byte_en": (1 << 64) - 1, "offset": 0, "last": 1, "error": item["error"], "vc": item["vc"]}
    return (
        pack("req", request | {"num_beats": 0 if bears else item["num_beats"]}),
        [pack("orig_data", beat)] if bears else [],
    )


@pytest.mark.req("SW-079")
@pytest.mark.parametrize(("source_rate", "sink_rate"), [(1.0, 1.0), (0.6, 0.5)])
def test_injected_items_go_whole_among_those_of_others(source_rate, sink_rate):
    """Every kind, with and without errors, towards the core and towards the link, each once: routed or denied like
    what a link brings, or straight out; what was there loses nothing, no order and no beat of its transfers."""
    rng = random.Random(f"injection {sink_rate}")
    routes = [{0: (0, 0), 1: (0, 1)}] * 2
    bench = CoreBench(2, 1, routes=routes, seed=3, source_rate=source_rate, sink_rate=sink_rate, around=InjectedCore)
    control = bench.dut.control
    plan = [(kind, towards, dst) for kind in ItemKind for towards in Towards for dst in (0, 1, 2)] * 3
    rng.shuffle(plan)
    layout = control.item.shape()

    def traffic():
        for ingress in range(2):
            for _ in range(8):
                bench.request(ingress, rng.randrange(2), rng.choice([None, 1, 2, 4]))
                bench.response("rd_rsp", ingress, rng.randrange(2), rng.choice([1, 2, 4]))
                bench.response("wr_rsp", ingress, rng.randrange(2))

    async def inject(ctx, kind, towards, dst):
        item = {name: rng.getrandbits(field.width) for name, field in layout}
        item |= {"dst_phys_acc_id": dst, "cmd": rng.choice([READ, WRITE, 0x3F, 0x0F])}
        plane = ("req", "rd_rsp", "wr_rsp")[kind.value]
        if towards == Towards.CORE and dst == 2:
            bench.denied[0].append((item["src_phys_acc_id"], dst, kind.value))
        else:
            # Towards the link it leaves here, wherever its destination is.
            egress = 0 if towards == Towards.LINK else dst
            bench.expected[plane, egress][INJECTED + towards.value].append(beats_of(kind, item))
        for name, value in item.items():
            ctx.set(control.item[name], value)
        ctx.set(control.kind, kind)
        ctx.set(control.towards, towards)
        ctx.set(control.inject, 1)
        for cycle in range(300):
            _, _, injected = await ctx.tick().sample(control.injected)
            if injected:
                ctx.set(control.inject, 0)
                return cycle
        raise AssertionError("it has never gone")

    async def scenario(ctx):
        ctx.set(bench.dut.allowed, 1)
        ctx.set(control.enable, 1)
        waited = []
        for kind, towards, dst in plan:
            if sum(len(s.beats) - s.sent for s in bench.sources["req"]) < 4:
                traffic()
            waited.append(await inject(ctx, kind, towards, dst))
        assert max(waited) > 3, "some found the way taken"
        traffic()
        await bench.until(ctx, bench.finished, 1000)
        await ctx.tick().repeat(20)
        assert [ctx.get(status.count) for status in bench.dut.deny] == [len(denied) for denied in bench.denied]
        assert len(bench.denied[0]) == 9

    bench.run(scenario)
    bench.check()


@pytest.mark.req("SW-081", "SW-082")
def test_nothing_is_injected_without_both_switches():
    """Firmware asks for everything: nothing happens before it has enabled injection and the secure firmware allows it;
    what is then asked for goes once."""
    bench = CoreBench(2, 1, routes=[{0: (0, 0), 1: (0, 1)}] * 2, around=InjectedCore)
    dut = bench.dut
    control = dut.control

    async def happened(ctx, cycles=12):
        seen = 0
        for _ in range(cycles):
            _, _, *told = await ctx.tick().sample(control.injected, dut.out_wr_rsp[1].valid)
            seen += sum(told)
            if told[0]:
                ctx.set(control.inject, 0)
        return seen

    async def scenario(ctx):
        ctx.set(control.kind, ItemKind.WRITE_RESPONSE)
        ctx.set(control.item.dst_phys_acc_id, 1)
        ctx.set(control.inject, 1)
        for enable, allowed in ((0, 0), (1, 0), (0, 1)):
            ctx.set(control.enable, enable)
            ctx.set(dut.allowed, allowed)
            assert await happened(ctx) == 0 and ctx.get(control.allowed) == allowed
        ctx.set(control.enable, 1)
        assert await happened(ctx) == 2
        assert await happened(ctx) == 0

    bench.run(scenario)
