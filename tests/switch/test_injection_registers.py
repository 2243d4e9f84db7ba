"""Injection in a switch by its registers, and the one switch that no register is."""

import pytest
from amaranth.hdl import Value

from support.switch.device_bench import CONFIG, READ, DeviceBench
from support.switch.simulated_bus import SimulatedBus
from support.upli.pair import pack
from ualink.switch.injection.interface import ItemKind, StrikePoint, Towards
from ualink_sim.bfm.common.firmware import FirmwareTimeout
from ualink_sim.bfm.common.register_bus import DesignTable
from ualink_sim.bfm.common.switch_firmware import SwitchFirmware

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")

WRITE = 0x28
KINDS = {"req": ItemKind.REQUEST, "orig_data": ItemKind.REQUEST}
KINDS |= {"rd_rsp": ItemKind.READ_RESPONSE, "wr_rsp": ItemKind.WRITE_RESPONSE}
HERE = "station_0_injection"


class OnePort(DeviceBench):
    """Two stations of one port with injection; accelerator 5 is at station 1."""

    def __init__(self):
        switch = CONFIG.switch.replace(station=CONFIG.switch.station.replace(ports=1), injection=True)
        super().__init__(CONFIG.replace(switch=switch))

    async def inject(self, ctx, channel, towards):
        """Ask for an item with the channel; 1 if it goes, in some cycles, and the channels that it leaves by at which
        station."""
        cmd = WRITE if channel == "orig_data" else READ
        await self.write(ctx, HERE, "ids", source=7, destination=5)
        await self.write(ctx, HERE, "header", tag=9, cmd=cmd)
        before = await self.read(ctx, HERE, "counts", "injected")
        kind, way = KINDS[channel].value, towards.value
        await self.write(ctx, HERE, "inject", start=1, kind=kind, towards=way)
        left = set()
        for _ in range(24):
            left |= {(n, bit) for n, a in enumerate(self.agents) for bit in range(4) if ctx.get(a.into_link) >> bit & 1}
            await ctx.tick()
        went = await self.read(ctx, HERE, "counts", "injected") - before
        assert await self.read(ctx, HERE, "inject", "start") == (not went)
        await self.write(ctx, HERE, "inject")
        return went, left

    async def strike(self, ctx, point):
        """Spoil a beat there; those struck, and what firmware sees of the core's agents and the station of its own."""
        channel, towards = list(KINDS)[point.value % 4], Towards(point.value // 4)
        before = await self.read(ctx, HERE, "counts", "struck")
        await self.write(ctx, HERE, "strike", start=1, point=point.value)
        if towards == Towards.LINK:
            await self.inject(ctx, channel, towards)
        else:
            await self.come(ctx, channel)
        seen = [
            await self.read(ctx, "station_0_core", f"{agent}_status") >> 1 & 0b11 for agent in ("ingress", "egress")
        ]
        met = ctx.get(self.agents[0].met)
        for agent in ("ingress", "egress"):
            await self.write(ctx, "station_0_core", f"{agent}_clear_drop", start=1)
            await self.write(ctx, "station_0_core", f"{agent}_clear", start=1)
        struck = await self.read(ctx, HERE, "counts", "struck") - before
        await self.write(ctx, HERE, "strike")
        return struck, [*seen, met & 0b11, met >> 2]

    async def come(self, ctx, channel):
        """A beat of the channel comes over the link of station 0, with its Request if it is data."""
        beats = {channel: {"dst_phys_acc_id": 5, "last": 1, "cmd": READ}}
        if channel == "orig_data":
            beats = {"req": {"dst_phys_acc_id": 5, "cmd": WRITE}, "orig_data": {"last": 1}}
        for name, fields in beats.items():
            link = getattr(self.agents[0], f"link_{name}")[0]
            known = link.payload.shape().members
            ctx.set(Value.cast(link.payload), pack(name, **{key: n for key, n in fields.items() if key in known}))
            ctx.set(link.valid, 1)
        for _ in range(24):
            taken = [name for name in beats if ctx.get(getattr(self.agents[0], f"link_{name}")[0].ready)]
            await ctx.tick()
            for name in taken:
                ctx.set(getattr(self.agents[0], f"link_{name}")[0].valid, 0)


@pytest.mark.req("SW-079", "SW-080", "SW-081", "SW-082")
def test_firmware_injects_only_where_secure_firmware_lets_it():
    """After reset everything that the registers ask for comes to nothing, in the data links too; with the one input
    that no register is, items go both ways and each channel's parity is spoilt once, and met by who receives it."""
    bench = OnePort()

    async def off(ctx):
        for towards in Towards:
            assert await bench.inject(ctx, "wr_rsp", towards) == (0, set())
        assert (await bench.strike(ctx, StrikePoint.CORE_WR_RSP)) == (0, [0, 0, 0, 0])
        return ctx.get(bench.agents[0].dl_config[0].inject_enable)

    async def story(ctx):
        await bench.ready(ctx)
        for station in range(2):
            await bench.write(ctx, "switch", "route_select", station=station, accelerator=5)
            await bench.write(ctx, "switch", "route_write", start=1, deny=0, egress_station=1)
        assert await bench.read(ctx, HERE, "control") == 0
        # Firmware does all that it can.
        await bench.write(ctx, "station_0_dl_0", "inject", enable=1)
        assert not await off(ctx)
        await bench.write(ctx, HERE, "control", enable=1, allowed=1)
        assert await bench.read(ctx, HERE, "control") == 1
        assert not await off(ctx)
        await bench.write(ctx, HERE, "control", enable=0)
        ctx.set(bench.device.injection_allowed, 1)
        assert not await off(ctx)
        await bench.write(ctx, HERE, "control", enable=1)
        assert await bench.read(ctx, HERE, "control") == 0b11
        enabled = [ctx.get(agents.dl_config[0].inject_enable) for agents in bench.agents]
        assert enabled == [1, 0], "of the data link here, not of another station"

        channels = list(KINDS)
        for place, channel in enumerate(channels):
            bits = {0, 1} if channel == "orig_data" else {place}
            for towards, station in ((Towards.CORE, 1), (Towards.LINK, 0)):
                assert await bench.inject(ctx, channel, towards) == (1, {(station, bit) for bit in bits})

        # The same by firmware, until it is forbidden.
        table = DesignTable(bench.device.registers.to_dict())
        firmware = SwitchFirmware(SimulatedBus(bench, ctx, table["description"]), table, patience=20).stations[0]
        item = {"ids": {"destination": 5}, "header": {"status": 3}}
        await firmware.inject(item, "write_response", error=1)
        ctx.set(bench.device.injection_allowed, 0)
        with pytest.raises(FirmwareTimeout):
            await firmware.inject(item, "write_response")
        await bench.write(ctx, HERE, "inject")
        ctx.set(bench.device.injection_allowed, 1)
        assert await bench.read(ctx, HERE, "counts", "injected") == 9

        met = [0, 0]
        for point in StrikePoint:
            data = point.name.endswith(("ORIG_DATA", "RD_RSP"))
            error = 0b01 if data else 0b10
            # Requests are received by Completers, Responses by Originators: of the core, and of the station.
            receiver = int(point.name.endswith("RSP"))
            core = [0, 0]
            if point.value < 4:
                core[receiver] = error
            else:
                met[receiver] |= error
            assert await bench.strike(ctx, point) == (1, [*core, *met]), point

        ctx.set(bench.device.injection_allowed, 0)
        assert await bench.inject(ctx, "req", Towards.CORE) == (0, set())
        assert not ctx.get(bench.agents[0].dl_config[0].inject_enable)

    bench.run(story)
