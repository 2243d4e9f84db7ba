"""A switch of two stations of two ports on its register bus, for tests of its registers and of its firmware."""

from functools import cache

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.sim import Simulator

from support.csr.master import MASTERS
from support.switch.agents import Agents
from support.upli.pair import pack
from ualink.config import Credits, StationConfig, SwitchConfig, SwitchDeviceConfig, UPLIConfig
from ualink.switch.device import SwitchDevice
from ualink.switch.request_bank import RequestBank
from ualink.switch.response_bank import ResponseBank
from ualink.switch.stand_in import itself

__all__ = ["CONFIG", "ONE_BENCH", "PLACES", "PORTS", "READ", "DeviceBench", "empty", "shared_bench"]

ONE_BENCH = pytest.mark.xdist_group("switch-device")
"""For tests of ``shared_bench``, whose simulator takes longer to make than a test."""

PORTS = 2
FEW = Credits(pool=4)
UPLI = UPLIConfig(req=FEW, orig_data=FEW, rd_rsp=FEW, wr_rsp=FEW, prompt_data=False)
CONFIG = SwitchDeviceConfig(
    bus="native",
    clock_hz=1_000_000,
    switch=SwitchConfig(stations=2, route_entries=8, station=StationConfig(ports=PORTS, upli=UPLI)),
)
READ = 0x03
PLACES = {5: (1, 0), 2: (0, 1)}
"""Station and port of two accelerators."""


class _Empty(wiring.Component):
    """What has the signature of ``bank`` and does nothing."""

    def __init__(self, bank):
        super().__init__(dict(bank.signature.members))

    def elaborate(self, platform):
        return Module()


def empty(part, *parameters):
    """Stands for the banks of a core whose registers alone are of interest: nothing goes through it. Other parts, those
    of registers among them, are themselves."""
    made = part(*parameters)
    return _Empty(made) if part in (RequestBank, ResponseBank) else made


class DeviceBench:
    """A switch of ``config`` whose stations are agents only, or what ``make_station`` makes, and firmware that reads
    and writes by the names of its registers. ``bank_stand_in`` : as of ``SwitchDevice``."""

    places = PLACES

    def __init__(self, config=CONFIG, make_station=Agents, bank_stand_in=itself):
        self.agents = []
        self._make_station = make_station
        self.device = SwitchDevice(config, self._make, bank_stand_in=bank_stand_in)
        self.master = MASTERS[config.bus](self.device.bus)
        tables = (("description", self.device.registers.description), *self.device.registers.windows)
        size = 4 << self.device.registers.address_bits
        self.windows = {name: (number * size, table) for number, (name, table) in enumerate(tables)}
        self.tag = 0
        self._simulator = Simulator(self.device)
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._tell)
        self._simulator.add_testbench(self._tell_beside, background=True)
        self._story = self._beside = None

    def _make(self, config):
        self.agents.append(self._make_station(config))
        return self.agents[-1]

    async def _tell(self, ctx):
        await self._story(ctx)

    async def _tell_beside(self, ctx):
        if self._beside:
            await self._beside(ctx)

    def run(self, story, beside=None):
        """``story`` from power-on, and ``beside`` it one that may go on for ever."""
        if self._story:
            self._simulator.reset()
        self._story, self._beside = story, beside
        self._simulator.run()

    async def read(self, ctx, window, register, field=None):
        base, table = self.windows[window]
        word, error = await self.master.read(ctx, base + table[register].offset)
        assert not error
        place = field and table[register][field]
        return word >> place.low & (1 << place.width) - 1 if place else word

    async def write(self, ctx, window, register, **values):
        base, table = self.windows[window]
        word = sum(value << table[register][field].low for field, value in values.items())
        return await self.master.write(ctx, base + table[register].offset, word)

    async def set_route(self, ctx, station, accelerator, deny=0):
        to_station, to_port = PLACES[accelerator]
        assert not await self.write(ctx, "switch", "route_select", station=station, accelerator=accelerator)
        entry = {"deny": deny, "egress_station": to_station, "egress_port": to_port}
        assert not await self.write(ctx, "switch", "route_write", start=1, **entry)
        # In the very next access, the entry is what was written.
        word = await self.read(ctx, "switch", "route_entry")
        assert word == sum(value << self.windows["switch"][1]["route_entry"][f].low for f, value in entry.items())

    async def ready(self, ctx):
        while not await self.read(ctx, "switch", "route_status", "ready"):
            pass

    async def send(self, ctx, station, port, destination, flip=False):
        """A Read by this port; where it leaves within some cycles, as station and port."""
        self.tag += 1
        stream = self.agents[station].link_req[port]
        beat = {"tag": self.tag, "dst_phys_acc_id": destination, "src_phys_acc_id": 7, "cmd": READ}
        ctx.set(Value.cast(stream.payload), pack("req", **beat))
        ctx.set(stream.valid, 1)
        ctx.set(self.agents[station].flip, flip)
        left = []
        for _ in range(24):
            taken = ctx.get(stream.ready)
            left += [
                (number, place)
                for number, agents in enumerate(self.agents)
                for place in range(PORTS)
                if ctx.get(agents.into_link) >> place & 1
            ]
            await ctx.tick()
            if taken:
                ctx.set(stream.valid, 0)
        ctx.set(self.agents[station].flip, 0)
        return left

    async def lines(self, ctx):
        """The interrupt line, once it has settled, and the stations that it is up for."""
        await ctx.tick().repeat(6)
        return ctx.get(self.device.irq), await self.read(ctx, "interrupts", "pending_0")


@cache
def shared_bench() -> DeviceBench:
    """A bench for several tests, each of which starts with power-on."""
    return DeviceBench()
